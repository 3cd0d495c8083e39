"""save_memory: keep the episodes, save the memory, and report what changed."""

from __future__ import annotations

from collections.abc import Hashable

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import ForgottenError, RevisionConflictError
from memgraph.langgraph_adapter import emit_progress
from memgraph.models import ChangeOrigin, MemoryDocument, Turn
from memgraph.policy import Policy
from memgraph.report import Report, report_changes
from memgraph.rules.watermark import progress_of, unlearned_turns, with_watermark, without_progress
from memgraph.state import Origin, Saved, SaveInput
from memgraph.storage import MemoryStorage
from memgraph.storage.document import log_kept_words
from memgraph.storage.revisions import recorded_as
from memgraph.text.episodes import episodes_of


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
