"""The nodes of an update, in their order, but for the prompt, the call of the model and its answer."""

from __future__ import annotations

import logging
from collections.abc import Hashable
from datetime import UTC, datetime

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from memgraph.analysis.episodes import episodes_of
from memgraph.analysis.provenance import with_provenance
from memgraph.analysis.signals import detect
from memgraph.analysis.turns import turns_of
from memgraph.context import RunContext
from memgraph.context.runtime import resolve_origin
from memgraph.errors import EditError, ForgottenError, RevisionConflictError
from memgraph.langgraph_adapter import emit_progress
from memgraph.models import ChangeOrigin, MemoryDocument, MemoryUpdate, Turn
from memgraph.policy import Policy
from memgraph.report import Report, Usage, report_changes
from memgraph.retrieval.recalled import with_recalled
from memgraph.review import ReviewRequest, strictest
from memgraph.review.decision import Held, fingerprint, hold_items, item_digests, mark_edited
from memgraph.review.proposal import items_to_review, make_proposal
from memgraph.rules.apply import apply
from memgraph.rules.check import without_verdicts_on
from memgraph.rules.decide import accepted_sections
from memgraph.rules.evict import FULL
from memgraph.rules.scrub import scrub
from memgraph.rules.watermark import progress_of, unlearned_turns, with_watermark, without_progress
from memgraph.state import (
    Applied,
    ApplyInput,
    Conversation,
    Filtered,
    FilterOutput,
    LoadInput,
    LoadOutput,
    MessageCalls,
    Origin,
    Reviewed,
    ReviewInput,
    Saved,
    SaveInput,
    Scrubbed,
    ScrubInput,
    Signalled,
)
from memgraph.storage import MemoryStorage
from memgraph.storage.document import log_kept_words
from memgraph.storage.revisions import recorded_as

_log = logging.getLogger("memgraph.update")


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
    same turns are pending as before, the change set applies unless a summary that it rewrites has changed, but for what
    the check found about facts that have changed. Otherwise
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
    changed = frozenset(fact.id for fact in before.facts if now.fact(fact.id) != fact)
    if changes and output["reusable"] and (left := without_verdicts_on(changed, changes)) is not changes:
        output["changes"], output["change_digests"] = left, item_digests(left)
        if state.get("reviewed") == fingerprint(changes):
            output["reviewed"] = fingerprint(left)
    return output


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
    check = state.get("check")
    ids = None if prompt.fact_ids is None else frozenset((*prompt.fact_ids, *(check.known if check else ())))
    return prompt.shown(state["turns"]), ids


def review_changes(state: ReviewInput, runtime: Runtime[RunContext]) -> Reviewed:
    """Hold back what needs a review, or interrupt the run to ask about it if its context asks for that.

    A save conflict brings a reviewed change set back here; it is not reviewed twice.
    """
    changes = mark_edited(state["changes"], state.get("change_digests"))
    if state.get("reviewed") == fingerprint(changes):
        return {}
    origin, context, memory = state["origin"], runtime.context, state["memory"]
    proposed = make_proposal(changes, memory, context.policy, *shown(state), slots=context.slots)
    items = items_to_review(proposed, strictest(origin.review, context.review), memory.accepted_kinds)
    if not items:
        return {}
    held = hold_items(changes, proposed, items, memory)
    asks = origin.review_by == "interrupt" and held.waiting
    approved = _ask_reviewer(held, memory, origin) if asks else held.pending(memory)
    return {
        "changes": approved,
        "change_digests": item_digests(approved),
        "reviewed": fingerprint(approved),
        "altered": True,
    }


def _ask_reviewer(held: Held, memory: MemoryDocument, origin: Origin) -> MemoryUpdate:
    """Interrupt until the decision is valid, with the request as plain JSON, which every checkpointer can store.

    Every resume runs the node again from its start, and each `interrupt` then returns the answer that it got before.
    """
    request = ReviewRequest(
        user_id=origin.scope.user_id,
        agent_name=origin.scope.agent_name,
        thread_id=origin.thread_id,
        changes=held.waiting,
    )
    while True:
        answer = interrupt(request.model_dump(mode="json", by_alias=True))
        try:
            return held.decided(memory, answer)
        except EditError as error:
            request = request.model_copy(update={"problem": str(error)})


def scrub_uploads(state: ScrubInput) -> Scrubbed:
    """Remove what this update wrote about uploads, and nothing that was in the memory before."""
    changes = state["changes"]
    edited = (rewrite.section for rewrite in changes.rewrites if rewrite.edited_by_user)
    result = scrub(state["memory"], state["applied"], edited_by_user=[*edited, *accepted_sections(changes)])
    return {"scrubbed": result.memory, "uploads": result.refused}


