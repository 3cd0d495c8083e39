"""The memory update as a graph. Only this file defines the order of the nodes.

    filter_messages -> detect_signals -> load_memory -> build_prompt -> call_model
        -> parse_update -> apply_update -> scrub_uploads [-> review_changes] -> save_memory

The other routes:

    filter_messages -> END            there is no user turn
    load_memory     -> END            all turns were learned before
    load_memory     -> apply_update   after a save conflict, if the change set still applies
    parse_update    -> call_model     the answer is unreadable, or what it adds is checked; each once
    scrub_uploads   -> save_memory    neither the graph nor the run asks for a review
    review_changes  -> apply_update   a part waits for a person, or the reviewer changed it
    save_memory     -> load_memory    the save lost a race against another writer
    save_memory     -> build_prompt   turns are left for another pass
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, get_args, get_type_hints

from langgraph.graph import START, StateGraph
from pydantic import BaseModel

from memgraph._validation import check_arguments
from memgraph.config import load_settings, make_context
from memgraph.context import Context, ContextResolver, SubmittedContext
from memgraph.langgraph_adapter import MemoryGraph, sync_async_node
from memgraph.policy import Policy, Review, ReviewBy
from memgraph.profile import check_profile
from memgraph.state import (
    CallModelInput,
    Conversation,
    FilterOutput,
    LoadOutput,
    Owned,
    Parsed,
    Result,
    Reviewed,
    Saved,
    Stages,
    State,
)
from memgraph.update.build_prompt import build_prompt
from memgraph.update.call_model import call_model, call_model_async
from memgraph.update.errors import ErrorHandlers
from memgraph.update.nodes import (
    apply_update,
    detect_signals,
    filter_messages,
    load_memory,
    review_changes,
    save_memory,
    scrub_uploads,
)
from memgraph.update.parse_update import parse_update

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.checkpoint.memory import InMemorySaver

    from memgraph.storage import MemoryStorage

NAME = "memory_update"


class UpdateGraph(MemoryGraph[State, Context, Conversation, Any]):
    """The compiled memory update. As a node of another graph it returns nothing, since an agent has keys of its own."""

    writes_to_parent = False

    resolver: ContextResolver | None = None

    @property
    def storage(self) -> MemoryStorage | None:
        """The storage of a run that names no other; None if the graph was not made by `build_graph`."""
        return self.resolver.storage if self.resolver else None

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        copied = super().copy(update)
        copied.resolver = self.resolver
        return copied


class OutputUpdateGraph(UpdateGraph):
    """A memory update whose output was asked for: as a node of another graph it returns it too."""

    writes_to_parent = True


@check_arguments
def build_graph(
    *,
    model: str | BaseChatModel | None = None,
    storage: str | MemoryStorage | None = None,
    policy: Policy | None = None,
    review: Review | None = None,
    review_by: ReviewBy | None = None,
    schema: type[BaseModel] | None = None,
    defaults: Context | None = None,
    output: Literal["result", "stages"] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    interrupt_before: Sequence[str] | None = None,
) -> UpdateGraph:
    """Compile the memory update.

    ```python
    from langchain_core.messages import HumanMessage

    from memgraph import Context, build_graph

    graph = build_graph(model="offline", storage="sqlite:memory.db")
    messages = [HumanMessage("I live in Lisbon.", id="m1")]
    graph.invoke({"messages": messages}, context=Context(user_id="ada", thread_id="t1"))
    ```

    Args:
        model: Chat model, or its name such as `openai:gpt-4.1-mini`; default: that of *defaults*.
        storage: Storage, or its URL such as `sqlite:FILE`; default: that of *defaults*.
        policy: Limits of an update; default: those of *defaults*.
        review: When a person must approve the changes before they are saved: `never` (the default), `corrections`
            (if a correction is added, or a fact is removed or replaced) or `always`. What needs it waits in the
            document, see `MemoryClient.pending`; the rest is saved.
        review_by: `interrupt` interrupts the run instead, with a `memgraph.review.ReviewRequest` as JSON. It is resumed
            by `Command(resume=...)` with the decision. This needs a checkpointer, of this graph or of its parent;
            without one the run ends there and saves nothing.
        schema: A pydantic model as a profile, which updates fill; default: that of the policy.
        defaults: Values for every field that the context of a run leaves out. None is `make_context(load_settings())`:
            memgraph.yaml and the environment, as the command line reads them. `Context()` reads neither.
            *model*, *storage*, *policy*, *review* and *review_by* replace the fields of these names.
        output: What the graph returns: `result` is `saved`, `outcome` and `report`; `stages` is every stage of the
            update, for LangGraph Server and Studio. None is `result`, but nothing if the graph is a node of another
            one, so that no key of its parent changes.
        checkpointer: Stores every stage, so that a run can be interrupted, edited and resumed.
        interrupt_before: Names of nodes to stop before; needs a checkpointer.

    Returns:
        A graph from `{"messages": [...]}` to `saved`, `outcome` and `report`. Each run names its user by
        `context=Context(user_id=...)`; the other fields of that context override what is given here.

    Raises:
        ConfigError: If the model, the storage or the review is not a valid value.
        ValueError: If *schema* has no fields, too many, or some that cannot be filled from JSON.
        IdentityError: From a run without a user, or with an id that is not allowed.
        ModelError: From a run whose model did not answer, or not with a memory update.
        StorageError: From a run whose memory cannot be read or saved; what was stored is intact.
    """
    if defaults is None:
        defaults = make_context(load_settings(), model=model, storage=storage)
    if schema is not None:
        base = policy or defaults.policy or Policy()
        policy = base.model_copy(update={"profile": check_profile(schema)})
    given = Context(model=model, storage=storage, policy=policy, review=review, review_by=review_by)
    merged = defaults.merge(given)
    resolver = ContextResolver(merged)
    graph = _assemble(resolver, Stages if output == "stages" else Result)
    compiled = graph.compile(name=NAME, checkpointer=checkpointer, interrupt_before=list(interrupt_before or []))
    update = (UpdateGraph if output is None else OutputUpdateGraph).from_compiled(compiled)
    update.resolver = resolver
    return update


def _assemble(resolver: ContextResolver, output: type[Any]) -> StateGraph[State, Context, Conversation, Any]:
    """Add nodes and routes."""
    bound = resolver.bind
    graph: StateGraph[State, Context, Conversation, Any] = StateGraph(
        State, context_schema=SubmittedContext, input_schema=Conversation, output_schema=output
    )

    graph.add_node("filter_messages", bound(filter_messages))
    graph.add_node("detect_signals", bound(detect_signals))
    graph.add_node("load_memory", bound(load_memory))
    graph.add_node("build_prompt", bound(build_prompt))
    add_common_nodes(graph, resolver, "parse_update", bound(parse_update))

    graph.add_edge(START, "filter_messages")
    graph.add_conditional_edges("filter_messages", after_filter)
    graph.add_edge("detect_signals", "load_memory")
    graph.add_conditional_edges("load_memory", after_load)
    graph.add_edge("build_prompt", "call_model")
    graph.add_conditional_edges("parse_update", after_parse)
    graph.add_conditional_edges("save_memory", after_save)
    return graph


def add_common_nodes(
    graph: StateGraph[Any, Context, Any, Any], resolver: ContextResolver, parser: str, parse: Callable[..., Any]
) -> None:
    """Add what updates and upkeeps have in common: from the call of the model to the save.

    The graph adds the edges to `call_model`, and those from *parser*, the name of the node *parse*, and `save_memory`.
    """
    bound = resolver.bind
    handlers = ErrorHandlers(resolver)
    graph.set_node_defaults(error_handler=handlers.fail_open)  # pyright: ignore[reportArgumentType] - NodeError is injected
    graph.add_node(
        "call_model", sync_async_node(bound(call_model), bound(call_model_async)), input_schema=CallModelInput
    )
    graph.add_node(parser, parse)
    graph.add_node("apply_update", bound(apply_update))
    graph.add_node("scrub_uploads", scrub_uploads)
    graph.add_node("review_changes", bound(review_changes))
    graph.add_node("save_memory", bound(save_memory))

    graph.add_edge("call_model", parser)
    graph.add_edge("apply_update", "scrub_uploads")
    if resolver.review == "never":
        graph.add_conditional_edges("scrub_uploads", after_scrub)
    else:
        graph.add_edge("scrub_uploads", "review_changes")
    graph.add_conditional_edges("review_changes", after_review)


# A thread keeps the values of its last run: a route may only read what its own node wrote in this step, and the origin,
# which every run writes first.


def after_filter(state: FilterOutput) -> Literal["detect_signals", "__end__"]:
    """End if there is no user turn."""
    return "__end__" if "outcome" in state else "detect_signals"


def after_load(state: LoadOutput) -> Literal["build_prompt", "apply_update", "__end__"]:
    """End if there is nothing to learn; skip the model if the change set still applies."""
    if "outcome" in state:
        return "__end__"
    return "apply_update" if state.get("reusable") else "build_prompt"


def after_parse(state: Parsed) -> Literal["call_model", "apply_update"]:
    """Call the model again after an unreadable answer, and to check what was added."""
    return "call_model" if "problem" in state or "check_is_due" in state else "apply_update"


def after_scrub(state: Owned) -> Literal["review_changes", "save_memory"]:
    """Skip the review unless the run was started with one."""
    return "save_memory" if state["origin"].review == "never" else "review_changes"


def after_review(state: Reviewed) -> Literal["apply_update", "save_memory"]:
    """Apply the changes again if a part of them waits, or the reviewer changed them."""
    return "apply_update" if state.get("altered") else "save_memory"


def after_save(state: Saved) -> Literal["load_memory", "build_prompt", "__end__"]:
    """End, or learn from the remaining turns, or load again after a save conflict."""
    if "outcome" in state:
        return "__end__"
    return "build_prompt" if "saved" in state else "load_memory"


def in_memory_saver() -> InMemorySaver:
    """Return an in-process checkpointer that may load the types of the state: LangGraph's default one warns of each."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    types = sorted({(kind.__module__, kind.__name__) for kind in _model_types()})
    return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=types))


def _model_types() -> Iterator[type[BaseModel]]:
    for hint in get_type_hints(State).values():
        for kind in (hint, *get_args(hint)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield kind
