"""Answers of the user to a question of the assistant: whether they affirm, agree or deny.

The words are closed classes, as data: `patterns/answers/en.yaml` explains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from memgraph.analysis.normalize import fold, is_chinese, stems_of, words_of
from memgraph.analysis.words import lists_of, split_phrases, words

READ_CHARS = 400
"""Characters of an answer that are read."""

_CLAUSE = re.compile(r"(?:(?! [-–—]+ )[^.,;:!?¿¡…\n。，、；：！？()（）])+")
_MARKS = re.compile(r"[\s.,;:!?…。，、；：！？()（）–—-]*")
_ASKS = re.compile(r"[?？]|(?:[吗嗎]|(?<!着)呢)\s*$")


class Clause(NamedTuple):
    """A clause of an answer, folded."""

    text: str
    asks: bool


class _Patterns(NamedTuple):
    """The words of all languages as patterns."""

    yes: re.Pattern[str]
    affirmation: re.Pattern[str]
    consent: re.Pattern[str]
    fillers: re.Pattern[str]
    no: re.Pattern[str]
    no_denial: re.Pattern[str]
    """Phrases that affirm by a word of denial: "no doubt", "没错"."""
    only_no: re.Pattern[str]
    echo: re.Pattern[str]
    """Phrases that repeat the verb of the question, or contradict its denial: "I do"."""
    offer: re.Pattern[str]
    since: re.Pattern[str]
    """Since when: "since 2016"."""
    amount: re.Pattern[str]
    """How many, how long or how often, a whole clause: "about five", "every morning now"."""
    number: re.Pattern[str]
    common: re.Pattern[str]
    """All of these words, and numbers."""


def affirms(answer: str, question: str = "", claim: str = "") -> bool:
    """Return whether *answer* affirms *claim*, which *question* asks, and adds nothing to it.

    A clause has the yes, or only an amount: how many, how often or since when. No clause has other words: what goes on
    after a yes may be irony or another subject. What agrees with a claim that denies may deny too: "You eat no meat?"
    "Exactly, I don't."
    """
    denied = question if denies(claim) else ""
    asked, read = f"{question} {claim}", _without_tag(answer)
    says_yes = any(_says_yes(clause, asked) or _agrees_by_denial(clause, denied) for clause in read)
    return says_yes and all(_adds_nothing(clause, asked, denied) for clause in read)


def consents(answer: str) -> bool:
    """Return whether *answer* accepts what was offered, also by a word that affirms no claim, such as "ok"."""
    read, consent = _without_tag(answer), _patterns().consent
    accepts = any(consent.fullmatch(clause.text) for clause in read)
    return affirms(answer) or (accepts and all(_adds_nothing(clause, "", "") for clause in read))


def offers(question: str) -> bool:
    """Return whether *question* offers something, so that "please" is a yes: "Shall I note that you like tea?"."""
    return _patterns().offer.search(fold(question)) is not None


@cache
def function_words() -> frozenset[str]:
    """Return the words, folded, that name nothing, such as articles."""
    return words("function_words") | words("fragments") | frozenset(_phrases("function_words"))


def content_words(text: str) -> list[str]:
    """Return the words of *text*, folded, and its Chinese characters, without function words."""
    return [word for word in words_of(text) if word not in function_words()]


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
    first = next(clauses_of(question), None)
    return first is not None and _patterns().affirmation.fullmatch(_without_fillers(first.text)) is not None


def clauses_of(answer: str) -> Iterator[Clause]:
    """Yield the clauses of *answer*."""
    folded = fold(answer[:READ_CHARS])
    for found in _CLAUSE.finditer(folded):
        if text := found[0].strip():
            marks = _MARKS.match(folded, found.end())
            yield Clause(text, _ASKS.search(text + (marks[0].rstrip() if marks else "")) is not None)


def _without_tag(answer: str) -> list[Clause]:
    """Return the clauses of *answer* without a denial that only asks, as in "Yes, no?"."""
    only_no = _patterns().only_no
    return [clause for clause in clauses_of(answer) if not (clause.asks and only_no.fullmatch(clause.text))]


def _says_yes(clause: Clause, asked: str) -> bool:
    """Return whether *clause* has a yes or a "since", or only has an amount, if *asked* has none."""
    patterns = _patterns()
    text = _without_fillers(clause.text)
    says_yes = patterns.yes.match(text) or patterns.affirmation.fullmatch(text)
    amount = patterns.amount.fullmatch(text) and not patterns.number.search(fold(asked))
    return bool(says_yes or amount or patterns.since.match(text))


def _adds_nothing(clause: Clause, asked: str, denied: str) -> bool:
    """Return whether *clause* neither asks nor denies, and its words are common in a yes, or *asked*."""
    patterns = _patterns()
    text = patterns.no_denial.sub(" ", clause.text).lstrip()
    denial = patterns.no.match(text) if denied else patterns.no.search(text)  # what denies too may agree with it
    contradicts = denied and not denial and patterns.echo.search(text)  # "You eat no meat?" "I do."
    if clause.asks or contradicts or (denial and not _agrees_by_denial(clause, denied)):
        return False
    rest = patterns.common.sub(" ", patterns.since.sub(" ", _without_fillers(text), 1))
    known = {stem for word in content_words(asked) for stem in stems_of(word)}
    return all(not known.isdisjoint(stems_of(word)) for word in content_words(rest))


def _without_fillers(text: str) -> str:
    opening = _patterns().fillers.match(text)
    return text[opening.end() :] if opening else text


def _agrees_by_denial(clause: Clause, denied: str) -> bool:
    """Return whether *clause* repeats the denial of the question *denied*, and nothing else: "It doesn't, sadly"."""
    patterns = _patterns()
    repeated = frozenset(patterns.no.findall(clause.text)) & frozenset(patterns.no.findall(fold(denied)))
    rest = patterns.affirmation.sub(" ", patterns.no.sub(" ", clause.text))
    is_echo = set(content_words(denied)).issuperset(content_words(rest))
    return bool(repeated) and is_echo and not patterns.only_no.fullmatch(clause.text)


@cache
def _patterns() -> _Patterns:
    names = "affirms exact echoes consents fillers denies since amounts around offers"
    yes, others, echoes, consent, fillers, no, since, amounts, around, offers = map(_phrases, names.split())
    exact = [*others, *echoes]
    denial, beside = _any(no), _any([*around, *fillers])
    number = rf"(?:(?!0+(?![\d.,]))\d+|{_any(amounts)})"  # none is no amount
    return _Patterns(
        yes=re.compile(_any(yes)),
        affirmation=re.compile(rf"(?:{_any([*yes, *exact])}\s*+)++"),
        consent=re.compile(rf"(?:{_any([*yes, *exact, *consent, *fillers])}\s*+)++"),
        fillers=re.compile(rf"(?:{_any(fillers)}\s*+)++"),
        no=re.compile(denial),
        only_no=re.compile(rf"(?:{denial}\s*+)++"),
        echo=re.compile(_any(echoes)),
        offer=re.compile(_any(offers)),
        since=re.compile(rf"{_any(since)}\s*+(?:[^\W\d]+\s+){{0,3}}{number}|.{{1,2}}了{number}.*了$"),  # V了三年了
        amount=re.compile(rf"(?:{beside}\s*+){{0,4}}+{number}\s*+(?:(?:{beside}|{number})\s*+){{0,8}}+"),
        number=re.compile(number),
        common=re.compile(rf"\d+|{_any([*yes, *exact, *consent, *fillers, *amounts, *around, *no])}"),
        no_denial=re.compile(_any([phrase for phrase in (*yes, *exact, *consent) if re.search(denial, phrase)])),
    )


def _phrases(name: str) -> list[str]:
    return split_phrases(file.get(name, "") for file in lists_of("answers"))


def _any(phrases: Iterable[str]) -> str:
    """Return a pattern of any of *phrases*, the longest that fits; words of scripts with spaces as a whole.

    Their last letter may be lengthened: "yesss".
    """
    return f"(?:{'|'.join(_whole(phrase) for phrase in sorted(phrases, key=len, reverse=True))})"


def _whole(phrase: str) -> str:
    if is_chinese(phrase):
        return re.escape(phrase)
    before, after = ("", "") if phrase.endswith("'") else (r"(?<!\w)", r"(?!\w)")
    pattern = re.escape(phrase).replace(r"\*", r"\w*") + (f"{phrase[-1]}*+" if phrase[-1].isalpha() else "")
    return f"{before}{pattern}{after}"
