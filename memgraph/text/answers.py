"""Answers of the user to a question of the assistant: whether they affirm, agree or deny.

The words are closed classes, as data: `patterns/answers/en.yaml` explains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from memgraph.text.normalize import HAN, IS_HAN, fold
from memgraph.text.pattern_files import PATTERNS, read_pattern_files
from memgraph.text.subjects import other_subject
from memgraph.text.words import words

READ_CHARS = 400
"""Characters of an answer that are read."""
READ_CLAUSES = 3
"""Clauses of an answer of which one may end with the yes."""
SHORT_WORDS = 16
"""Words, or Chinese signs, of an answer in which any denial retracts a yes; of a longer one, the first sentence."""

_CLAUSE = re.compile(r"(?:(?! [-–—]+ )[^.,;:!?¿¡…\n。，、；：！？()（）])+")
_MARKS = re.compile(r"[\s.,;:!?…。，、；：！？()（）–—-]*")
_SENTENCE = re.compile(r"[^.!?…\n。！？]*")
_ASKS = re.compile(r"[?？]|(?:[吗嗎]|(?<!着)呢)\s*$")
_UNIT = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")


class AnswerWords(BaseModel):
    """The words of one language: phrases, separated by bars."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    affirms: str
    exact: str
    openers: str = ""
    consents: str
    fillers: str
    denies: str
    since: str
    amounts: str
    around: str
    offers: str
    function_words: str


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
    only_no: re.Pattern[str]
    last_yes: re.Pattern[str]
    """A yes at the end of a clause: "on Thursdays, yes"."""
    offer: re.Pattern[str]
    since: re.Pattern[str]
    """Since when: "since 2016"."""
    amount: re.Pattern[str]
    """How many, how long or how often, a whole clause: "about five", "every morning now"."""
    number: re.Pattern[str]


def affirms(answer: str, question: str = "", claim: str = "") -> bool:
    """Return whether *answer* affirms *claim*, which *question* asks, and does not deny it.

    The yes begins the answer, or ends one of its first clauses, or the answer only tells how many, how often or since
    when. What agrees with a claim that denies may deny too: "You eat no meat?" "Exactly, I can't stand it."
    """
    denied = question if denies(claim) else ""
    first = _first_clause(answer)
    says_yes = _says_yes(first, f"{question} {claim}") or _agrees_by_denial(first, denied) or _affirms_later(answer)
    return says_yes and not first.asks and not _retracts(answer, denied) and not _changes_subject(answer, first)


def consents(answer: str) -> bool:
    """Return whether *answer* accepts what was offered, also by a word that affirms no claim, such as "ok"."""
    first = _first_clause(answer)
    is_consent = _patterns().consent.fullmatch(first.text) and not first.asks
    return affirms(answer) or (bool(is_consent) and not _retracts(answer) and not _changes_subject(answer, first))


def offers(question: str) -> bool:
    """Return whether *question* offers something, so that "please" is a yes: "Shall I note that you like tea?"."""
    return _patterns().offer.search(fold(question)) is not None


def is_function_word(word: str) -> bool:
    """Return whether *word*, folded, is one such as an article, which names nothing."""
    return word in _function_words()


def content_words(text: str) -> list[str]:
    """Return the words of *text*, folded, and its Chinese characters, without function words."""
    return [word for word in _UNIT.findall(fold(text)) if not is_function_word(word)]


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
    states = any(patterns.consent.fullmatch(text) or text.split()[0] in words("about_user") for text in rest)
    return opens and bool(rest) and not states


def _says_yes(first: Clause, asked: str) -> bool:
    """Return whether an answer begins with a yes or a "since", or only has an amount, if *asked* has none."""
    patterns = _patterns()
    says_yes = patterns.yes.match(first.text) or patterns.affirmation.fullmatch(first.text)
    amount = patterns.amount.fullmatch(first.text) and not patterns.number.search(fold(asked))
    return bool(says_yes or amount or patterns.since.match(first.text))


