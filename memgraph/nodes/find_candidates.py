"""find_candidates: find what the upkeep asks the model about, and whether the rules alone change something."""

from __future__ import annotations

from datetime import UTC, datetime

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.langgraph_adapter import emit_progress
from memgraph.models import MemoryUpdate, timestamp
from memgraph.rules.apply import apply
from memgraph.rules.upkeep_candidates import find_candidates as candidates_of
from memgraph.state import CandidatesFound, FindCandidatesInput
from memgraph.text.dates import local_day


def find_candidates(state: FindCandidatesInput, runtime: Runtime[RunContext]) -> CandidatesFound:
    """Find the facts that a model should be asked about. Without any, no model is called.

    Then the rules are applied alone if they end facts that have expired, or that a memory over its limit evicts; else
    the run ends here, and nothing is saved. Otherwise the model is created and the storage is checked now, so that no
    call is paid for that cannot be used.

    Raises:
        ModelSetupError: If the model cannot be created.
        StorageError: If the memory could not be saved.
    """
    context, origin, memory = runtime.context, state["origin"], state["memory"]
    now = datetime.now(UTC)
    candidates = candidates_of(memory, context.policy, local_day(now, context.timezone) or now.date())
    counts = {"candidates": len(candidates), "facts": len(memory.facts)}
    emit_progress(runtime, "find_candidates", "memory_upkeep", **counts)
    if candidates:
        context.open_model()
        context.require_storage(origin).check_writable(origin.scope)
        return {"candidates": candidates}
    changes = MemoryUpdate(at=timestamp(now), thread=origin.thread, message_ids=(), asked=())
    if apply(changes, memory, context.policy).removed:
        return {"candidates": (), "changes": changes, "change_digests": ()}
    return {"candidates": (), "outcome": "nothing_new"}
