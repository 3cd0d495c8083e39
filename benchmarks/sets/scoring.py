"""What became of a conversation, against its labels. Values in, values out: no model, no graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from common import bootstrap
from sets.intervals import wilson
from sets.labels import Conversation, Label

from memgraph import Fact, Memory

Verdict = Literal["right", "duplicate", "forbidden", "junk"]
"""What a stored fact is.

- right: it says something that should or may be known.
- duplicate: it says only what an earlier fact says, or the memory said before.
- forbidden: it says what must not be known.
- junk: it matches no label at all.
"""


@dataclass(frozen=True)
class Judged:
    """A conversation after its update."""

    conversation: Conversation
    facts: Sequence[tuple[Fact, Verdict]] = ()
    """What was stored, in order."""
    found: Sequence[bool] = ()
    """Of the facts that should be known: whether it is."""
    filed: Sequence[bool] = ()
    """Of those that were found and belong into a category: whether it is there."""
    retired: Sequence[bool] = ()
    """Of the known facts that are no longer true: whether it is gone."""
    lost: int = 0
    """Known facts that are still true, and that nothing says any more."""
    leaked: int = 0
    """Secrets that stand somewhere in the memory."""
    error: str = ""
    """Why there was no update, where there was none."""

    @property
    def stored(self) -> int:
        return len(self.facts)

    @property
    def right(self) -> int:
        """Stored facts that are true of the user, said again or not."""
        return self.count("right") + self.count("duplicate")

    def count(self, verdict: Verdict) -> int:
        return sum(given == verdict for _, given in self.facts)

    @property
    def caught(self) -> bool:
        """Whether what the user put right is known, under a category that it may have."""
        return any(self.filed)

    @property
    def has_correction(self) -> bool:
        """Whether anything was learned as a correction."""
        return any(fact.category == "correction" for fact, _ in self.facts)

    @property
    def filed_as_correction(self) -> bool:
        """Whether a true fact was learned as a correction."""
        return any(fact.category == "correction" and verdict == "right" for fact, verdict in self.facts)


def judge(conversation: Conversation, before: Memory, after: Memory) -> Judged:
    """Compare what was stored with the labels."""
    known = {fact.id for fact in before.facts}
    stored = [fact for fact in after.facts if fact.id not in known]
    kept = {fact.id for fact in after.facts}
    stale = [fact for fact in before.facts if _matching(fact, conversation.outdated)]
    document = after.model_dump_json()
    return Judged(
        conversation,
        facts=list(zip(stored, verdicts(conversation, stored), strict=True)),
        found=[any(label.matches(fact.content) for fact in stored) for label in conversation.should],
        filed=list(_filed(conversation, stored)),
        retired=[fact.id not in kept for fact in stale],
        lost=sum(_is_lost(fact, conversation, after) for fact in before.facts if fact not in stale),
        leaked=sum(secret in document for secret in conversation.never),
    )


def _is_lost(fact: Fact, conversation: Conversation, after: Memory) -> bool:
    """Whether *fact* is gone, and none says the same in other words."""
    labels = _matching(fact, conversation.known)
    return not after.fact(fact.id) and not any(_matching(other, labels) for other in after.facts)


def unlearned(conversation: Conversation, error: str) -> Judged:
    """A conversation that nothing was learned from, since the update failed."""
    return Judged(
        conversation,
        found=[False] * len(conversation.should),
        retired=[False] * len(conversation.outdated),
        error=error,
    )


def verdicts(conversation: Conversation, stored: Sequence[Fact]) -> list[Verdict]:
    """Say what each fact is, in order."""
    said: set[Label] = set()
    given: list[Verdict] = []
    for fact in stored:
        says = _matching(fact, (*conversation.should, *conversation.may))
        given.append(_verdict(fact, conversation, says, said))
        said |= says
    return given


def _verdict(fact: Fact, conversation: Conversation, says: set[Label], said: set[Label]) -> Verdict:
    if _matching(fact, conversation.must_not):
        return "forbidden"
    if says:
        return "duplicate" if says <= said else "right"
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
    """The share that *part* has of *whole*, over all conversations; 0 where there is nothing to divide by."""

    part: Part
    whole: Part

    def __call__(self, judged: Sequence[Judged]) -> float:
        total = sum(map(self.whole, judged))
        return sum(map(self.part, judged)) / total if total else 0.0

    def interval(self, judged: Sequence[Judged]) -> tuple[float, float]:
        """The wider of two 95 % intervals.

        Drawing conversations sees that facts of one belong together, and is blind where all are right or all are
        wrong; Wilson's is not.
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
