"""A fact with how well it fits."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from memgraph.models import Fact


class ScoredFact(BaseModel):
    """A fact, and what it was ranked by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fact: Fact
    score: float
    """What facts are ordered by, the best first; in [0, 1]."""
    similarity: float
    """To what was asked, in [0, 1]; 1 is the most similar fact of the memory."""
