"""The memory knows when its last upkeep was, and what it asked."""

from __future__ import annotations

from update_values import AT, draft

from memgraph import MemoryDocument
from memgraph.models import Upkeep
from memgraph.rules.watermark import MAX_ASKED, mark_upkeep


def test_an_upkeep_is_noted_with_the_revision_that_it_saves() -> None:
    """The number of updates since is the difference of two revisions."""
    marked = mark_upkeep(draft(MemoryDocument(revision=6, upkeep=Upkeep(asked=("d1",))), asked=("d2", "d1")))

    assert marked.memory.upkeep == Upkeep(at=AT, revision=7, asked=("d1", "d2"))


def test_an_update_is_no_upkeep() -> None:
    """It leaves the note as it is."""
    memory = MemoryDocument(upkeep=Upkeep(revision=3))

    assert mark_upkeep(draft(memory)).memory is memory


def test_the_latest_questions_are_kept() -> None:
    """The document does not grow without a limit."""
    asked = tuple(f"d{n}" for n in range(MAX_ASKED + 5))

    marked = mark_upkeep(draft(MemoryDocument(), asked=asked)).memory.upkeep

    assert marked is not None
    assert marked.asked == asked[5:]
