"""scrub_uploads: nothing about uploads is remembered."""

from __future__ import annotations

from memgraph.models import Memory
from memgraph.rules.scrub import scrub
from memgraph.state import Loaded, Scrubbed


class Proposal(Loaded):
    """What scrub_uploads reads."""

    applied: Memory


def scrub_uploads(state: Proposal) -> Scrubbed:
    """Take out what this update wrote about uploads, and nothing that was there before."""
    result = scrub(state["memory"], state["applied"])
    return {"scrubbed": result.memory, "uploads": result.refused}
