"""save_memory: what was learned is stored, or it is said why not."""

from __future__ import annotations

import random
import time

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import ForgottenError, RevisionConflictError
from memgraph.models import Memory, MemoryUpdate, Refusal
from memgraph.nodes.progress import emit_progress
from memgraph.policy import Policy
from memgraph.report import Outcome, RemovedFact, Report, Usage, diff
from memgraph.rules.watermark import count_unlearned, with_watermark
from memgraph.state import ConflictCount, Filtered, Loaded, Saved
from memgraph.storage import MemoryStorage

_JITTER_SECONDS = 0.01


class SaveInput(Filtered, Loaded, ConflictCount):
    """What save_memory reads."""

    changes: MemoryUpdate
    removed: tuple[RemovedFact, ...]
    refused: tuple[Refusal, ...]
    scrubbed: Memory
    uploads: tuple[Refusal, ...]
    usage: Usage
    report: Report


def save_memory(state: SaveInput, runtime: Runtime[RunContext]) -> Saved:
    """Store the memory unless somebody else saved, or deleted, it first; then go round again, or end.

    Raises:
        WrongStorageError: If the storage in hand is not the one that was loaded from.
        RevisionConflictError: If more saves in a row were lost than policy allows.
    """
    origin = state["origin"]
    policy = runtime.context.policy
    storage = runtime.context.require_storage(origin.storage)
    try:
        saved = storage.save(origin.scope, state["scrubbed"])
    except (RevisionConflictError, ForgottenError):
        stored = storage.reload(origin.scope)
        if stored.forgotten and stored.forgotten.revision > state["scrubbed"].revision:
            _mark_as_learned(storage, state, policy)
            spent = Report(usage=state["usage"])
            return {"outcome": "forgotten", "report": state["report"] + spent}
        return _retry_after_conflict(state, policy)
    report = state["report"] + _report(state, saved)
    left = count_unlearned(state["turns"], saved.threads.get(origin.thread))
    emit_progress(runtime, "save_memory", facts=len(saved.facts), left=left)
    result: Saved = {"saved": saved, "memory": saved, "pending_turns": left, "report": report, "conflicts": 0}
    if not left:
        result["outcome"] = _outcome(report)
    return result


def _outcome(report: Report) -> Outcome:
    if report.changed:
        return "learned"
    return "rejected" if report.rejected else "nothing_new"


def _retry_after_conflict(state: SaveInput, policy: Policy) -> Saved:
    races = state.get("conflicts", 0) + 1
    if races > policy.max_races:
        raise RevisionConflictError(state["origin"].scope, state["scrubbed"].revision)
    time.sleep(random.uniform(0, _JITTER_SECONDS) * min(races, 10))  # noqa: S311 - jitter is no secret
    return {"conflicts": races}


def _mark_as_learned(storage: MemoryStorage, state: SaveInput, policy: Policy) -> None:
    """Move the mark past all that was said before the deletion, so that it is never learned again."""
    origin = state["origin"]
    message_ids = tuple(turn.id for turn in state["turns"])
    for _ in range(policy.max_races):
        memory = storage.reload(origin.scope)
        try:
            storage.save(origin.scope, with_watermark(memory, origin.thread, message_ids, state["changes"].at, policy))
        except RevisionConflictError:
            continue
        return


def _report(state: SaveInput, saved: Memory) -> Report:
    changed = diff(state["memory"], saved, because=state["removed"])
    refused = dict.fromkeys(state["refused"] + state["uploads"])  # what a review showed as refused is refused again
    return changed.model_copy(update={"refused": tuple(refused), "usage": state["usage"]})
