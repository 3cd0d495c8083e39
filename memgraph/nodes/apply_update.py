"""apply_update: apply the change set to the memory."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.rules.apply import apply
from memgraph.state import Applied, ApplyInput


def apply_update(state: ApplyInput, runtime: Runtime[RunContext]) -> Applied:
    """Apply the changes that the policy allows."""
    result = apply(state["changes"], state["memory"], runtime.context.policy)
    return {"applied": result.memory, "removed": result.removed, "refused": result.refused}
