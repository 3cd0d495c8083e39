"""The upkeep of a memory as a graph. Only this file defines the order of the nodes.

    load_upkeep -> find_candidates -> build_upkeep_prompt -> call_model -> parse_upkeep
        -> apply_update -> scrub_uploads [-> review_changes] -> save_memory

The other routes:

    load_upkeep     -> END            there is no memory, or it is disabled
    load_upkeep     -> apply_update   after a save conflict, if the change set still applies
    find_candidates -> END            there is nothing to do: no model is called, and nothing is saved
    find_candidates -> apply_update   facts have expired, or are too many: the rules end them without a model
    parse_upkeep    -> call_model     the answer is unreadable; once
    scrub_uploads   -> save_memory    neither the graph nor the run asks for a review
    review_changes  -> apply_update   a part waits for a person, or the reviewer changed it
    save_memory     -> load_upkeep    the save lost a race against another writer
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import contextvars
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from memgraph._validation import check_arguments
from memgraph.analysis.dates import local_day
from memgraph.config import load_settings, make_context
from memgraph.context import Context, ContextResolver, RunContext, SubmittedContext
from memgraph.context.runtime import resolve_origin
from memgraph.errors import UnreadableAnswerError
from memgraph.langgraph_adapter import MemoryGraph, emit_progress
from memgraph.models import Fact, MemoryDocument, MemoryUpdate, timestamp
from memgraph.policy import Review
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
    Result,
    Saved,
    UpkeepLoaded,
    UpkeepParsed,
    UpkeepParseInput,
    UpkeepPrompted,
    UpkeepPromptInput,
    UpkeepRequest,
    UpkeepStages,
    UpkeepState,
)
from memgraph.storage.memory import InMemoryStorage
from memgraph.update.graph import add_common_nodes
from memgraph.update.parse_update import MAX_ATTEMPTS

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from memgraph.models import Scope
    from memgraph.policy import Policy, ReviewBy
    from memgraph.report import Outcome
    from memgraph.storage import MemoryStorage


NAME = "memory_upkeep"


class UpkeepGraph(MemoryGraph[UpkeepState, Context, UpkeepRequest, Any]):
    """The compiled upkeep of a memory. As a node of another graph it returns nothing, as the update does."""

    writes_to_parent = False


@check_arguments
def build_upkeep_graph(
    *,
    model: str | BaseChatModel | None = None,
    storage: str | MemoryStorage | None = None,
    policy: Policy | None = None,
    review: Review | None = None,
    review_by: ReviewBy | None = None,
    defaults: Context | None = None,
    output: Literal["result", "stages"] = "result",
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> UpkeepGraph:
    """Compile the upkeep of a memory: it merges what is known twice, and ends what no longer holds.

    ```python
    from memgraph import Context, build_upkeep_graph

    graph = build_upkeep_graph(model="offline", storage="sqlite:memory.db")
    graph.invoke({}, context=Context(user_id="ada"))
    ```

    Args:
        model: Chat model, or its name such as `openai:gpt-4.1-mini`; default: that of *defaults*.
        storage: Storage, or its URL such as `sqlite:FILE`; default: that of *defaults*.
        policy: Limits of the upkeep; default: those of *defaults*.
        review: When a person must approve the changes before they are saved, as in `build_graph`.
        review_by: How a person is asked, as in `build_graph`.
        defaults: Values for every field that the context of a run leaves out. None is `make_context(load_settings())`.
            *model*, *storage*, *policy*, *review* and *review_by* replace the fields of these names.
        output: What the graph returns: `result` is `saved`, `outcome` and `report`; `stages` is every stage, for
            LangGraph Server and Studio.
        checkpointer: Stores every stage, so that a run can be interrupted, edited and resumed.

    Returns:
        A graph from `{}` to `saved`, `outcome` and `report`. Each run names its user by
        `context=Context(user_id=...)`. If there is nothing to do, the outcome is `nothing_new`, no model is called,
        and nothing is saved.

    Raises:
        ConfigError: If the model, the storage or the review is not a valid value.
        IdentityError: From a run without a user, or with an id that is not allowed.
        ModelError: From a run whose model did not answer, or not with an upkeep.
        StorageError: From a run whose memory cannot be read or saved; what was stored is intact.
    """
    if defaults is None:
        defaults = make_context(load_settings(), model=model, storage=storage)
    given = Context(model=model, storage=storage, policy=policy, review=review, review_by=review_by)
    return make_upkeep_graph(
        ContextResolver(defaults.merge(given)), UpkeepStages if output == "stages" else Result, checkpointer
    )


class UpkeepResult(NamedTuple):
    """The result of an upkeep."""

    outcome: Outcome
    report: Report
    saved: MemoryDocument | None
    """The memory after the upkeep; None if nothing was saved."""


def run_upkeep(scope: Scope, storage: MemoryStorage, context: Context, *, dry_run: bool = False) -> UpkeepResult:
    """Run the upkeep of a memory, outside of any running graph.

    Args:
        scope: Whose memory.
        storage: The storage of the memory.
        context: The other values of the run, such as `make_context(settings)`. What needs a review is pending.
        dry_run: Find the changes, without a review, and save nothing.

    Raises:
        MemgraphError: As from the graph of `build_upkeep_graph`.
    """
    context = make_upkeep_context(scope, storage, context, dry_run=dry_run)
    graph = build_upkeep_graph()
    # in the context of a node, the run would get into the stream and the checkpoints of that graph
    final: dict[str, Any] = contextvars.Context().run(lambda: graph.invoke({}, context=context))
    return UpkeepResult(final["outcome"], final["report"], None if dry_run else final.get("saved"))


def make_upkeep_context(scope: Scope, storage: MemoryStorage, context: Context, *, dry_run: bool) -> Context:
    """Return the context of an upkeep of *scope*. That of a dry run has a copy of the memory in RAM, and no review."""
    identity = {"user_id": scope.user_id, "agent_name": scope.agent_name, "review_by": "pending"}
    if not dry_run:
        return context.model_copy(update={**identity, "storage": storage})
    copy, memory = InMemoryStorage(), storage.load(scope)
    if not memory.is_empty:
        copy.save(scope, memory.model_copy(update={"revision": 0, "forgotten": None}))
    return context.model_copy(update={**identity, "storage": copy, "review": "never"})


def make_upkeep_graph(
    resolver: ContextResolver, output: type[Any] = Result, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> UpkeepGraph:
    """Compile the upkeep with the model, storage and policy of *resolver*, such as that of the updates."""
    bound = resolver.bind
    graph: StateGraph[UpkeepState, Context, UpkeepRequest, Any] = StateGraph(
        UpkeepState, context_schema=SubmittedContext, input_schema=UpkeepRequest, output_schema=output
    )

    graph.add_node("load_upkeep", bound(load_upkeep))
    graph.add_node("find_candidates", bound(find_candidates))
    graph.add_node("build_upkeep_prompt", bound(build_upkeep_prompt))
    add_common_nodes(graph, resolver, "parse_upkeep", bound(parse_upkeep))

    graph.add_edge(START, "load_upkeep")
    graph.add_conditional_edges("load_upkeep", after_load)
    graph.add_conditional_edges("find_candidates", after_find)
    graph.add_edge("build_upkeep_prompt", "call_model")
    graph.add_conditional_edges("parse_upkeep", after_parse)
    graph.add_conditional_edges("save_memory", after_save)
    return UpkeepGraph.from_compiled(graph.compile(name=NAME, checkpointer=checkpointer))


def after_load(state: UpkeepLoaded) -> Literal["find_candidates", "apply_update", "__end__"]:
    """End without a memory; apply the change set again if it still applies after a save conflict."""
    if "outcome" in state:
        return "__end__"
    return "apply_update" if state.get("reusable") else "find_candidates"


def after_find(state: CandidatesFound) -> Literal["build_upkeep_prompt", "apply_update", "__end__"]:
    """End if there is nothing to do; skip the model if only the rules change something."""
    if "outcome" in state:
        return "__end__"
    return "build_upkeep_prompt" if state["candidates"] else "apply_update"


def after_parse(state: UpkeepParsed) -> Literal["call_model", "apply_update"]:
    """Call the model again after an unreadable answer."""
    return "call_model" if "problem" in state else "apply_update"


def after_save(state: Saved) -> Literal["load_upkeep", "__end__"]:
    """End, or load again after a save conflict."""
    return "__end__" if "outcome" in state else "load_upkeep"


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
