"""What became of each item of an export."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from memgraph.models import Memory


class Note(BaseModel):
    """An item, and what is to be said of it."""

    model_config = ConfigDict(frozen=True)

    what: str
    why: str


class ImportReport(BaseModel):
    """What was taken, changed and left of an export."""

    model_config = ConfigDict(frozen=True)

    facts: int = 0
    """Facts taken."""
    summaries: int = 0
    """Summaries taken."""
    changed: tuple[Note, ...] = ()
    """What was taken otherwise than it was."""
    left: tuple[Note, ...] = ()
    """What was not taken, and why."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """A memory made of an export."""

    memory: Memory
    report: ImportReport