def save_memory(state: SaveInput, runtime: Runtime[RunContext]) -> Saved:
    """Save the memory unless another writer saved or deleted it first; then retry, or end.

    Raises:
        WrongStorageError: If the storage is not the one that the memory was loaded from.
        RevisionConflictError: If more saves in a row were lost than the policy allows.
    """
    origin, policy = state["origin"], runtime.context.policy
    storage = runtime.context.require_storage(origin)
    thread = origin.thread
    try:
        episodes = episodes_of(_turns_to_keep(state, thread), thread=thread, policy=policy)
        if episodes:
            log_kept_words(origin.storage, policy.kept_words)
        with recorded_as(_change_origin(state, runtime), policy):
            saved = storage.save_with_episodes(origin.scope, state["scrubbed"], episodes, policy)
    except (RevisionConflictError, ForgottenError):
        stored = storage.reload(origin.scope)
        if stored.forgotten and stored.forgotten.revision > state["scrubbed"].revision:
            storage.turns.end(origin.scope, writer_of(origin, runtime))
            with recorded_as(_change_origin(state, runtime), policy):
                _mark_as_learned(storage, state, policy)
            return {"outcome": "forgotten", "report": state["report"] + Report(usage=state["usage"])}
        return _retry_after_conflict(storage, state, runtime)
    storage.turns.end(origin.scope, writer_of(origin, runtime))
    if (vectors := runtime.context.vectors) is not None:
        from memgraph.retrieval.index_cache import store_vectors  # imports NumPy, which only embeddings need

        known = {fact.id for fact in state["memory"].facts}
        added = [fact for fact in saved.facts if fact.id not in known]
        store_vectors(vectors.of_memory(storage.vectors(origin.scope)), added, episodes)
    pending = len(unlearned_turns(state["turns"], saved.threads.get(thread)))
    report = state["report"] + _report(state, saved)
    output: Saved = {"saved": saved, "memory": saved, "pending_turns": pending, "report": report, "conflicts": 0}
    if not pending:
        output["outcome"] = report.outcome
    graph = "memory_update" if state["changes"].asked is None else "memory_upkeep"
    emit_progress(runtime, "save_memory", graph, facts=len(saved.facts), left=pending)
    return output


def _change_origin(state: SaveInput, runtime: Runtime[RunContext]) -> ChangeOrigin:
    run = runtime.execution_info.run_id if runtime.execution_info else None
    by = "update" if state["turns"] else "upkeep"
    thread, decisions = state["origin"].thread_id or "", state["changes"].decisions
    return ChangeOrigin(by=by, thread=thread, run=run or "", decisions=decisions)


def _turns_to_keep(state: SaveInput, thread: str) -> list[Turn]:
    """Return the turns learned from. A long one was kept as a whole with its first part, so that it is read once."""
    learned = frozenset(map(without_progress, state["changes"].message_ids))
    before = state["memory"].threads.get(thread)
    return [turn for turn in state["turns"] if turn.id in learned and not progress_of(turn.id, before)]


def writer_of(origin: Origin, runtime: Runtime[RunContext]) -> Hashable:
    """Identify the run among those that take turns."""
    return origin.thread, runtime.execution_info.run_id if runtime.execution_info else None


def _retry_after_conflict(storage: MemoryStorage, state: SaveInput, runtime: Runtime[RunContext]) -> Saved:
    conflicts, origin = state.get("conflicts", 0) + 1, state["origin"]
    writer = writer_of(origin, runtime)
    if conflicts > runtime.context.policy.max_races:
        storage.turns.end(origin.scope, writer)
        raise RevisionConflictError(origin.scope, state["scrubbed"].revision)
    storage.turns.pause(origin.scope, writer, conflicts)
    return {"conflicts": conflicts}


def _mark_as_learned(storage: MemoryStorage, state: SaveInput, policy: Policy) -> None:
    """Move the watermark past all turns before the deletion, so that they are never learned again."""
    origin = state["origin"]
    message_ids = tuple(turn.id for turn in state["turns"])
    for _ in range(policy.max_races):
        memory = storage.reload(origin.scope)
        try:
            storage.save(origin.scope, with_watermark(memory, origin.thread, message_ids, state["changes"].at, policy))
        except RevisionConflictError:
            continue
        return


def _report(state: SaveInput, saved: MemoryDocument) -> Report:
    changed = report_changes(state["memory"], saved, reasons=state["removed"])
    refused = dict.fromkeys(state["refused"] + state["uploads"])
    return changed.model_copy(update={"refused": tuple(refused), "usage": state["usage"]})
