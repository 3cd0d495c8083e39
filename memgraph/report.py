"""What an update did: the report a run ends with."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from memgraph.models import Fact, Memory, Refusal, SectionName

Outcome = Literal["learned", "nothing_new", "superseded", "forgotten", "rejected"]
"""How a run ended.

- learned: something was added, removed, rewritten or confirmed, and saved.
- nothing_new: nothing a person said was left, all of it was learned before, or none of it was worth keeping.
- superseded: another run learned these turns meanwhile.
- forgotten: the memory was deleted meanwhile.
- rejected: a reviewer refused the changes, and nothing was left to learn.
"""


REJECTED = "rejected in review"
"""Why something was refused that a person did not agree to."""


class Reported(BaseModel):
    """A part of a report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(Reported):
    """What the model cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class RemovedFact(Reported):
    """A fact that is no longer kept, and why."""

    fact: Fact
    why: str


class RewrittenSection(Reported):
    """A summary that has a new text."""

    section: SectionName
    before: str
    after: str


class Report(Reported):
    """What was added, confirmed, removed, rewritten and refused, and what the model cost."""

    added: tuple[Fact, ...] = ()
    confirmed: tuple[Fact, ...] = ()
    """Known facts that were said again."""
    removed: tuple[RemovedFact, ...] = ()
    rewritten: tuple[RewrittenSection, ...] = ()
    refused: tuple[Refusal, ...] = ()
    usage: Usage = Usage()

    def __add__(self, other: Report) -> Report:
        """The report of both passes of one run."""
        return Report(
            added=self.added + other.added,
            confirmed=self.confirmed + other.confirmed,
            removed=self.removed + other.removed,
            rewritten=self.rewritten + other.rewritten,
            refused=self.refused + other.refused,
            usage=self.usage + other.usage,
        )

    @property
    def changed(self) -> bool:
        """Whether the memory says anything else than before."""
        return bool(self.added or self.confirmed or self.removed or self.rewritten)

    @property
    def rejected(self) -> bool:
        """Whether a reviewer refused any of it."""
        return any(refusal.reason == REJECTED for refusal in self.refused)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {name: len(getattr(self, name)) for name in ("added", "confirmed", "removed", "rewritten", "refused")}


def diff(before: Memory, after: Memory, *, because: tuple[RemovedFact, ...] = ()) -> Report:
    """Tell what changed from *before* to *after*; *because* knows why facts were removed."""
    old = {fact.id: fact for fact in before.facts}
    new = {fact.id: fact for fact in after.facts}
    reasons = {removed.fact.id: removed.why for removed in because}
    return Report(
        added=tuple(fact for fact in after.facts if fact.id not in old),
        confirmed=tuple(fact for fact in after.facts if fact.id in old and fact != old[fact.id]),
        removed=tuple(
            RemovedFact(fact=fact, why=reasons.get(fact.id, "removed")) for fact in before.facts if fact.id not in new
        ),
        rewritten=tuple(
            RewrittenSection(section=name, before=before.section(name).summary, after=section.summary)
            for name, section in after.sections()
            if section.summary != before.section(name).summary
        ),
    )
