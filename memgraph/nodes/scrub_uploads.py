"""scrub_uploads: nothing about uploads is remembered."""

from __future__ import annotations

from memgraph.models import Memory, MemoryUpdate
from memgraph.rules.scrub import scrub
from memgraph.state import Loaded, Scrubbed


class ScrubInput(Loaded):
    """What scrub_uploads reads."""

    applied: Memory
    changes: MemoryUpdate


def scrub_uploads(state: ScrubInput) -> Scrubbed:
    """Take out what this update wrote about uploads, and nothing that was there before."""
    by_hand = [rewrite.section for rewrite in state["changes"].rewrites if rewrite.edited_by_user]
    result = scrub(state["memory"], state["applied"], by_hand=by_hand)
    return {"scrubbed": result.memory, "uploads": result.refused}