def _affirms_later(answer: str) -> bool:
    """Return whether one of the first clauses ends with a yes; none before it may ask or be about another person."""
    patterns = _patterns()
    for clause in islice(clauses_of(answer), READ_CLAUSES):
        if clause.asks or other_subject(clause.text):
            return False
        is_yes = patterns.last_yes.search(clause.text) or patterns.affirmation.fullmatch(clause.text)
        if is_yes and not patterns.fillers.fullmatch(clause.text) and not patterns.opener.fullmatch(clause.text):
            return True
    return False


def _agrees_by_denial(clause: Clause, denied: str) -> bool:
    """Return whether *clause* repeats the denial of the question *denied*, and nothing else: "It doesn't, sadly"."""
    patterns = _patterns()
    repeated = frozenset(patterns.no.findall(clause.text)) & frozenset(patterns.no.findall(fold(denied)))
    rest = patterns.affirmation.sub(" ", patterns.no.sub(" ", clause.text))
    is_echo = set(content_words(denied)).issuperset(content_words(rest))
    return bool(repeated) and is_echo and not patterns.only_no.fullmatch(clause.text)


def _retracts(answer: str, denied: str = "") -> bool:
    """Return whether *answer* denies; after a question that denies, only if a clause begins with another denial."""
    patterns = _patterns()
    is_short = len(_UNIT.findall(answer[:READ_CHARS])) <= SHORT_WORDS
    for clause in clauses_of(answer if is_short else "".join(_SENTENCE.findall(answer)[:1])):
        text = patterns.no_denial.sub(" ", clause.text).lstrip()
        is_tag = clause.asks and patterns.only_no.fullmatch(text)  # "..., no?"
        found = patterns.no.match(text) if denied else patterns.no.search(text)
        if found and not is_tag and not _agrees_by_denial(clause, denied):
            return True
    return False


@cache
def _patterns() -> _Patterns:
    files = tuple(read_pattern_files(PATTERNS / "answers", AnswerWords).values())
    yes, exact, openers, consent, fillers, no, since, amounts, around, offers, _ = (
        _phrases(files, name) for name in AnswerWords.model_fields
    )
    denial, beside = _any(no), _any([*around, *fillers])
    number = rf"(?:\d+|{_any(amounts)})"
    return _Patterns(
        yes=re.compile(_any(yes)),
        affirmation=re.compile(rf"(?:{_any([*yes, *exact])}\s*+)++"),
        opener=re.compile(_any(openers)),
        consent=re.compile(rf"(?:{_any([*yes, *exact, *consent, *fillers])}\s*+)++"),
        fillers=re.compile(rf"(?:{_any(fillers)}\s*+)++"),
        no=re.compile(denial),
        only_no=re.compile(rf"(?:{denial}\s*+)++"),
        last_yes=re.compile(rf"{_any(yes)}$"),
        offer=re.compile(_any(offers)),
        since=re.compile(rf"{_any(since)}\s*+(?:[^\W\d]+\s+){{0,3}}{number}|.{{1,2}}了{number}.*了$"),  # V了三年了
        amount=re.compile(rf"(?:{beside}\s*+){{0,4}}+{number}\s*+(?:(?:{beside}|{number})\s*+){{0,8}}+"),
        number=re.compile(number),
        no_denial=re.compile(_any([phrase for phrase in (*yes, *exact, *consent) if re.search(denial, phrase)])),
    )


@cache
def _function_words() -> frozenset[str]:
    return frozenset(_phrases(read_pattern_files(PATTERNS / "answers", AnswerWords).values(), "function_words"))


def _phrases(files: Iterable[AnswerWords], name: str) -> list[str]:
    return [phrase.strip() for file in files for phrase in getattr(file, name).split("|") if phrase.strip()]


def _any(phrases: Iterable[str]) -> str:
    """Return a pattern of any of *phrases*, the longest that fits; words of scripts with spaces as a whole.

    Their last letter may be lengthened: "yesss".
    """
    return f"(?:{'|'.join(_whole(phrase) for phrase in sorted(phrases, key=len, reverse=True))})"


def _whole(phrase: str) -> str:
    if IS_HAN.search(phrase):
        return re.escape(phrase)
    before, after = ("", "") if phrase.endswith("'") else (r"(?<!\w)", r"(?!\w)")
    pattern = re.escape(phrase).replace(r"\*", r"\w*") + (f"{phrase[-1]}*+" if phrase[-1].isalpha() else "")
    return f"{before}{pattern}{after}"
