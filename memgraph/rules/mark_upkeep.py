"""Note in the memory when the upkeep changed it, and what it asked about."""

from __future__ import annotations

from dataclasses import replace

from memgraph.models import Upkeep
from memgraph.rules.draft import Draft

MAX_ASKED = 1_000
"""Maximum number of questions that are remembered, the latest ones."""


def mark_upkeep(draft: Draft) -> Draft:
    """Note the time, the revision and the questions of an upkeep; an update changes nothing here."""
    changes, memory = draft.changes, draft.memory
    if changes.asked is None:
        return draft
    before = memory.upkeep or Upkeep()
    asked = tuple(dict.fromkeys((*before.asked, *changes.asked)))[-MAX_ASKED:]
    upkeep = before.model_copy(update={"at": changes.at, "revision": memory.revision + 1, "asked": asked})
    return replace(draft, memory=memory.model_copy(update={"upkeep": upkeep}))
