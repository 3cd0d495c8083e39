"""load_memory: the document as it is stored, and which turns are new to it."""

from __future__ import annotations

from typing import NotRequired

from langgraph.runtime import Runtime

from memgraph.context import Resolved
from memgraph.models import Memory, MemoryUpdate
from memgraph.report import Report, Usage
from memgraph.rules.learned import remaining
from memgraph.state import Filtered, Raced, Reloaded


class Known(Filtered, Raced):
    """What load_memory reads; the last three are of this run only where it lost a race."""

    memory: NotRequired[Memory]
    changes: NotRequired[MemoryUpdate]
    usage: NotRequired[Usage]
    report: NotRequired[Report]


def load_memory(state: Known, runtime: Runtime[Resolved]) -> Reloaded:
    """Read the document. A run that has nothing to learn from it ends here, before any model is paid."""
    origin = state["origin"]
    raced = state.get("races", 0) > 0
    storage = runtime.context.storage_named(origin.storage)
    memory = storage.reload(origin.scope) if raced else storage.load(origin.scope)
    left = remaining(state["turns"], memory.threads.get(origin.thread))
    loaded: Reloaded = {"memory": memory, "unlearned": left}
    if raced:
        return _after_a_race(state, loaded)
    if not left:
        loaded["outcome"] = "nothing_new"
    return loaded


def _after_a_race(state: Known, loaded: Reloaded) -> Reloaded:
    """Say whether the changes in hand still fit.

    Where this thread's mark has moved, others learned these turns: all of them, or as
    far as the mark knows them. Then the rest is asked for anew.
    """
    thread = state["origin"].thread
    before, now = state.get("memory", Memory()), loaded["memory"]
    left = loaded["unlearned"]
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
