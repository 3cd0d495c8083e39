"""apply_update: apply the change set to the memory."""

from __future__ import annotations

import logging

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.models import Turn
from memgraph.review import mark_edited
from memgraph.rules.apply import apply
from memgraph.rules.evict import FULL
from memgraph.state import Applied, ApplyInput

_log = logging.getLogger("memgraph.update")


def apply_update(state: ApplyInput, runtime: Runtime[RunContext]) -> Applied:
    """Apply the changes that the policy allows. Those that a person edited since a node wrote them are marked."""
    changes = mark_edited(state["changes"], state.get("change_digests"))
    result = apply(changes, state["memory"], runtime.context.policy, *shown(state), slots=runtime.context.slots)
    if evicted := sum(removed.why == FULL for removed in result.removed):
        _log.info("the memory is full: %d facts were evicted", evicted)
    applied: Applied = {"applied": result.memory, "removed": result.removed, "refused": result.refused}
    return applied if changes is state["changes"] else {**applied, "changes": changes}


def shown(state: ApplyInput) -> tuple[tuple[Turn, ...], frozenset[str] | None]:
    """Return the turns and the ids of the facts that the prompt showed.

    Without a prompt, all turns, and None: a person accepted the changes.
    """
    if "prompt" not in state:
        return state["turns"], None
    prompt = state["prompt"]
    asked = (conflict.known_id for conflict in state.get("likely_conflicts", ()))
    return prompt.shown(state["turns"]), None if prompt.fact_ids is None else frozenset((*prompt.fact_ids, *asked))
