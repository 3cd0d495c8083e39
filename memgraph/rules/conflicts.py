"""What the model is asked about in a second look: likely conflicts, with a control.

A likely conflict is a known fact that an addition may make untrue, although it does not replace it. The model decides;
this only finds what is worth asking about. The control is a pair that is clearly no conflict: small models answer
"replaces" for every pair.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nlargest
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from memgraph.models import Addition, Conflict, Fact, MemoryDocument, MemoryUpdate, Turn, Verdict
from memgraph.policy import Policy
from memgraph.retrieval.terms import extract_terms
from memgraph.rules.add import rejection_reason
from memgraph.rules.merge import KnownFacts
from memgraph.rules.relatedness import is_related, quoted_sentences, restates, share_slot, topic_terms
from memgraph.text.changes import ChangeKind, find_change
from memgraph.text.normalize import language_of
from memgraph.text.slots import Slots, packaged_slots

MAX_CONFLICTS = 5
"""Conflicts of one second look, the likeliest ones."""
MAX_PER_ADDITION = 3
MIN_SHARED = {"ends": 0.3, "begins": 0.5}
"""Of the words of a known fact, so much must recur in the addition and its sentence, by the kind of the change word."""
MIN_NAMED = {"en": 0.2, "zh": 0.1}
"""Of the words of a known fact, so much must recur in what the user said but for the new fact, if something ended.

In Chinese half as much: about every second pair of characters crosses two words.
"""
MAX_COMPARED = 10
"""Known facts that are compared in full with one addition."""
IDF_PRIOR = 50
"""Facts that a memory is taken to have beyond its own: in a small one, most words are rare."""


_score = attrgetter("score")


class _Scored(NamedTuple):
    score: float
    conflict: Conflict


def likely_conflicts(
    changes: MemoryUpdate, memory: MemoryDocument, turns: Sequence[Turn], policy: Policy, slots: Slots | None = None
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
    if not changes.additions or not memory.facts:
        return ()
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
    quoted = "".join(quoted_sentences(addition, turns))
    kind = find_change(quoted)
    return (kind, quoted) if kind else None


def _is_in_same_order(one: str, other: str) -> bool:
    """Return whether the words of the shorter text occur in the other in their order; "tea to coffee" is reversed."""
    shorter, longer = sorted((extract_terms(one), extract_terms(other)), key=len)
    rest = iter(longer)
    return all(term in rest for term in shorter)


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
        stated, words = topic_terms(addition.content), topic_terms(said)
        for fact in self._candidates(stated | words):
            own = topic_terms(fact.content)
            shared = self._share(own, stated | words)
            # "I gave up rowing, I go climbing now": the ended one is what the new fact does not name
            is_named = self._share(own, words - stated) >= MIN_NAMED[language_of([fact.content])]
            is_ended = kind == "ends" and (is_named or share_slot(addition, fact, self._slots))
            if (is_ended or shared >= MIN_SHARED[kind]) and _may_conflict(addition, fact, self._slots):
                yield _Scored(shared, Conflict(known_id=fact.id, addition_id=addition.id))

    def _share(self, own: frozenset[str], terms: frozenset[str]) -> float:
        """Return how much of the words *own* is in *terms*, from 0 to 1; rare words count more."""
        total = sum(map(self._weight, own))
        return sum(map(self._weight, own & terms)) / total if total else 0.0

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


def with_control(
    conflicts: Sequence[Conflict], changes: MemoryUpdate, memory: MemoryDocument, slots: Slots
) -> tuple[Conflict, ...]:
    """Return *conflicts* after a control: a known fact that has nothing in common with the addition of the first one.

    It is left out if no known fact is fit to be one.
    """
    addition = next((one for one in changes.additions if conflicts and one.id == conflicts[0].addition_id), None)
    asked = {conflict.known_id for conflict in conflicts}
    for fact in memory.facts if addition else ():
        if addition and fact.id not in asked.union(addition.replaces) and not is_related(addition, fact, slots):
            # the control comes first: a small model repeats the verdicts of the examples, of which the first replaces
            return Conflict(known_id=fact.id, addition_id=addition.id, is_control=True), *conflicts
    return tuple(conflicts)


def settle(
    changes: MemoryUpdate, verdicts: Mapping[Conflict, Verdict], memory: MemoryDocument, slots: Slots
) -> MemoryUpdate:
    """Return *changes* in which additions replace, or repeat, known facts as the model decided.

    What has nothing in common is not the same, whatever the model decided. If it did not find that both facts of a
    control hold, an addition replaces only what it restates.
    """
    proposed = {addition.id: addition for addition in changes.additions}
    replaced, repeated = defaultdict[str, list[str]](list), dict[str, str]()
    distinguishes = all(verdict == "both" for conflict, verdict in verdicts.items() if conflict.is_control)
    for conflict, verdict in verdicts.items():
        addition, fact = proposed.get(conflict.addition_id), memory.fact(conflict.known_id)
        if verdict == "both" or conflict.is_control or addition is None or fact is None:
            continue
        if verdict == "replaces" and (distinguishes or restates(addition, fact, slots)):
            replaced[conflict.addition_id].append(conflict.known_id)
        elif verdict == "same" and is_related(addition, fact, slots):
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
