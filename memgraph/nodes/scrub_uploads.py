"""scrub_uploads: keep uploaded files out of the memory."""

from __future__ import annotations

from memgraph.rules.scrub import scrub
from memgraph.state import Scrubbed, ScrubInput


def scrub_uploads(state: ScrubInput) -> Scrubbed:
    """Remove what this update wrote about uploads, and nothing that was in the memory before."""
    edited = [rewrite.section for rewrite in state["changes"].rewrites if rewrite.edited_by_user]
    result = scrub(state["memory"], state["applied"], edited_by_user=edited)
    return {"scrubbed": result.memory, "uploads": result.refused}
