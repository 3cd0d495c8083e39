"""Scores what was learned from a conversation against its labels. Pure functions: no model, no graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from common import bootstrap
from sets.intervals import wilson
from sets.labels import Conversation, Label

from memgraph import Fact, MemoryDocument

Verdict = Literal["right", "duplicate", "forbidden", "junk"]
"""The verdict on a stored fact.

- right: it makes a statement that should or may be stored.
- duplicate: it only repeats an earlier fact or the initial memory.
- forbidden: it makes a statement that must not be stored.
- junk: it matches no label.
"""


@dataclass(frozen=True)
class Judged:
    """A conversation after its update."""

    conversation: Conversation
    facts: Sequence[tuple[Fact, Verdict]] = ()
    """The stored facts with their verdicts, in order."""
    found: Sequence[bool] = ()
    """For each expected fact: whether it is stored."""
    filed: Sequence[bool] = ()
    """For each expected fact with a category that is stored: whether its category is right."""
    retired: Sequence[bool] = ()
    """For each outdated fact of the initial memory: whether it was removed."""
    lost: int = 0
    """Number of initial facts that are still true but no longer stated anywhere."""
    leaked: int = 0
    """Number of secrets that occur in the memory."""
    error: str = ""
    """Why the update failed; empty if it did not."""

    @property
    def stored(self) -> int:
        return len(self.facts)

    @property
    def right(self) -> int:
        """Number of stored facts that are true of the user, duplicates included."""
        return self.count("right") + self.count("duplicate")

    def count(self, verdict: Verdict) -> int:
        return sum(other == verdict for _, other in self.facts)

    @property
    def caught(self) -> bool:
        """Whether the corrected fact is stored with an allowed category."""
        return any(self.filed)

    @property
    def has_correction(self) -> bool:
        """Whether any fact was stored as a correction."""
        return any(fact.category == "correction" for fact, _ in self.facts)

    @property
    def filed_as_correction(self) -> bool:
        """Whether a true fact was stored as a correction."""
        return any(fact.category == "correction" and verdict == "right" for fact, verdict in self.facts)


def judge(conversation: Conversation, before: MemoryDocument, after: MemoryDocument) -> Judged:
    """Compare what was stored with the labels."""
    known = {fact.id for fact in before.facts}
    stored = [fact for fact in after.facts if fact.id not in known]
    remaining = {fact.id for fact in after.facts}
    stale = [fact for fact in before.facts if _matching(fact, conversation.outdated)]
    document = after.model_dump_json()
    return Judged(
        conversation,
        facts=list(zip(stored, verdicts(conversation, stored), strict=True)),
        found=[any(label.matches(fact.content) for fact in stored) for label in conversation.should],
        filed=list(_filed(conversation, stored)),
        retired=[fact.id not in remaining for fact in stale],
        lost=sum(_is_lost(fact, conversation, after) for fact in before.facts if fact not in stale),
        leaked=sum(secret in document for secret in conversation.never),
    )


def _is_lost(fact: Fact, conversation: Conversation, after: MemoryDocument) -> bool:
    """Return whether *fact* was removed and no other fact states the same."""
    labels = _matching(fact, conversation.known)
    return not after.fact(fact.id) and not any(_matching(other, labels) for other in after.facts)


def failed(conversation: Conversation, error: str) -> Judged:
    """Return the result of a conversation whose update failed."""
    return Judged(
        conversation,
        found=[False] * len(conversation.should),
        retired=[False] * len(conversation.outdated),
        error=error,
    )


def verdicts(conversation: Conversation, stored: Sequence[Fact]) -> list[Verdict]:
    """Return the verdict on each fact, in order."""
    stated: set[Label] = set()
    result: list[Verdict] = []
    for fact in stored:
        statements = _matching(fact, (*conversation.should, *conversation.may))
        result.append(_verdict(fact, conversation, statements, stated))
        stated |= statements
    return result


def _verdict(fact: Fact, conversation: Conversation, statements: set[Label], stated: set[Label]) -> Verdict:
    if _matching(fact, conversation.must_not):
        return "forbidden"
    if statements:
        return "duplicate" if statements <= stated else "right"
    return "duplicate" if _matching(fact, conversation.known) else "junk"


def _matching(fact: Fact, labels: Iterable[Label]) -> set[Label]:
    return {label for label in labels if label.matches(fact.content)}


def _filed(conversation: Conversation, stored: Sequence[Fact]) -> Iterable[bool]:
    for label in conversation.should:
        categories = {fact.category for fact in stored if label.matches(fact.content)}
        if label.category and categories:
            yield bool(categories & set(label.category))


# -- over many conversations ----------------------------------------------------------------------

Part = Callable[[Judged], float]


@dataclass(frozen=True)
class Share:
    """The ratio of *part* to *whole* over all conversations; 0 if *whole* is 0."""

    part: Part
    whole: Part

    def __call__(self, judged: Sequence[Judged]) -> float:
        total = sum(map(self.whole, judged))
        return sum(map(self.part, judged)) / total if total else 0.0

    def interval(self, judged: Sequence[Judged]) -> tuple[float, float]:
        """The wider of two 95 % intervals.

        A bootstrap over conversations respects that the facts of one conversation are correlated, but degenerates if
        all are right or all are wrong; Wilson's interval does not.
        """
        drawn = bootstrap(judged, self)
        low, high = wilson(sum(map(self.part, judged)), sum(map(self.whole, judged)))
        return min(low, drawn[0]), max(high, drawn[1])


precision = Share(lambda one: one.right, lambda one: one.stored)
recall = Share(lambda one: sum(one.found), lambda one: len(one.found))
duplicates = Share(lambda one: one.count("duplicate"), lambda one: one.stored)
junk = Share(lambda one: one.count("junk") + one.count("forbidden"), lambda one: one.stored)
retired = Share(lambda one: sum(one.retired), lambda one: len(one.retired))
caught = Share(lambda one: one.conversation.correction and one.caught, lambda one: one.conversation.correction)
filed_as_correction = Share(
    lambda one: one.conversation.correction and one.filed_as_correction, lambda one: one.conversation.correction
)
false_alarms = Share(
    lambda one: not one.conversation.correction and one.has_correction, lambda one: not one.conversation.correction
)


def f1(judged: Sequence[Judged]) -> float:
    """The harmonic mean of precision and recall."""
    exact, complete = precision(judged), recall(judged)
    return 2 * exact * complete / (exact + complete) if exact + complete else 0.0
