"""A fact with how well it fits."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from memgraph.models import Fact, SectionName


class ScoredFact(BaseModel):
    """A fact, and what it was ranked by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fact: Fact
    score: float
    """What facts are ordered by, the best first; in [0, 1]."""
    similarity: float
    """To what was asked, in [0, 1]; 1 is the most similar fact of the memory."""


class RankedFact(BaseModel):
    """Where a fact stands: its score, its similarity, and which it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    score: float
    similarity: float


class Selection(BaseModel):
    """What of a memory fits the budget."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    summaries: Mapping[SectionName, str] = Field(default_factory=dict[SectionName, str])
    """On one line each and escaped, cut where they did not fit whole."""
    facts: tuple[ScoredFact, ...] = ()
    """The best first."""


class RecallResult(BaseModel):
    """What a prompt is told about the user."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """One `<memory>` block; "" where nothing is known, or nothing fits."""
    tokens: int
    """What the text takes, in tokens of cl100k_base."""
    facts: tuple[ScoredFact, ...] = ()
    """Which facts are in it, and how they scored; the best first."""
