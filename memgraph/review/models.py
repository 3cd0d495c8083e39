"""Proposals and decisions: what a reviewer sees and answers. Both are exchanged as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from memgraph.models import ChangeModel, PendingChange, Refusal
from memgraph.policy import Review

Verdict = Literal["accept", "reject"]

INSTRUCTIONS = (
    'Answer "accept" or "reject", or decide item by item: {"items": {KEY: "accept" | "reject" | {"after": TEXT}}}. '
    "TEXT is another wording of a new fact or of a summary. "
    'Every item needs a verdict; {"items": {...}, "others": "accept" | "reject"} decides those that are not listed.'
)
"""How to answer a proposal; part of each, since a client may know nothing about memgraph."""

_STRICTNESS: tuple[Review, ...] = ("never", "corrections", "always")


def strictest(*reviews: Review | None) -> Review:
    """Return the strictest of *reviews*; "never" if all are None."""
    return _STRICTNESS[max((_STRICTNESS.index(review) for review in reviews if review), default=0)]


class ReviewModel(BaseModel):
    """A part of a proposal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FactRef(ReviewModel):
    """A known fact that would be removed."""

    id: str
    content: str


class ReviewItem(ReviewModel):
    """One change."""

    key: str
    """`add:` or `confirm:` and the id of the addition, `remove:` and the fact id, `merge:` and the id of the fact that
    stays, `rewrite:` and the section, or `profile:` and the field."""
    kind: Literal["add", "confirm", "remove", "merge", "rewrite", "profile"]
    """What is proposed: a new fact, a repeated one, a removal, a merge, or a new text of a summary or a field."""
    before: str = ""
    """The current text; empty for a new fact."""
    after: str = ""
    """The new text; empty for a removal."""
    category: str | None = None
    """For facts: their category."""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    """For facts: how certain the model is."""
    source_error: str | None = None
    """For corrections: what went wrong."""
    reason: str | None = None
    """For removals: why. Of a claim that is kept as said, the user's words."""
    replaces: tuple[FactRef, ...] = ()
    """Facts that this one would replace, or that would be merged into it; rejecting it keeps them."""

    @property
    def id(self) -> str:
        """The id of the addition or the fact, or the name of the section."""
        return self.key.partition(":")[2]


class Proposal(ReviewModel):
    """The changes of one update, for a person to decide on."""

    type: Literal["memory_review"] = "memory_review"
    """Lets clients recognise this kind of interrupt."""
    user_id: str
    """Whose memory."""
    agent_name: str | None = None
    """The agent, if it has its own memory of the user."""
    thread_id: str | None = None
    """The conversation."""
    items: tuple[ReviewItem, ...]
    """The changes to decide on."""
    evicted: tuple[FactRef, ...] = ()
    """Facts that would be evicted if all items were accepted."""
    refused: tuple[Refusal, ...] = ()
    """Proposed changes that are rejected by the rules in any case, and why."""
    quarantined: tuple[PendingChange, ...] = ()
    """What is pending in any case, to be decided there."""
    how: str = INSTRUCTIONS
    """How to answer."""
    problem: str | None = None
    """What was wrong with the previous answer, if it was invalid."""

    def item(self, key: str) -> ReviewItem | None:
        """Return the item with this key; None if there is none."""
        return next((item for item in self.items if item.key == key), None)


class Edit(ChangeModel):
    """Accepts an item in another wording. An edited fact is saved as a manual one."""

    after: str
    """The new text."""


class Decision(ChangeModel):
    """A decision about each item."""

    items: Mapping[str, Verdict | Edit] = Field(default_factory=dict[str, Verdict | Edit])
    """By the item's key: `"accept"`, `"reject"`, or an edit, which accepts it in another wording."""
    others: Verdict | None = None
    """The verdict for items that are not listed; without it, all have to be listed."""
