"""What an English sentence says about its author."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import takewhile

from memgraph.llm.offline.english_kinds import KINDS
from memgraph.llm.offline.finding import Finding, apply_rule
from memgraph.llm.offline.sentences import Sentence
from memgraph.llm.offline.tables import endings, pattern, rules

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
    """Whether *text* has an English word that can speak of its author."""
    return re.search(r"(?<![A-Za-z])[A-Za-z]+ [A-Za-z]", text) is not None


def find(sentence: Sentence, *, greets: bool) -> Iterator[Finding]:
    """What *sentence* says about its author. *greets*: it stands in a turn that introduces somebody."""
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
    """Whether *clause*, and what follows it, is said of the world as it is, by the author."""
    return not (pattern("en", "unreal").search(clause) or pattern("en", "reported").search(clause))


def greets(turn: str) -> bool:
    """Whether *turn* says hello, so that "I am Ada" is an introduction."""
    return pattern("en", "greeting").search(turn[:200]) is not None


def expand(text: str) -> str:
    """Write contractions out, so that the rules need only one form."""
    for short, full in CONTRACTIONS:
        text = short.sub(full, text)
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


def _read_clause(clause: str, unfit: AbstractSet[str]) -> Iterator[Finding]:
    """Read *clause*, then what goes on about the same person: "I live in Rome and work at Acme"."""
    head, *more = [clause]
    if re.match(r"I\b", clause, re.IGNORECASE):
        head, *more = pattern("en", "goes_on").split(pattern("en", "is_being").sub(" and am ", clause))
    whole = list(_match(head, unfit))
    yield from whole
    if whole:
        for part in more:
            yield from _match(f"I {part}", unfit)


def _match(clause: str, unfit: AbstractSet[str]) -> Iterator[Finding]:
    """Match the rules, but none that counts only where the sentence is *unfit* for it."""
    for rule in (*endings("en"), *rules("en")):
        if rule.entry.only in unfit:
            continue
        found = apply_rule(rule, clause, KINDS, "en")
        if found is not None:
            finding, rest = found
            if finding:
                yield finding._replace(ends=rule in endings("en"))
            if rest:
                yield from _match(f"I am {re.sub(r'^and ', '', rest)}", unfit | {"greeting"})
            return
