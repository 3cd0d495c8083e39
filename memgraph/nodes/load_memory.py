"""load_memory: load the document, count the turns that it has not learned from, and find what they repeat of it."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.models import MemoryDocument, Turn
from memgraph.nodes.filter_messages import last_signals
from memgraph.nodes.save_memory import writer_of
from memgraph.report import Report, Usage
from memgraph.retrieval.recalled import with_recalled
from memgraph.rules.decide import accepted_sections
from memgraph.rules.watermark import unlearned_turns
from memgraph.state import LoadInput, LoadOutput


def load_memory(state: LoadInput, runtime: Runtime[RunContext]) -> LoadOutput:
    """Load the document. A run without new turns ends here, before the model is called.

    Otherwise the model is created and the storage is checked now, so that no call is paid for that cannot be used.

    Raises:
        ModelSetupError: If the model cannot be created.
        StorageError: If the memory cannot be read, or could not be saved.
    """
    origin = state["origin"]
    has_conflict = state.get("conflicts", 0) > 0
    storage = runtime.context.require_storage(origin)
    memory = storage.reload(origin.scope) if has_conflict else storage.load(origin.scope)
    pending = unlearned_turns(state["turns"], memory.threads.get(origin.thread))
    output: LoadOutput = {"memory": memory, "pending_turns": len(pending)}
    if (turns := with_recalled(state["turns"], memory)) != state["turns"]:
        output["turns"] = turns
        # what comes from memory is no praise or preference that the user stated now
        output["signals"] = last_signals(turns, runtime.context)
    if has_conflict:
        output = _handle_conflict(state, output, pending)
        if not output.get("reusable"):  # the run ends, or asks the model, for which others do not wait
            storage.turns.end(origin.scope, writer_of(origin, runtime))
        return output
    if not pending:
        output["outcome"] = "nothing_new"
        return output
    runtime.context.open_model()
    storage.check_writable(origin.scope)
    return output


def _handle_conflict(state: LoadInput, output: LoadOutput, pending: tuple[Turn, ...]) -> LoadOutput:
    """Decide whether the change set still applies after a save conflict.

    If the stored watermark knows all turns of this run, another run has learned them: this one is superseded. If the
    same turns are pending as before, the change set applies unless a summary that it rewrites has changed. Otherwise
    the model is asked about what is pending now: another run learned a part of it, or an older copy of the memory was
    restored.
    """
    if not pending:
        output["outcome"] = "superseded"
        output["report"] = state.get("report", Report()) + Report(usage=state.get("usage", Usage()))
        return output
    before, now = state.get("memory", MemoryDocument()), output["memory"]
    changes = state.get("changes")
    output["reusable"] = (
        changes is not None
        and pending == unlearned_turns(state["turns"], before.threads.get(state["origin"].thread))
        # a rewrite is based on the summary that the model saw, also one that a reviewer accepted
        and all(now.section(rewrite.section).summary == rewrite.base for rewrite in changes.rewrites)
        and all(now.section(name).summary == before.section(name).summary for name in accepted_sections(changes))
    )
    return output
