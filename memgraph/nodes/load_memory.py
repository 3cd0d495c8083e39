"""The nodes before the prompt: the turns and the owner, the signals, and the document with what they repeat of it."""

from __future__ import annotations

from datetime import UTC, datetime

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.context.runtime import resolve_origin
from memgraph.models import MemoryDocument, Turn
from memgraph.nodes.save_memory import writer_of
from memgraph.report import Report, Usage
from memgraph.retrieval.recalled import with_recalled
from memgraph.rules.decide import accepted_sections
from memgraph.rules.watermark import unlearned_turns
from memgraph.state import Conversation, Filtered, FilterOutput, LoadInput, LoadOutput, MessageCalls, Signalled
from memgraph.text.provenance import with_provenance
from memgraph.text.signals import detect
from memgraph.text.turns import turns_of


def filter_messages(state: Conversation, runtime: Runtime[RunContext]) -> FilterOutput:
    """Keep the turns of user and assistant, with the parts that are not their own words.

    Without own words of the user, or if memory is disabled, the run ends here.
    """
    context = runtime.context
    now = datetime.now(UTC)
    turns = turns_of(
        state["messages"] if context.enabled else [],
        acknowledgements=context.signals.acknowledgements,
        at=context.at if context.at and context.at <= now else now,
        user_names=context.user_names,
        now=now,
    )
    turns = tuple(map(with_provenance, turns))
    has_words = any(turn.is_users and turn.own_words for turn in turns)
    origin, calls = resolve_origin(context), MessageCalls()
    output: FilterOutput = {"turns": turns, "origin": origin, "report": Report(), "message_calls": calls}
    return output if has_words else {**output, "outcome": "nothing_new"}


def detect_signals(state: Filtered, runtime: Runtime[RunContext]) -> Signalled:
    """Detect signals in the last turns of the user."""
    return {"signals": last_signals(state["turns"], runtime.context)}


def last_signals(turns: tuple[Turn, ...], context: RunContext) -> tuple[str, ...]:
    """Return the names of the signals in the last of *turns*."""
    return detect(turns[-context.policy.signal_turns :], context.signals)


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
