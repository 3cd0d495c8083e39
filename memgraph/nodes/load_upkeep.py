"""load_upkeep: resolve the owner of the memory, and load the document."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.context.runtime import resolve_origin
from memgraph.models import Fact, MemoryDocument, MemoryUpdate
from memgraph.report import Report, Usage
from memgraph.state import LoadUpkeepInput, UpkeepLoaded


def load_upkeep(state: LoadUpkeepInput, runtime: Runtime[RunContext]) -> UpkeepLoaded:
    """Load the document. If memory is disabled, or there is none, the run ends here.

    After a save conflict, the changes are used again if the facts that they concern are as the model saw them.

    Raises:
        IdentityError: If the run names no user.
        StorageError: If the memory cannot be read.
    """
    context = runtime.context
    # a thread keeps the values of its last run: these are this run's only after a conflict
    before = state if state.get("conflicts", 0) > 0 else LoadUpkeepInput()
    origin = before.get("origin") or resolve_origin(context)
    storage = context.require_storage(origin)
    memory = storage.reload(origin.scope) if before else storage.load(origin.scope)
    output: UpkeepLoaded = {"turns": (), "origin": origin, "memory": memory, "pending_turns": 0, "report": Report()}
    if not context.enabled or memory.is_empty:
        output["outcome"] = "nothing_new"
    elif changes := before.get("changes"):
        output["reusable"] = _concerned(changes, before.get("memory", MemoryDocument())) == _concerned(changes, memory)
    if not before:
        output["usage"] = Usage()
    return output


def _concerned(changes: MemoryUpdate, memory: MemoryDocument) -> list[Fact]:
    """Return the facts that *changes* merge or remove, as *memory* has them."""
    merged = {fact_id for merge in changes.merges for fact_id in (merge.id, *merge.merged)}
    ids = merged.union(removal.id for removal in changes.removals)
    return [fact for fact in memory.facts if fact.id in ids]
