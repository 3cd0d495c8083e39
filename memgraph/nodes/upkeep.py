"""The nodes of the upkeep alone: load the document, find what to ask about, render the prompt, parse the answer."""

from __future__ import annotations

from datetime import UTC, datetime

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.context.runtime import resolve_origin
from memgraph.errors import UnreadableAnswerError
from memgraph.langgraph_adapter import emit_progress
from memgraph.models import Fact, MemoryDocument, MemoryUpdate, timestamp
from memgraph.nodes.parse_update import MAX_ATTEMPTS
from memgraph.prompts.parse import UnreadableError
from memgraph.prompts.upkeep_prompt import parse_upkeep_answer, upkeep_prompt
from memgraph.report import Report, Usage
from memgraph.review.decision import item_digests
from memgraph.rules.apply import apply
from memgraph.rules.upkeep_candidates import find_candidates as candidates_of
from memgraph.state import (
    CandidatesFound,
    FindCandidatesInput,
    LoadUpkeepInput,
    UpkeepLoaded,
    UpkeepParsed,
    UpkeepParseInput,
    UpkeepPrompted,
    UpkeepPromptInput,
)
from memgraph.text.dates import local_day


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
    applied = apply(changes, memory, context.policy)
    if applied.removed or len(applied.memory.as_said) < len(memory.as_said):
        return {"candidates": (), "changes": changes, "change_digests": ()}
    return {"candidates": (), "outcome": "nothing_new"}


def build_upkeep_prompt(state: UpkeepPromptInput, runtime: Runtime[RunContext]) -> UpkeepPrompted:
    """Render the prompt that asks about the candidates."""
    context = runtime.context
    prompt = upkeep_prompt(
        state["memory"],
        state["candidates"],
        policy=context.policy,
        now=datetime.now(UTC),
        timezone=context.timezone,
    )
    return {"prompt": prompt}


def parse_upkeep(state: UpkeepParseInput, runtime: Runtime[RunContext]) -> UpkeepParsed:
    """Parse the answer. After the first unreadable answer the model is asked again; the second ends the run.

    Raises:
        UnreadableAnswerError: If the second answer is unreadable too.
    """
    at, thread = timestamp(datetime.now(UTC)), state["origin"].thread
    try:
        changes = parse_upkeep_answer(
            state["response"],
            state["memory"],
            state["candidates"],
            at=at,
            thread=thread,
            policy=runtime.context.policy,
        )
    except UnreadableError as error:
        if state["attempt"] >= MAX_ATTEMPTS:
            raise UnreadableAnswerError(str(error)) from error
        return {"problem": str(error)}
    return {"changes": changes, "change_digests": item_digests(changes)}
