"""Answers of the user to a question of the assistant: whether they affirm, agree or deny.

The words are closed classes, as data: `patterns/answers/en.yaml` explains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from memgraph.text.normalize import HAN, fold
from memgraph.text.pattern_files import PATTERNS, read_pattern_files
from memgraph.text.remarks import mentions_user

READ_CHARS = 400
"""Characters of an answer that are read."""
SHORT_WORDS = 16
"""Words, or Chinese signs, of an answer in which any denial retracts a yes; of a longer one, the first sentence."""

_CLAUSE = re.compile(r"(?:(?! [-–—]+ )[^.,;:!?…\n。，、；：！？()（）])+")
_MARKS = re.compile(r"[\s.,;:!?…。，、；：！？()（）–—-]*")
_SENTENCE = re.compile(r"[^.!?…\n。！？]*")
_ASKS = re.compile(r"[?？]|[吗嗎呢]\s*$")
_UNIT = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
_HAN = re.compile(f"[{HAN}]")


class AnswerWords(BaseModel):
    """The words of one language: phrases, separated by bars."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    affirms: str
    exact: str
    openers: str = ""
    consents: str
    fillers: str
    denies: str


class Clause(NamedTuple):
    """A clause of an answer, folded."""

    text: str
    asks: bool


class _Patterns(NamedTuple):
    """The words of all languages as patterns."""

    yes: re.Pattern[str]
    affirmation: re.Pattern[str]
    opener: re.Pattern[str]
    consent: re.Pattern[str]
    fillers: re.Pattern[str]
    no: re.Pattern[str]
    no_denial: re.Pattern[str]
    """Phrases that affirm by a word of denial: "no doubt", "没错"."""


def affirms(answer: str) -> bool:
    """Return whether *answer* begins with a yes, and does not deny afterwards."""
    patterns = _patterns()
    first = _first_clause(answer)
    says_yes = patterns.yes.match(first.text) or patterns.affirmation.fullmatch(first.text)
    return bool(says_yes) and not first.asks and not _retracts(answer) and not _changes_subject(answer, first)


def consents(answer: str) -> bool:
    """Return whether *answer* accepts what was offered, also by a word that affirms no claim, such as "ok"."""
    first = _first_clause(answer)
    is_consent = _patterns().consent.fullmatch(first.text)
    return affirms(answer) or (bool(is_consent) and not first.asks and not _retracts(answer))


def is_bare_answer(text: str) -> bool:
    """Return whether *text* only answers, such as "Yes, sure": without its question it states nothing."""
    patterns, clauses = _patterns(), list(clauses_of(text))
    return bool(clauses) and all(patterns.consent.fullmatch(clause.text) for clause in clauses)


def denies(text: str) -> bool:
    """Return whether *text* has a word of denial."""
    patterns = _patterns()
    return patterns.no.search(patterns.no_denial.sub(" ", fold(text[:READ_CHARS]))) is not None


def is_tag(question: str) -> bool:
    """Return whether *question* only asks for a yes to what was said before: "Is that right?"."""
    return _patterns().affirmation.fullmatch(_first_clause(question).text) is not None


def clauses_of(answer: str) -> Iterator[Clause]:
    """Yield the clauses of *answer*."""
    folded = fold(answer[:READ_CHARS])
    for found in _CLAUSE.finditer(folded):
        if text := found[0].strip():
            marks = _MARKS.match(folded, found.end())
            yield Clause(text, _ASKS.search(text + (marks[0].rstrip() if marks else "")) is not None)


def _first_clause(answer: str) -> Clause:
    """Return the first clause that is more than a filler, without the fillers before its words."""
    fillers = _patterns().fillers
    for clause in clauses_of(answer):
        opening = fillers.match(clause.text)
        if opening is None:
            return clause
        if rest := clause.text[opening.end() :]:
            return Clause(rest, clause.asks)
    return Clause("", asks=False)


def _changes_subject(answer: str, first: Clause) -> bool:
    """Return whether *first* only opens another sentence, as in "Right, about that report": not one about the user."""
    patterns = _patterns()
    rest = [clause.text for clause in clauses_of(answer) if clause != first]
    opens = patterns.opener.fullmatch(first.text) is not None
    states = any(patterns.consent.fullmatch(text) or mentions_user(text) for text in rest)
    return opens and bool(rest) and not states


def _retracts(answer: str) -> bool:
    is_short = len(_UNIT.findall(answer[:READ_CHARS])) <= SHORT_WORDS
    return denies(answer if is_short else "".join(_SENTENCE.findall(answer)[:1]))


@cache
def _patterns() -> _Patterns:
    files = tuple(read_pattern_files(PATTERNS / "answers", AnswerWords).values())
    yes, exact, openers, consent, fillers, no = (
        [phrase.strip() for file in files for phrase in getattr(file, name).split("|") if phrase.strip()]
        for name in AnswerWords.model_fields
    )
    denial = _any(no)
    return _Patterns(
        yes=re.compile(_any(yes)),
        affirmation=re.compile(rf"(?:{_any([*yes, *exact])}\s*+)++"),
        opener=re.compile(_any(openers)),
        consent=re.compile(rf"(?:{_any([*yes, *exact, *consent, *fillers])}\s*+)++"),
        fillers=re.compile(rf"(?:{_any(fillers)}\s*+)++"),
        no=re.compile(denial),
        no_denial=re.compile(_any([phrase for phrase in (*yes, *exact, *consent) if re.search(denial, phrase)])),
    )


def _any(phrases: Iterable[str]) -> str:
    """Return a pattern of any of *phrases*, the longest that fits; words of scripts with spaces as a whole."""
    return f"(?:{'|'.join(_whole(phrase) for phrase in sorted(phrases, key=len, reverse=True))})"


def _whole(phrase: str) -> str:
    if _HAN.search(phrase):
        return re.escape(phrase)
    before, after = ("", "") if phrase.endswith("'") else (r"(?<!\w)", r"(?!\w)")
    pattern = re.escape(phrase).replace(r"\*", r"\w*")
    return f"{before}{pattern}{after}"
