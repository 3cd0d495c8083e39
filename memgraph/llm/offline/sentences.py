"""Reads a user turn by patterns, in sentences without code, quotes and pasted text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from memgraph._yaml import load_yaml
from memgraph.models.conversation import PLACEHOLDER
from memgraph.text.hidden import HIDDEN, remove_hidden
from memgraph.text.normalize import clean
from memgraph.text.secrets import MASK, find_secrets
from memgraph.text.sentences import sentences
from memgraph.text.words import LANGUAGES, Language

_PATTERNS = TypeAdapter(dict[Language, dict[str, str | list[str]]])


@cache
def pattern(language: Language, name: str) -> re.Pattern[str]:
    """Return the pattern called *name* in patterns.yaml."""
    return compiled(_patterns()[language][name])


def compiled(source: str | list[str]) -> re.Pattern[str]:
    """Compile a pattern, or the alternatives of a list."""
    return re.compile(source if isinstance(source, str) else "|".join(source), re.IGNORECASE | re.DOTALL)


def matches_pattern(name: str, text: str) -> bool:
    """Return whether the pattern called *name* of any language occurs in *text*."""
    return any(pattern(language, name).search(text) for language in LANGUAGES)


@cache
def _patterns() -> dict[Language, dict[str, str | list[str]]]:
    return _PATTERNS.validate_python(read_data_file("patterns.yaml"))


def read_data_file(name: str) -> Any:  # noqa: ANN401 - the models of the files check it
    """Read a data file of the offline model."""
    return load_yaml(files("memgraph.llm.offline").joinpath(name).read_bytes())


# -- sentences --------------------------------------------------------------------------------------

MAX_CHARS = 4_000  # read of a turn, which bounds the work for any input
MAX_SENTENCE = 400  # longer ones are pasted
LONG_TURN = 1_000  # a longer turn of several lines is taken for pasted text below a first line by the user
MAX_QUOTED_NAME = 60  # longer quotes are sayings
BLANK = PLACEHOLDER  # replaces removed text: no fact may contain it

_REMOVED = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)|<[^<>\n]{1,200}>", re.DOTALL)
_SPACES = re.compile(rf"(?:[^\S\n]|[{HIDDEN['control characters']}])+")
_URL = re.compile(r"(?:https?://|www\.)\S+|(?<!\S)\S[^\s@]*+@\S+\.\w+")
_QUOTED = re.compile(
    r"\"([^\"\n]{1,300})\"|“([^”\n]{1,300})”|「([^」\n]{1,300})」|『([^』\n]{1,300})』|‘([^’\n]{3,300})’(?!\w)"
)
_SPOKEN = re.compile(r"\b(?:i|i'm|i’m|we|you|my|is|are|was)\b|[我你您他她吗吧]|[.!?。！？]", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*•·]|\d{1,2}[.)、])\s+")
_PASTED_LINE = re.compile(
    r"[>|#$%{}\[\]<+=]|//|/\*|\s{4}\S|\d{4}-\d\d-\d\d[ T]\d\d:|\d\d:\d\d:\d\d|\[?(?:ERROR|WARN|INFO|DEBUG)\b"
    r"|(?:Traceback|import|from \S+ import|def|class|return|at \S+\()\b|[A-Za-z_]\w*(?:\(.*\))?\s*[={]"
)
_CLAUSE_END = re.compile(r"(?<=[；;…])(?![；;…])|(?<=\.\.)(?!\.)")
_STOP = re.compile(r"(?<!\W)([^\w。！？!?；;….\n]*+)[。！？!?；;….\n]\W*+\Z")


class Sentence(NamedTuple):
    """One sentence of a turn."""

    text: str
    is_asked: bool
    """Whether it ends in a question mark."""


def read_sentences(turn: str) -> list[Sentence]:
    """Return the sentences of *turn* by its author, up to where a task or pasted text begins."""
    prose = split_sentences(turn)
    if any(matches_pattern("task_above", sentence.text) for sentence in prose):
        return []
    return list(takewhile(lambda sentence: not matches_pattern("task", sentence.text), prose))


def read_verbatim(turn: str) -> list[Sentence]:
    """Return the sentences of *turn* as they were typed, up to where a task begins, without questions and secrets."""
    typed = (sentence.strip() for sentence in sentences(_REMOVED.sub("\n", turn[:MAX_CHARS])))
    kept = (text for text in typed if not any(find_secrets(text)))
    own = takewhile(lambda text: not matches_pattern("task", text), kept)
    return [Sentence(text, is_asked=False) for text in own if text and not text.endswith(("?", "？"))]


def split_sentences(turn: str) -> list[Sentence]:
    """Return all sentences of *turn* that are prose."""
    parts = (clause for sentence in sentences(_clean(turn)) for clause in _CLAUSE_END.split(sentence))
    return [sentence for part in parts for sentence in _read(part)]


def _read(text: str) -> Iterator[Sentence]:
    stop = _STOP.search(text)
    text, mark = (text[: stop.end(1)], text[stop.end(1) :]) if stop else (text, "")
    text = text.strip(" ')" if text.count('"') % 2 == 0 else " \"')")
    if 1 < len(text) <= MAX_SENTENCE and MASK not in text and not any(find_secrets(text)):
        yield Sentence(text, is_asked="?" in mark or "？" in mark)


def _clean(turn: str) -> str:
    """Remove everything but prose: hidden characters, code, quotes, tags, addresses, pasted lines."""
    text = _without_hidden(_head(turn[:MAX_CHARS])).replace("(...)", "()")
    text = _QUOTED.sub(_unquote, _URL.sub(BLANK, _REMOVED.sub("\n", text))).replace("`", "")
    lines = (
        line.strip() for line in text.replace("’", "'").replace("‘", "'").split("\n") if not _PASTED_LINE.match(line)
    )
    return "\n".join(_BULLET.sub("", line, count=1) if _BULLET.match(line) else line for line in lines)


def _head(turn: str) -> str:
    """Return the part of a long turn before pasted text: its first line."""
    first, newline, _ = turn.strip().partition("\n")
    return first if newline and len(turn) > LONG_TURN else turn


def _without_hidden(text: str) -> str:
    return remove_hidden(_SPACES.sub(" ", clean(text))).replace("（", "(").replace("）", ")")


def _unquote(match: re.Match[str]) -> str:
    """Keep a quoted name, replace a quoted sentence."""
    quoted = next(group for group in match.groups() if group is not None)
    return BLANK if _SPOKEN.search(quoted) or len(quoted) > MAX_QUOTED_NAME else match[0]
