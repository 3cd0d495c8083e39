"""Checks of pairs of facts: duplicates and contradictions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from itertools import islice

from memgraph.audit.findings import Finding, last_seen, pair_finding
from memgraph.models import Fact, MemoryDocument
from memgraph.retrieval.terms import extract_terms
from memgraph.rules.merge import SAME, may_be_same
from memgraph.text.normalize import fact_key, fold, single_line
from memgraph.text.similarity import SimilarityIndex, is_richer
from memgraph.text.slots import SlotValue, packaged_slots

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|dislikes?|disliked|hates?|hated|avoids?|avoided|stopped|quit|refuses?)\b"
    r"|n't\b|n’t\b|不|没|無|无|讨厌|讨嫌|避免|拒绝|别|反对"
)
_PAST = re.compile(
    r"\b(?:used to|formerly|previously|former|once|until|no longer|in the past|as a child|back then|ex)\b"
    r"|以前|曾|过去|之前|原来|不再"
)
_POLAR = frozenset(
    extract_terms("never none without cannot dislikes disliked hates hated avoids avoided like likes liked love loves")
)
_POLAR_HAN = frozenset("不没無无讨厌喜欢爱")


def find_numbers(text: str) -> frozenset[str]:
    """Return the numbers in *text*."""
    return frozenset(_NUMBER.findall(text))


def is_negated(text: str) -> bool:
    """Whether *text* contains a negation."""
    return _NEGATION.search(fold(text)) is not None


def is_past(text: str) -> bool:
    """Whether *text* is about the past."""
    return _PAST.search(fold(text)) is not None


def content_terms(text: str) -> frozenset[str]:
    """Return the terms of *text* without those that express polarity: likes, hates, never ..."""
    return frozenset(term for term in extract_terms(text) if term not in _POLAR and not _POLAR_HAN.intersection(term))


MAX_CANDIDATES = 300
"""Facts with a common term that are compared; a term of more facts is not distinctive."""


def subsumed_pairs(facts: Sequence[Fact], terms_of: Callable[[Fact], frozenset[str]]) -> Iterator[tuple[Fact, Fact]]:
    """Yield each pair of facts in which the second has all terms of the first; pairs of equal terms only once.

    A fact is compared only with those that contain its rarest term, so 10,000 facts take a second.

    Args:
        facts: Any facts.
        terms_of: Returns the terms of a fact. A fact without terms is in no pair.
    """
    entries = [(fact, terms_of(fact)) for fact in facts]
    postings: defaultdict[str, list[int]] = defaultdict(list)
    for index, (_, words) in enumerate(entries):
        for word in words:
            postings[word].append(index)
    for index, (fact, words) in enumerate(entries):
        if not words:
            continue
        candidates = postings[min(words, key=lambda word: (len(postings[word]), word))]
        for other in candidates[:MAX_CANDIDATES]:
            other_fact, other_words = entries[other]
            if other != index and words <= other_words and (words != other_words or index < other):
                yield fact, other_fact


MIN_TERMS = 3
"""Minimum terms of a fact that another can subsume; a shorter one is too ambiguous."""
MIN_COVERAGE = 0.75
"""Minimum share of the longer fact's terms that the shorter one must have."""
MIN_ORDER_SIMILARITY = 0.8
"""Minimum similarity of the order of terms, from 0 to 1: "Ada manages Bob" is not "Bob manages Ada"."""
MAX_ORDERED_TERMS = 200
"""Terms at the start of each fact whose order is compared, since the comparison takes quadratic time."""


def duplicates(memory: MemoryDocument, now: datetime) -> Iterator[Finding]:
    """Find facts with the same content. Manual facts are kept, then the more detailed, then the newer."""
    del now
    removed = set[str]()
    kept: dict[str, Fact] = {}
    for fact in sorted(memory.facts, key=_value, reverse=True):
        if not (key := fact_key(fact.content)):
            continue
        if key in kept:
            removed.add(fact.id)
            yield pair_finding("duplicate", kept[key], fact, "they have the same content")
        kept.setdefault(key, fact)
    remaining = [fact for fact in memory.facts if fact.id not in removed]
    for short, long in subsumed_pairs(remaining, lambda fact: frozenset(extract_terms(fact.content))):
        if short.id in removed or long.id in removed or not _subsumes(long, short):
            continue
        has_same_terms = frozenset(extract_terms(short.content)) == frozenset(extract_terms(long.content))
        better, worse = sorted((short, long), key=_value, reverse=True) if has_same_terms else (long, short)
        removed.add(worse.id)
        yield pair_finding("duplicate", better, worse, "the first contains everything the second does")
    yield from _same_in_other_words([fact for fact in memory.facts if fact.id not in removed])


