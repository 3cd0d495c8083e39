"""apply_update: apply the change set to the memory."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.models import Turn
from memgraph.rules.apply import apply
from memgraph.state import Applied, ApplyInput


def apply_update(state: ApplyInput, runtime: Runtime[RunContext]) -> Applied:
    """Apply the changes that the policy allows."""
    result = apply(state["changes"], state["memory"], runtime.context.policy, shown_turns(state))
    return {"applied": result.memory, "removed": result.removed, "refused": result.refused}


def shown_turns(state: ApplyInput) -> tuple[Turn, ...]:
    """Return the turns that the prompt showed; without a prompt all, since a person accepted the changes."""
    return state["prompt"].shown(state["turns"]) if "prompt" in state else state["turns"]
