"""Facts in an English sentence about its author."""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import takewhile
from types import MappingProxyType

from memgraph.llm.offline import english_entities, english_goals, english_preferences
from memgraph.llm.offline.english_text import plain, short
from memgraph.llm.offline.rules import Extraction, Kind, apply_rule, endings, pattern, rules
from memgraph.llm.offline.sentences import Sentence

VALIDATORS: Mapping[str, Kind] = MappingProxyType(
    {
        "text": plain,
        "short": short,
        "rest": str,
        "name": english_entities.name,
        "proper_name": english_entities.proper_name,
        "job": english_entities.job,
        "self": english_entities.self,
        "possession": english_entities.possession,
        "new_pet": english_entities.new_pet,
        "relation": english_entities.relation,
        "pet": english_entities.pet,
        "date": english_entities.date,
        "span": english_entities.span,
        "place": english_entities.place,
        "known_place": english_entities.known_place,
        "timezone": english_entities.timezone,
        "place_or_date": english_entities.place_or_date,
        "organisation": english_entities.organisation,
        "firm": english_entities.firm,
        "team": english_entities.team,
        "business": english_entities.business,
        "field": english_entities.field,
        "subject": english_entities.subject,
        "thing": english_preferences.thing,
        "wish": english_preferences.wish,
        "allergen": english_preferences.allergen,
        "illness": english_preferences.illness,
        "choice": english_preferences.choice,
        "vice": english_preferences.vice,
        "named": english_preferences.named,
        "label": english_preferences.label,
        "pastime": english_preferences.pastime,
        "languages": english_preferences.languages,
        "tools": english_preferences.tools,
        "skill": english_preferences.skill,
        "products": english_preferences.products,
        "fandom": english_preferences.fandom,
        "aim": english_goals.aim,
        "aim_said": english_goals.aim_said,
        "occasion": english_goals.occasion,
        "lesson": english_goals.lesson,
        "project": english_goals.project,
        "habit": english_goals.habit,
        "third": english_goals.third,
    }
)
"""Validators of values, by name: each normalizes a text or returns None.

A rule names one for each value; `rest` is read as another clause."""

CONTRACTIONS = (
    (re.compile(r"\bcan't\b|\bcan not\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\bdont\b", re.IGNORECASE), "do not"),
    (re.compile(r"\bI'?m\b", re.IGNORECASE), "I am"),
    (re.compile(r"\bI'?ve\b", re.IGNORECASE), "I have"),
    (re.compile(r"\bI'd\b", re.IGNORECASE), "I would"),
    (re.compile(r"\bI'll\b", re.IGNORECASE), "I will"),
    (re.compile(r"\b(we|they|you)'re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(we|they|you)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(name|it|that|he|she|job|hobby|goal|dream|favou?rite \w+)'s\b", re.IGNORECASE), r"\1 is"),
    (
        re.compile(
            r"\b((?:wife|husband|sister|brother|mom|mum|dad|son|daughter|mother|father|partner))'s (?=an? )",
            re.IGNORECASE,
        ),
        r"\1 is ",
    ),
)
_NOT_THAT = re.compile(r", (?:and |but )?not [^,]+$", re.IGNORECASE)
MAX_OPENINGS = 4


def is_english(text: str) -> bool:
    """Return whether *text* has an English word that can refer to its author."""
    return re.search(r"(?<![A-Za-z])[A-Za-z]+ [A-Za-z]", text) is not None


def find(sentence: Sentence, *, greets: bool) -> Iterator[Extraction]:
    """Return the facts in *sentence* about its author. *greets*: its turn is an introduction."""
    text = expand(sentence.text.replace("，", ", "))
    if pattern("en", "joke").search(text):
        return
    unfit = {"greeting"} if not greets else set[str]()
    unfit |= {"settled"} if pattern("en", "trouble").search(text) or sentence.is_asked else set[str]()
    clauses = list(_clauses(text))
    if sentence.is_asked and clauses:
        clauses = [] if pattern("en", "tag").fullmatch(clauses[-1]) else clauses[:-1]
    for clause in takewhile(_is_meant, clauses):
        if not pattern("en", "question").search(clause):
            yield from _read_clause(clause, unfit)


def _is_meant(clause: str) -> bool:
    """Return whether *clause* states something real: not hypothetical, not reported speech."""
    return not (pattern("en", "unreal").search(clause) or pattern("en", "reported").search(clause))


def is_introduction(turn: str) -> bool:
    """Return whether *turn* contains a greeting, so that "I am Ada" is an introduction."""
    return pattern("en", "greeting").search(turn[:200]) is not None


def expand(text: str) -> str:
    """Expand contractions, so that the rules need only one form."""
    for contraction, full in CONTRACTIONS:
        text = contraction.sub(full, text)
    return text


def _clauses(text: str) -> Iterator[str]:
    for part in pattern("en", "clause_end").split(text):
        clause = _without_opening(part)
        if clause:
            yield clause


def _without_opening(clause: str) -> str:
    for _ in range(MAX_OPENINGS):
        opening = pattern("en", "opening").match(clause)
        if opening is None or not opening[0]:
            break
        clause = clause[opening.end() :]
    return _NOT_THAT.sub("", clause.strip(" ,.!:"))


def _read_clause(clause: str, unfit: AbstractSet[str]) -> Iterator[Extraction]:
    """Read *clause*, then what follows about the same person: "I live in Rome and work at Acme"."""
    head, *more = [clause]
    if re.match(r"I\b", clause, re.IGNORECASE):
        head, *more = pattern("en", "goes_on").split(pattern("en", "is_being").sub(" and am ", clause))
    whole = list(_match(head, unfit))
    yield from whole
    if whole:
        for part in more:
            yield from _match(f"I {part}", unfit)


def _match(clause: str, unfit: AbstractSet[str]) -> Iterator[Extraction]:
    """Match the rules, except those whose condition is in *unfit*."""
    for rule in (*endings("en"), *rules("en")):
        if rule.entry.only in unfit:
            continue
        found = apply_rule(rule, clause, VALIDATORS, "en")
        if found is not None:
            finding, rest = found
            if finding:
                yield finding._replace(ends=rule in endings("en"))
            if rest:
                yield from _match(f"I am {re.sub(r'^and ', '', rest)}", unfit | {"greeting"})
            return
