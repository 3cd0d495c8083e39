"""load_memory: load the document, and count the turns that it has not learned from."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.models import Memory
from memgraph.report import Report, Usage
from memgraph.rules.watermark import count_unlearned
from memgraph.state import LoadInput, LoadOutput


def load_memory(state: LoadInput, runtime: Runtime[RunContext]) -> LoadOutput:
    """Load the document. A run without new turns ends here, before the model is called."""
    origin = state["origin"]
    has_conflict = state.get("conflicts", 0) > 0
    storage = runtime.context.require_storage(origin.storage)
    memory = storage.reload(origin.scope) if has_conflict else storage.load(origin.scope)
    pending = count_unlearned(state["turns"], memory.threads.get(origin.thread))
    output: LoadOutput = {"memory": memory, "pending_turns": pending}
    if has_conflict:
        return _handle_conflict(state, output)
    if not pending:
        output["outcome"] = "nothing_new"
    return output


def _handle_conflict(state: LoadInput, output: LoadOutput) -> LoadOutput:
    """Decide whether the change set still applies after a save conflict.

    If the thread's watermark has moved, another run learned these turns. If it learned all of them, or the
    watermark knows none of them any more, the run is superseded; otherwise the model is asked about the rest.
    """
    thread = state["origin"].thread
    before, now = state.get("memory", Memory()), output["memory"]
    if before.threads.get(thread) == now.threads.get(thread):
        changes = state.get("changes")
        # a rewrite is based on the summary that the model saw
        output["reusable"] = changes is not None and all(
            now.section(rewrite.section).summary == rewrite.base for rewrite in changes.rewrites
        )
    elif output["pending_turns"] in (0, len(state["turns"])):
        output["outcome"] = "superseded"
        output["report"] = state.get("report", Report()) + Report(usage=state.get("usage", Usage()))
    else:
        output["reusable"] = False
    return output
