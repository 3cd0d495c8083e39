"""load_memory: the document as it is stored, and which turns are new to it."""

from __future__ import annotations

from typing import NotRequired

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.models import Memory, MemoryUpdate
from memgraph.report import Report, Usage
from memgraph.rules.watermark import count_unlearned
from memgraph.state import ConflictCount, Filtered, LoadOutput


class LoadInput(Filtered, ConflictCount):
    """What load_memory reads; the last three are of this run only where it lost a race."""

    memory: NotRequired[Memory]
    changes: NotRequired[MemoryUpdate]
    usage: NotRequired[Usage]
    report: NotRequired[Report]


def load_memory(state: LoadInput, runtime: Runtime[RunContext]) -> LoadOutput:
    """Read the document. A run that has nothing to learn from it ends here, before any model is paid."""
    origin = state["origin"]
    raced = state.get("conflicts", 0) > 0
    storage = runtime.context.require_storage(origin.storage)
    memory = storage.reload(origin.scope) if raced else storage.load(origin.scope)
    left = count_unlearned(state["turns"], memory.threads.get(origin.thread))
    loaded: LoadOutput = {"memory": memory, "pending_turns": left}
    if raced:
        return _handle_conflict(state, loaded)
    if not left:
        loaded["outcome"] = "nothing_new"
    return loaded


def _handle_conflict(state: LoadInput, loaded: LoadOutput) -> LoadOutput:
    """Say whether the changes in hand still fit.

    Where this thread's mark has moved, others learned these turns: all of them, or as
    far as the mark knows them. Then the rest is asked for anew.
    """
    thread = state["origin"].thread
    before, now = state.get("memory", Memory()), loaded["memory"]
    left = loaded["pending_turns"]
    if before.threads.get(thread) == now.threads.get(thread):
        changes = state.get("changes")
        loaded["reusable"] = changes is not None and all(
            now.section(rewrite.section).summary == rewrite.base for rewrite in changes.rewrites
        )
    elif left in (0, len(state["turns"])):
        loaded["outcome"] = "superseded"
        loaded["report"] = state.get("report", Report()) + Report(usage=state.get("usage", Usage()))
    else:
        loaded["reusable"] = False
    return loaded
