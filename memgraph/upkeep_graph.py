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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langgraph.graph import START, StateGraph

from memgraph.config import load_settings, make_context
from memgraph.context import Context, ContextResolver, SubmittedContext
from memgraph.graph import add_common_nodes
from memgraph.langgraph_adapter import MemoryGraph
from memgraph.nodes.upkeep import build_upkeep_prompt, find_candidates, load_upkeep, parse_upkeep
from memgraph.policy import Review
from memgraph.state import (
    CandidatesFound,
    Result,
    Saved,
    UpkeepLoaded,
    UpkeepParsed,
    UpkeepRequest,
    UpkeepStages,
    UpkeepState,
)
from memgraph.storage.memory import InMemoryStorage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from memgraph.models import MemoryDocument, Scope
    from memgraph.policy import Policy, ReviewBy
    from memgraph.report import Outcome, Report
    from memgraph.storage import MemoryStorage

NAME = "memory_upkeep"


class UpkeepGraph(MemoryGraph[UpkeepState, Context, UpkeepRequest, Any]):
    """The compiled upkeep of a memory. As a node of another graph it returns nothing, as the update does."""

    writes_to_parent = False


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
