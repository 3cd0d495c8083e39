"""Cuts a sentence into the statements in it, in the user's own words: no courtesies, questions or orders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memgraph.llm.offline.sentences import BLANK, Sentence, pattern
from memgraph.text.parts import begins_statement
from memgraph.text.requests import is_question, words_to_remember
from memgraph.text.uploads import mentions_upload
from memgraph.text.words import LANGUAGES, language_of, word_classes, words

MAX_OPENINGS = 4
_WORD = re.compile(r"[^\W\d_]+")


def read_statements(sentence: Sentence) -> list[str]:
    """Return the statements in *sentence*; none if it is a question or an order."""
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


def _clauses(text: str) -> Iterator[str]:
    """Split *text* where the user ends one statement about themselves and begins another."""
    ends = (end for language in LANGUAGES for end in pattern(language, "clause_end").finditer(text))
    start = 0
    for end in sorted(ends, key=lambda match: match.start()):
        clause, rest = text[start : end.start()], text[end.end() :]
        is_stated = _speaks(rest) or begins_statement(rest)
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
    tokens = _WORD.findall(clause.casefold())
    is_content = len(tokens) > 1 and tokens[0] not in words("form_words")
    return is_content and word_classes().get(tokens[0]) not in {"MOMENT", "REGULAR"}


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