def _same_in_other_words(facts: Sequence[Fact]) -> Iterator[Finding]:
    """Find what an update would have merged; the richer one is kept, unless the other is manual."""
    removed = set[str]()
    for index, other_index, _ in SimilarityIndex([fact.content for fact in facts]).pairs(SAME):
        one, other = facts[index], facts[other_index]
        if removed.isdisjoint((one.id, other.id)) and may_be_same(one, other):
            richer = is_richer(other.content, one.content) and not one.is_manual
            better, worse = (other, one) if richer or (other.is_manual and not one.is_manual) else (one, other)
            removed.add(worse.id)
            yield pair_finding("duplicate", better, worse, "they state the same in other words")


def _value(fact: Fact) -> tuple[bool, float, str, str]:
    return fact.is_manual, fact.confidence, last_seen(fact), fact.id


def _subsumes(long: Fact, short: Fact) -> bool:
    short_terms, long_terms = extract_terms(short.content), extract_terms(long.content)
    return (
        short.effective_category == long.effective_category
        and len(set(short_terms)) >= MIN_TERMS
        and len(set(short_terms)) / len(set(long_terms)) >= MIN_COVERAGE
        and find_numbers(short.content) == find_numbers(long.content)
        and is_negated(short.content) == is_negated(long.content)
        and is_past(short.content) == is_past(long.content)
        and _order_similarity(short_terms, long_terms) >= MIN_ORDER_SIMILARITY
    )


def _order_similarity(short_terms: tuple[str, ...], long_terms: tuple[str, ...]) -> float:
    distinct = frozenset(short_terms)
    shared = tuple(islice((term for term in long_terms if term in distinct), MAX_ORDERED_TERMS))
    return SequenceMatcher(None, short_terms[:MAX_ORDERED_TERMS], shared, autojunk=False).ratio()


# no two runs of blanks meet: where one ends would be tried at each position of the other
_SUBJECT = r"(?:(?:the user(?:'s)?|user(?:'s)?|they|he|she|用户|他|她)\s*)?"
_END = r"\s*(?:[.。!！]\s*)?"


_PREFERS = re.compile(
    rf"\s*{_SUBJECT}prefers? (?P<a>[^,.;]{{1,60}}?) (?:over|to|rather than|instead of) (?P<b>[^,.;]{{1,60}}){_END}",
    re.IGNORECASE,
)


def contradictions(memory: MemoryDocument, now: datetime) -> Iterator[Finding]:
    """Find facts that exclude each other. Removing the older is suggested; if they are equally old, nothing is."""
    del now
    seen = set[frozenset[str]]()
    checks = (_replaced_facts, _conflicting_slots, _reversed_preferences, _negated_facts)
    for one, other, why in (pair for check in checks for pair in check(memory)):
        ids = frozenset((one.id, other.id))
        if ids not in seen:
            seen.add(ids)
            newer, older = (one, other) if last_seen(one) >= last_seen(other) else (other, one)
            yield pair_finding("contradiction", newer, older, why, remove=last_seen(newer) != last_seen(older))


MAX_RIVALS = 3
"""The newest values of an attribute, with which the others are compared: all pairs would be quadratically many."""

Pair = tuple[Fact, Fact, str]
"""Two facts, and why they contradict each other."""


def _replaced_facts(memory: MemoryDocument) -> Iterator[Pair]:
    for fact in memory.facts:
        for old_id in fact.replaces:
            if (old := memory.fact(old_id)) and old.id != fact.id:
                yield fact, old, "the newer one replaced the other, which is still there"


def _conflicting_slots(memory: MemoryDocument) -> Iterator[Pair]:
    slots = packaged_slots()
    values: defaultdict[tuple[str, str], list[tuple[Fact, SlotValue]]] = defaultdict(list)
    for fact in memory.facts:
        if fact.effective_category != "correction" and (found := slots.find(fact.content, fact.slot)):
            values[found.slot, found.of].append((fact, found))
    for (slot, of), entries in values.items():
        entries.sort(key=lambda entry: last_seen(entry[0]), reverse=True)
        for index, (one, value) in enumerate(entries[:MAX_RIVALS]):
            for other, other_value in entries[index + 1 :]:
                if not slots.are_same(value, other_value):
                    yield one, other, f"there can be one {f'{slot} {of}'.strip()} only"


def _reversed_preferences(memory: MemoryDocument) -> Iterator[Pair]:
    seen: dict[tuple[str, str], Fact] = {}
    for fact in memory.facts:
        if match := _PREFERS.fullmatch(single_line(fact.content)):
            first, second = fold(match["a"]).strip(), fold(match["b"]).strip()
            if other := seen.get((second, first)):
                yield fact, other, "they state opposite preferences"
            seen.setdefault((first, second), fact)


def _negated_facts(memory: MemoryDocument) -> Iterator[Pair]:
    current = [fact for fact in memory.facts if fact.effective_category != "correction" and not is_past(fact.content)]
    for one, other in subsumed_pairs(current, lambda fact: content_terms(fact.content)):
        has_same_terms = content_terms(one.content) == content_terms(other.content)
        if has_same_terms and is_negated(one.content) != is_negated(other.content):
            yield one, other, "one denies the other"
