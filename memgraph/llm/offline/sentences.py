"""Reads a user turn by patterns: its sentences without code, quotes and pasted text, and the statements in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from pydantic import TypeAdapter

from memgraph._yaml import read_packaged
from memgraph.analysis.hidden import HIDDEN, remove_hidden
from memgraph.analysis.normalize import clean, words_of
from memgraph.analysis.parts import begins_statement
from memgraph.analysis.requests import is_question, words_to_remember
from memgraph.analysis.secrets import MASK, find_secrets
from memgraph.analysis.sentences import sentences
from memgraph.analysis.uploads import mentions_upload
from memgraph.analysis.words import LANGUAGES, Language, language_of, word_classes, words
from memgraph.models.conversation import PLACEHOLDER

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
    return _PATTERNS.validate_python(read_packaged("memgraph.llm.offline", "patterns.yaml"))


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
    text = remove_hidden(_SPACES.sub(" ", clean(_head(turn[:MAX_CHARS]))))
    text = text.replace("（", "(").replace("）", ")").replace("(...)", "()")
    text = _QUOTED.sub(_unquote, _URL.sub(BLANK, _REMOVED.sub("\n", text))).replace("`", "")
    lines = (
        line.strip() for line in text.replace("’", "'").replace("‘", "'").split("\n") if not _PASTED_LINE.match(line)
    )
    return "\n".join(_BULLET.sub("", line, count=1) if _BULLET.match(line) else line for line in lines)


def _head(turn: str) -> str:
    """Return the part of a long turn before pasted text: its first line."""
    first, newline, _ = turn.strip().partition("\n")
    return first if newline and len(turn) > LONG_TURN else turn


def _unquote(match: re.Match[str]) -> str:
    """Keep a quoted name, replace a quoted sentence."""
    quoted = next(group for group in match.groups() if group is not None)
    return BLANK if _SPOKEN.search(quoted) or len(quoted) > MAX_QUOTED_NAME else match[0]


# -- statements -------------------------------------------------------------------------------------

MAX_OPENINGS = 4
_HALF_SUBJECT = re.compile(
    r"(?:both\s+)?(?P<own>(?:my|our)\s+(?P<kind>\w+\s+)??)?(?P<noun>[a-z\u00c0-\u024f]+)(?P<name>\s+(?-i:[A-Z])\w*)?",
    re.IGNORECASE,
)
"""What has no verb yet: "my brother" or "my sister Ana", and "I run a bakery"."""
_COMPANY = frozenset({"FAMILY", "FRIEND", "PET"})
_JOINT = re.compile(r"[,;]|\band\b")


def read_statements(sentence: Sentence) -> list[str]:
    """Return the statements in *sentence* in the user's own words, without courtesies; none if it asks or orders."""
    text = sentence.text
    is_tag = sentence.is_asked and pattern(language_of(text), "tag").search(text)
    if is_tag or words_to_remember(text) or mentions_upload(text):
        return []
    text = _without_opening(text)
    stated = _without_request(text, sentence.is_asked)
    parts = [stated, *_reasons(text[len(stated) :])]
    return [clause for part in parts for clause in _clauses(part) if _can_stand_alone(clause)]


def _without_opening(text: str) -> str:
    for _ in range(MAX_OPENINGS):
        opening = next((found for language in LANGUAGES if (found := pattern(language, "opening").match(text))), None)
        if opening is None or not opening[0]:
            break
        text = text[opening.end() :]
    return text.strip()


def _without_request(text: str, is_asked: bool) -> str:  # noqa: FBT001 - a property of the sentence
    """Return *text* up to its first question or order; all of it if it does neither, "" if only that."""
    language = language_of(text)
    commas = [comma.start() for comma in re.finditer("[,，]", text)]
    if is_question(text) and (language == "en" or not commas):
        return ""
    stated = next((text[:comma] for comma in commas if pattern(language, "request").match(text, comma)), text)
    return "" if is_asked and stated == text else stated


def _reasons(asked: str) -> list[str]:
    """Return the parts of a question or an order that neither ask nor order: "which gym, now that I lift?".

    They stand between commas and conjunctions.
    """
    language = language_of(asked)
    parts = pattern(language, "reason").split(asked)
    return [part for part in parts if not is_question(part) and not pattern(language, "request").match(part)]


def _is_half(clause: str) -> bool:
    """Return whether *clause* ends in a subject without its verb."""
    *before, last = _JOINT.split(clause)
    subject = _HALF_SUBJECT.fullmatch(last.strip()) if language_of(clause) == "en" else None
    if subject is None or (before and not subject["own"]):
        return False
    is_noun = not (subject["kind"] or subject["name"])  # of more words one may be a verb: "my dog barks"
    return is_noun or word_classes().get(subject["noun"].casefold()) in _COMPANY


def _clauses(text: str) -> Iterator[str]:
    """Split *text* where the user ends one statement about themselves and begins another."""
    ends = (end for language in LANGUAGES for end in pattern(language, "clause_end").finditer(text))
    start = 0
    for end in sorted(ends, key=lambda match: match.start()):
        clause, rest = text[start : end.start()], text[end.end() :]
        is_stated = not _is_half(clause) and (_speaks(rest) or begins_statement(rest))
        if end.start() >= start and is_stated and (_speaks(clause) or _requests(clause)):
            yield _trimmed(clause)
            start = end.end()
    yield _trimmed(text[start:])


def _requests(clause: str) -> bool:
    """Return whether *clause* may ask for something: in English it begins with a content word other than a time.

    What begins with another word may be needed to understand the rest: "When it rains, I take the bus".
    """
    clause = _without_opening(clause)
    if language_of(clause) == "zh":
        return pattern("zh", "request").match(clause) is not None
    tokens = [word for word in words_of(clause) if word[0].isalpha()]
    first = tokens[0].partition("'")[0] if len(tokens) > 1 else ""
    is_content = first and first not in words("form_words")
    return bool(is_content) and word_classes().get(first) not in {"MOMENT", "REGULAR"}


def _speaks(text: str) -> bool:
    """Return whether the user speaks of themselves from the beginning of *text*."""
    own = _without_opening(text)
    return any(pattern(language, "speaks").match(own) for language in LANGUAGES)


def _trimmed(text: str) -> str:
    return _without_opening(text.strip(" ,，.。!！;；:").lstrip(") "))  # what is left of ":)"


def _can_stand_alone(text: str) -> bool:
    language = language_of(text)
    is_whole = BLANK not in text and (language == "zh" or " " in text)
    return is_whole and not is_question(text) and not pattern(language, "dangling").search(text)
