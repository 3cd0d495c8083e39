"""The result of an import: a memory, and a report of what was changed or skipped."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from memgraph.models import MemoryDocument


class Note(BaseModel):
    """A remark about an item of an export."""

    model_config = ConfigDict(frozen=True)

    what: str
    why: str


class ImportReport(BaseModel):
    """What was imported, changed and skipped."""

    model_config = ConfigDict(frozen=True)

    facts: int = 0
    """Number of imported facts."""
    summaries: int = 0
    """Number of imported summaries."""
    changed: tuple[Note, ...] = ()
    """Items that were imported with changes."""
    left: tuple[Note, ...] = ()
    """Items that were skipped, and why."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The memory that an export contains."""

    memory: MemoryDocument
    report: ImportReport
