"""The report of an update: what it changed, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import not_
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memgraph.models import AsSaid, Fact, MemoryDocument, Refusal, SectionName

Outcome = Literal["learned", "nothing_new", "superseded", "forgotten", "rejected"]
"""How a run ended.

- learned: something was added, removed, rewritten or confirmed, and saved.
- nothing_new: there was no user turn, all turns were learned before, or none of it was worth keeping.
- superseded: another run learned these turns meanwhile.
- forgotten: the memory was deleted meanwhile.
- rejected: a reviewer rejected the changes, and nothing was left to learn.
"""


REJECTED = "rejected in review"
"""The reason of a refusal by a reviewer."""


class ReportModel(BaseModel):
    """A part of a report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Summable(ReportModel):
    """What two passes of a run, or several calls, have together: the sum of each field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})


class Usage(Summable):
    """Calls of the model, and their tokens."""

    calls: int = 0
    """How often the model was called."""
    input_tokens: int = 0
    """Tokens of the prompts, as the provider reports them; 0 if it reports none."""
    output_tokens: int = 0
    """Tokens of the answers, as the provider reports them; 0 if it reports none."""


class RemovedFact(ReportModel):
    """A removed fact, and why."""

    fact: Fact
    why: str


class RewrittenSection(ReportModel):
    """A summary with a new text."""

    section: SectionName
    before: str
    after: str


class ChangedField(ReportModel):
    """A field of the profile with a new value."""

    field: str
    before: JsonValue = None
    after: JsonValue = None


class Report(Summable):
    """What was added, confirmed, removed, rewritten and refused, and the model's usage."""

    added: tuple[Fact, ...] = ()
    """New facts."""
    confirmed: tuple[Fact, ...] = ()
    """Known facts that were repeated."""
    as_said: tuple[AsSaid, ...] = Field(default=(), exclude_if=not_)
    """Claims that are kept as the user said them, new or said again, each with the reason."""
    removed: tuple[RemovedFact, ...] = ()
    """Known facts that were removed, superseded, merged, expired or evicted, each with the reason."""
    rewritten: tuple[RewrittenSection, ...] = ()
    """Summaries with a new text, each with the text before."""
    profile: tuple[ChangedField, ...] = Field(default=(), exclude_if=not_)
    """Fields of the profile with a new value, each with the value before."""
    refused: tuple[Refusal, ...] = ()
    """Changes that the model proposed and that were not applied, each with the reason."""
    usage: Usage = Usage()
    """Calls of the model, and their tokens."""

    @property
    def changed(self) -> bool:
        """Whether the memory differs from before."""
        return any((self.added, self.confirmed, self.as_said, self.removed, self.rewritten, self.profile))

    @property
    def rejected(self) -> bool:
        """Whether a reviewer rejected any of it."""
        return any(refusal.reason == REJECTED for refusal in self.refused)

    @property
    def outcome(self) -> Outcome:
        """How a run ended that saved all it learned."""
        if self.changed:
            return "learned"
        return "rejected" if self.rejected else "nothing_new"

    @property
    def why_unchanged(self) -> str:
        """Why nothing was kept; empty if something was."""
        if self.changed:
            return ""
        if self.refused:
            return "; ".join(dict.fromkeys(refusal.reason for refusal in self.refused))
        if self.usage.calls:
            return "the model found nothing to remember about the user"
        return "it was learned before, or has no words of the user to learn from"

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        names = ("added", "confirmed", "as_said", "removed", "rewritten", "refused")
        return {name: len(getattr(self, name)) for name in names}


def report_changes(before: MemoryDocument, after: MemoryDocument, *, reasons: tuple[RemovedFact, ...] = ()) -> Report:
    """Report what changed from *before* to *after*; *reasons* explain the removals."""
    old = {fact.id: fact for fact in before.facts}
    new = {fact.id: fact for fact in after.facts}
    why = {removed.fact.id: removed.why for removed in reasons}
    return Report(
        added=tuple(fact for fact in after.facts if fact.id not in old),
        # most facts are the same objects, and comparing those by their fields takes longest
        confirmed=tuple(fact for fact in after.facts if (was := old.get(fact.id)) and fact is not was and fact != was),
        as_said=tuple(claim for claim in after.as_said if claim != before.said_claim(claim.id)),
        removed=tuple(
            RemovedFact(fact=fact, why=why.get(fact.id, "removed")) for fact in before.facts if fact.id not in new
        ),
        rewritten=tuple(
            RewrittenSection(section=name, before=before.section(name).summary, after=section.summary)
            for name, section in after.sections()
            if section.summary != before.section(name).summary
        ),
        profile=tuple(_changed_fields(before.profile.values, after.profile.values)),
    )


def _changed_fields(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[ChangedField]:
    for field in dict.fromkeys((*before, *after)):
        if before.get(field) != after.get(field):
            yield ChangedField.model_validate({"field": field, "before": before.get(field), "after": after.get(field)})
