"""apply_update: the memory with the changes in it."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.models import MemoryUpdate
from memgraph.rules.apply import apply
from memgraph.state import Applied, Loaded


class ApplyInput(Loaded):
    """What apply_update reads."""

    changes: MemoryUpdate


def apply_update(state: ApplyInput, runtime: Runtime[RunContext]) -> Applied:
    """Apply the changes that policy lets through."""
    result = apply(state["changes"], state["memory"], runtime.context.policy)
    return {"applied": result.memory, "removed": result.removed, "refused": result.refused}
