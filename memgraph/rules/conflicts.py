"""Likely conflicts: known facts that an addition may make untrue, although it does not replace them.

The model decides them in a second look; this only finds what is worth asking about.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from heapq import nlargest
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from memgraph.models import Addition, Conflict, Fact, Memory, MemoryUpdate, Turn, Verdict
from memgraph.policy import Policy
from memgraph.retrieval.terms import extract_terms
from memgraph.rules.add import rejection_reason
from memgraph.rules.merge import KnownFacts
from memgraph.text.changes import ChangeKind, find_change, light_words
from memgraph.text.sentences import sentences
from memgraph.text.slots import Slots, packaged_slots
from memgraph.text.spans import own_words

MAX_CONFLICTS = 5
"""Conflicts of one second look, the likeliest ones."""
MAX_PER_ADDITION = 3
MIN_SHARED = {"ends": 0.3, "begins": 0.5}
"""Of the words of a known fact, so much must recur in the addition and its sentence, by the kind of the change word."""
MAX_COMPARED = 10
"""Known facts that are compared in full with one addition."""
IDF_PRIOR = 50
"""Facts that a memory is taken to have beyond its own: in a small one, most words are rare."""


_score = attrgetter("score")


class _Scored(NamedTuple):
    score: float
    conflict: Conflict


def likely_conflicts(
    changes: MemoryUpdate, memory: Memory, turns: Sequence[Turn], policy: Policy, slots: Slots | None = None
) -> tuple[Conflict, ...]:
    """Return what to ask the model about, at most MAX_CONFLICTS pairs, the likeliest first.

    A pair is likely if the user said the addition with a change word ("no longer", "now", "改成"), and if it is about
    the same thing as a fact that was said before.

    Args:
        changes: The change set that the model proposed.
        memory: What is known.
        turns: The turns that the prompt showed.
        policy: Additions that it refuses are not asked about.
        slots: What a person has one of at a time; default: the packaged table.
    """
    ended = frozenset(removal.id for removal in changes.removals)
    ended |= {fact_id for addition in changes.additions for fact_id in addition.replaces}
    index = _FactIndex([fact for fact in memory.facts if fact.id not in ended], slots or packaged_slots())
    found = [
        scored
        for addition in changes.additions
        if (said := _changed_words(addition, turns)) and not rejection_reason(addition, policy)
        for scored in nlargest(MAX_PER_ADDITION, index.related(addition, *said), key=_score)
    ]
    return tuple(scored.conflict for scored in nlargest(MAX_CONFLICTS, found, key=_score))


def _changed_words(addition: Addition, turns: Sequence[Turn]) -> tuple[ChangeKind, str] | None:
    """Return the kind of the change word with which the user said *addition*, and the sentences that were quoted."""
    for evidence in addition.evidence:
        for turn in reversed(turns):
            words = own_words(turn) if turn.is_users else ""
            if evidence.quote in words:
                quoted = _sentences_of(evidence.quote, words)
                kind = find_change(quoted)
                return (kind, quoted) if kind else None
    return None


def _is_in_same_order(one: str, other: str) -> bool:
    """Return whether the words of the shorter text occur in the other in their order; "tea to coffee" is reversed."""
    shorter, longer = sorted((extract_terms(one), extract_terms(other)), key=len)
    rest = iter(longer)
    return all(term in rest for term in shorter)


def _sentences_of(quote: str, words: str) -> str:
    """Return the sentences of *words* that *quote* touches."""
    start = words.index(quote)
    end = start + len(quote)
    touched: list[str] = []
    position = 0
    for sentence in sentences(words):
        if position < end and start < position + len(sentence):
            touched.append(sentence)
        position += len(sentence)
    return "".join(touched)


class _FactIndex:
    """Finds the known facts that are about the same thing as an addition.

    Args:
        facts: N facts; only those that share words with an addition are read.
        slots: What a person has one of at a time.
    """

    def __init__(self, facts: Sequence[Fact], slots: Slots) -> None:
        self._facts = facts
        self._slots = slots
        self._idf: dict[str, float] = {}

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        """All contents in one text, and where each begins: a search in them is one search."""
        folded = [fact.content.casefold() for fact in self._facts]
        return "\n".join(folded), list(accumulate((len(text) + 1 for text in folded), initial=0))

    def related(self, addition: Addition, kind: ChangeKind, said: str) -> Iterator[_Scored]:
        """Yield the facts that were said before *addition* and share enough of their words with it and with *said*."""
        terms = _terms(f"{addition.content}\n{said}")
        for fact in self._candidates(terms):
            own = _terms(fact.content)
            total = sum(map(self._weight, own))
            shared = sum(map(self._weight, own & terms)) / total if total else 0.0
            is_related = shared >= MIN_SHARED[kind] or (kind == "ends" and _share_slot(addition, fact, self._slots))
            if is_related and _may_conflict(addition, fact, self._slots):
                yield _Scored(shared, Conflict(known_id=fact.id, addition_id=addition.id))

    def _candidates(self, terms: Iterable[str]) -> list[Fact]:
        weights = defaultdict[int, float](float)
        for term in terms:
            weight = self._weight(term)
            for index in set(self._containing(term)):
                weights[index] += weight
        return [self._facts[index] for index in nlargest(MAX_COMPARED, weights, key=weights.__getitem__)]

    def _containing(self, term: str) -> Iterator[int]:
        joined, starts = self._joined
        needle = _beginning(term)
        at = joined.find(needle)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            yield index
            at = joined.find(needle, starts[index + 1])

    def _weight(self, term: str) -> float:
        """Return the inverse document frequency of *term*."""
        if term not in self._idf:
            count = self._joined[0].count(_beginning(term))
            self._idf[term] = math.log((len(self._facts) + IDF_PRIOR) / (count + 1))
        return self._idf[term]


def _share_slot(addition: Addition, fact: Fact, slots: Slots) -> bool:
    """Return whether both state something about one slot, also one that has several values, such as an allergy."""
    stated = {value.slot for value in slots.values(addition.content, addition.slot)}
    return bool(stated) and slots.states(fact.content, stated)


def _terms(text: str) -> frozenset[str]:
    """Return the words of *text*, in Chinese the pairs of characters, that name what it is about: no numbers."""
    words = (term for term in extract_terms(text) if len(term) > 1 or term.isascii())
    return frozenset(term for term in words if not term.isdecimal()) - _light_terms()


@cache
def _light_terms() -> frozenset[str]:
    return frozenset(extract_terms(" ".join(light_words())))


def _beginning(term: str) -> str:
    """Return what the forms of a stem have in common: "y" at the end of a word is "i" in its stem."""
    return term.removesuffix("i")


def _may_conflict(addition: Addition, fact: Fact, slots: Slots) -> bool:
    """Return whether *addition* was said after *fact*, and no rule decides between them."""
    said_before = fact.said_at or fact.created_at
    is_later = not (said_before and addition.said_at) or addition.said_at >= said_before
    return is_later and not _is_decided(addition, fact, slots)


def _is_decided(addition: Addition, fact: Fact, slots: Slots) -> bool:
    """Return whether both state the same, or fill one slot, in which the value that was said later wins."""
    if KnownFacts([fact], slots).find(addition) and _is_in_same_order(addition.content, fact.content):
        return True
    new, known = slots.find(addition.content, addition.slot), slots.find(fact.content, fact.slot)
    return new is not None and known is not None and (new.slot, new.of) == (known.slot, known.of)


def settle(changes: MemoryUpdate, verdicts: Mapping[Conflict, Verdict]) -> MemoryUpdate:
    """Return *changes* in which additions replace, or repeat, known facts as the model decided."""
    replaced, repeated = defaultdict[str, list[str]](list), dict[str, str]()
    for conflict, verdict in verdicts.items():
        if verdict == "replaces":
            replaced[conflict.addition_id].append(conflict.known_id)
        elif verdict == "same":
            repeated.setdefault(conflict.addition_id, conflict.known_id)
    additions = (
        addition.model_copy(
            update={
                "replaces": tuple(dict.fromkeys((*addition.replaces, *replaced[addition.id]))),
                "repeats": repeated.get(addition.id, addition.repeats),
            }
        )
        for addition in changes.additions
    )
    return changes.model_copy(update={"additions": tuple(additions)})
