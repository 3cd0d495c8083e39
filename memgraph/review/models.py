"""What is shown for review, and what may be answered. All of it is plain JSON when it travels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from memgraph.models import ChangeModel, Refusal
from memgraph.policy import Review

Verdict = Literal["accept", "reject"]

INSTRUCTIONS = (
    'Answer "accept" or "reject", or decide item by item: {"items": {KEY: "accept" | "reject" | {FIELDS}}}. '
    "FIELDS are those of the item to change: after, and of a fact to add also category, confidence and source_error. "
    'Every item needs its verdict; say {"items": {...}, "others": "accept" | "reject"} for those that are not named.'
)
"""How a proposal is answered, for whoever has to."""

_STRICTNESS: tuple[Review, ...] = ("never", "corrections", "always")


def strictest(*said: Review | None) -> Review:
    """The strictest of what was said; never, where nobody said anything."""
    return _STRICTNESS[max((_STRICTNESS.index(review) for review in said if review), default=0)]


class ReviewModel(BaseModel):
    """A part of what is shown."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FactRef(ReviewModel):
    """A fact that is known, and would go."""

    id: str
    content: str


class ReviewItem(ReviewModel):
    """One thing that would change."""

    key: str
    """`add:` or `confirm:` and the id of the addition, `remove:` and that of the fact, `rewrite:` and the section."""
    kind: Literal["add", "confirm", "remove", "rewrite"]
    before: str = ""
    """The text there is; empty where it is new."""
    after: str = ""
    """The text there would be; empty where it goes."""
    category: str | None = None
    """Of facts: what it is about."""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    """Of facts: how sure the model is."""
    source_error: str | None = None
    """Of corrections: what went wrong."""
    reason: str | None = None
    """Of removals: why."""
    replaces: tuple[FactRef, ...] = ()
    """Facts that would go because this one comes; rejecting it keeps them."""

    @property
    def id(self) -> str:
        """The id of the addition or the fact, or the name of the section."""
        return self.key.partition(":")[2]


class Proposal(ReviewModel):
    """What an update would change, for a person to decide."""

    type: Literal["memory_review"] = "memory_review"
    """By which a client tells this interrupt from others."""
    user_id: str
    agent_name: str | None = None
    thread_id: str | None = None
    items: tuple[ReviewItem, ...]
    """What is to be decided."""
    evicted: tuple[FactRef, ...] = ()
    """Facts that would go for want of room if all were accepted."""
    refused: tuple[Refusal, ...] = ()
    """What the model proposed that is not kept in any case, and why."""
    how: str = INSTRUCTIONS
    """How to answer."""
    problem: str | None = None
    """What was wrong with the answer before this one."""

    def item(self, key: str) -> ReviewItem | None:
        """The item called *key*, if there is one."""
        return next((item for item in self.items if item.key == key), None)


class Edit(ChangeModel):
    """An item as the person wants it: what is given takes the place of the item's own. It is then the person's word."""

    after: str | None = None
    category: str | None = None
    confidence: Annotated[float, Strict()] | None = None
    source_error: str | None = None


class Decision(ChangeModel):
    """The answer, item by item."""

    items: Mapping[str, Verdict | Edit] = Field(default_factory=dict[str, Verdict | Edit])
    others: Verdict | None = None
    """What becomes of items that are not named; without it, all must be named."""
