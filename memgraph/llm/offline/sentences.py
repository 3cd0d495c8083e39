"""Splits a user turn into sentences to read, without code, quotes and pasted text."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from memgraph.llm.offline.rules import LANGUAGES, pattern
from memgraph.text.sentences import sentences

MAX_CHARS = 4_000
"""Maximum characters read of a turn. The prompt shows fewer; this bounds the work for any input."""
MAX_SENTENCE = 400
"""Longer sentences are pasted, or beyond any pattern."""
LONG_TURN = 1_000
"""A longer turn of several lines is taken for pasted text below a first line by the user."""
GAP = " [...] "
"""Marks where the prompt cut the middle out of a turn."""
MAX_QUOTED_NAME = 60
"""Maximum characters of a name in quotes; longer quotes are sayings."""
BLANK = "￼"
"""Replaces removed text: no fact may contain it."""

_FENCED = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_TAG = re.compile(r"<[^<>\n]{1,200}>")
_URL = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+")
_QUOTED = re.compile(
    r"\"([^\"\n]{1,300})\"|“([^”\n]{1,300})”|「([^」\n]{1,300})」|『([^』\n]{1,300})』|‘([^’\n]{3,300})’(?!\w)"
)
_SPOKEN = re.compile(r"\b(?:i|i'm|i’m|we|you|my|is|are|was)\b|[我你您他她吗吧]|[.!?。！？]", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*•·]|\d{1,2}[.)、])\s+")
_PASTED_LINE = re.compile(
    r"[>|#$%{}\[\]<+=]|//|/\*|\s{4,}\S|\d{4}-\d\d-\d\d[ T]\d\d:|\d\d:\d\d:\d\d|\[?(?:ERROR|WARN|INFO|DEBUG)\b"
    r"|(?:Traceback|import|from \S+ import|def|class|return|at \S+\()\b|[A-Za-z_]\w*(?:\(.*\))?\s*[={]"
)
_CLAUSE_END = re.compile(r"(?<=[；;…])(?![；;…])|(?<=\.\.)(?!\.)")
"""Where a sentence is read in two parts: after a semicolon or an ellipsis."""
_STOP = re.compile(r"[。！？!?；;….\n]+\W*\Z")
_SECRET = re.compile(
    r"pass ?word|passphrase|passcode|(?:api|access|private)[ _-]?key|secret|\btoken\b|credential|credit card|\bcvv\b"
    r"|\bssn\b|social security|\bpin (?:code|is|number)\b|\biban\b|\bsk-|\bghp_|\bAKIA"
    r"|密码|口令|密钥|秘钥|验证码|身份证|银行卡|信用卡"
    r"|\d[\d -]{7,}\d|(?=\S{0,64}\d)(?=\S{0,64}[A-Za-z])[A-Za-z0-9_+/=-]{20,}",
    re.IGNORECASE,
)


class Sentence(NamedTuple):
    """One sentence of a turn."""

    text: str
    is_asked: bool
    """Whether it ends in a question mark."""


def read_sentences(turn: str) -> list[Sentence]:
    """Return the sentences of *turn* by its author, up to where a task or pasted text begins."""
    prose = split(turn)
    is_for_editing = any(_is_task_on_text_above(sentence.text) for sentence in prose)
    return [] if is_for_editing else list(takewhile(lambda sentence: not _opens_task(sentence.text), prose))


def split(turn: str) -> list[Sentence]:
    """Return all sentences of *turn* that are prose."""
    return list(_sentences(clean(turn)))


def clean(turn: str) -> str:
    """Remove everything but prose: control characters, code, quotes, tags, addresses, pasted lines."""
    text = _without_controls(_head(turn[:MAX_CHARS])).replace("(...)", "()")
    text = _TAG.sub(" ", _FENCED.sub("\n", text))
    text = _QUOTED.sub(_unquote, _URL.sub(BLANK, text)).replace("`", "").replace("’", "'").replace("‘", "'")
    return "\n".join(_without_bullet(line.strip()) for line in text.split("\n") if not _PASTED_LINE.match(line))


def _without_bullet(line: str) -> str:
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _head(turn: str) -> str:
    """Return the part of a long turn before pasted text: the first line, or the sentences before a gap."""
    head, gap, _ = turn.partition(GAP)
    if not gap and len(turn) <= LONG_TURN:
        return turn
    first, newline, _ = head.strip().partition("\n")
    return first if newline else head.rpartition(". ")[0] or head.rpartition("。")[0]


def _without_controls(text: str) -> str:
    kept = (" " if unicodedata.category(c) in {"Cc", "Cs", "Cf", "Co", "Zl", "Zp"} and c != "\n" else c for c in text)
    return re.sub(r"[ \t\u3000\xa0]+", " ", "".join(kept).replace("（", "(").replace("）", ")"))


def _unquote(match: re.Match[str]) -> str:
    """Keep a quoted name, replace a quoted sentence."""
    quoted = next(group for group in match.groups() if group is not None)
    return BLANK if _SPOKEN.search(quoted) or len(quoted) > MAX_QUOTED_NAME else match[0]


def _sentences(text: str) -> Iterator[Sentence]:
    for sentence in sentences(text):
        for clause in _CLAUSE_END.split(sentence):
            stop = _STOP.search(clause)
            yield from _sentence(clause[: stop.start()] if stop else clause, stop[0] if stop else "")


def _sentence(text: str, stop: str) -> Iterator[Sentence]:
    text = text.strip(" ')") if text.count('"') % 2 == 0 else text.strip(" \"')")
    if 1 < len(text) <= MAX_SENTENCE and not _SECRET.search(text):
        yield Sentence(text, is_asked="?" in stop or "？" in stop)


def _is_task_on_text_above(sentence: str) -> bool:
    return any(pattern(language, "task_above").search(sentence) for language in LANGUAGES)


def _opens_task(sentence: str) -> bool:
    return any(pattern(language, "task").search(sentence) for language in LANGUAGES)
