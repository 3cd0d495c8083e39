"""The results of recall: scored facts, what fits the budget, and the text for a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from memgraph.models import Fact, SectionName


class ScoredFact(BaseModel):
    """A fact with its scores."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fact: Fact
    score: float
    """What facts are ordered by, the highest first; in [0, 1]."""
    similarity: float
    """To the query, in [0, 1]; 1 is the most similar fact of the memory."""


class RankedFact(BaseModel):
    """The scores of a fact, by its id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    score: float
    similarity: float


class Selection(BaseModel):
    """What of a memory fits the budget."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    summaries: Mapping[SectionName, str] = Field(default_factory=dict[SectionName, str])
    """On one line each and escaped; cut if they did not fit."""
    facts: tuple[ScoredFact, ...] = ()
    """The best first."""


class RecallResult(BaseModel):
    """The memory text for a prompt, and the facts in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """One `<memory>` block; "" if the memory is empty, or nothing fits."""
    tokens: int
    """Size of the text in tokens of cl100k_base."""
    facts: tuple[ScoredFact, ...] = ()
    """The facts in the text with their scores; the best first."""
