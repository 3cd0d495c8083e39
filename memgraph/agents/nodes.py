"""inject_memory and capture_memory: the nodes that give a StateGraph of your own a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Protocol

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import MessagesState
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from memgraph.agents.capture import ConversationCapture, make_invoker
from memgraph.agents.identity import IdentityResolver
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS, MemoryInjector, resolve_storage
from memgraph.agents.messages import has_reply
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from memgraph.background.invoker import Invoker
    from memgraph.storage import MemoryStorage


class MemoryContextUpdate(TypedDict, total=False):
    """What inject_memory returns."""

    memory_context: Annotated[str, UntrackedValue]
    """What is remembered, as a prompt is told it. It lives for one run: no checkpoint holds it."""


class MemoryState(MessagesState):
    """The messages, and what is remembered. A node that asks the model names it as its state's type."""

    memory_context: NotRequired[Annotated[str, UntrackedValue]]


class InjectNode(Protocol):
    """The node inject_memory, as LangGraph takes it."""

    def __call__(self, state: MemoryState, runtime: Runtime[Any]) -> MemoryContextUpdate: ...


class CaptureNode(Protocol):
    """The node capture_memory, as LangGraph takes it."""

    def __call__(self, state: MessagesState, runtime: Runtime[Any]) -> None: ...


def with_memory(state: MemoryState, system: str = "") -> list[AnyMessage]:
    """Return the messages of *state* below a system message: *system*, and at its end what is remembered."""
    parts = [part for part in (system, state.get("memory_context", "")) if part]
    head: list[AnyMessage] = [SystemMessage("\n\n".join(parts))] if parts else []
    return [*head, *state["messages"]]


def inject_memory(
    storage: str | MemoryStorage | None = None,
    *,
    agent_name: str | None = None,
    settings: Settings | None = None,
    embeddings: Embeddings | None = None,
    wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
) -> InjectNode:
    """Make the node that looks up what is remembered of the user; it belongs before the one that asks the model.

        def call_model(state: MemoryState):
            return {"messages": [model.invoke(with_memory(state))]}

        builder = StateGraph(MessagesState)
        builder.add_node(inject_memory("sqlite:memory.db"))
        builder.add_node(call_model)

    It writes `memory_context`, which is in no message, no result and no checkpoint; only streams of values and updates
    show it, as they show all state. Whoever wants to read it names `MemoryState` as its state. A run that is resumed
    after an interrupt does not have it any more, unless it passes this node again.

    Args:
        storage: Where memories are, or its URL; None is where *settings* say, else files in the user's data folder.
        agent_name: Whose memory of the user it is, where the run does not say.
        settings: How much is told; None is the defaults.
        embeddings: The model of the ranker "hybrid".
        wait_seconds: How long the graph waits for its memory; None is for ever.

    Raises:
        ConfigError: If the storage cannot be opened.
    """
    given = settings or Settings()
    callers = IdentityResolver(given, agent_name=agent_name)
    recollection = MemoryInjector(
        resolve_storage(storage, given), given, embeddings=embeddings, wait_seconds=wait_seconds
    )

    def inject_memory(state: MemoryState, runtime: Runtime[Any]) -> MemoryContextUpdate:
        caller = callers.resolve_or_none(runtime)
        text = recollection.render(caller.scope, state["messages"]) if caller and caller.inject else ""
        return {"memory_context": text}

    return inject_memory


def capture_memory(
    storage: str | MemoryStorage | None = None,
    *,
    invoker: Invoker | None = None,
    model: str | BaseChatModel | None = None,
    agent_name: str | None = None,
    settings: Settings | None = None,
    wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
) -> CaptureNode:
    """Make the node that has the conversation learned from; it belongs after the one that asks the model.

        builder.add_node(capture_memory("sqlite:memory.db"))

    It hands over what the user said and the model answered, and waits for no update. To learn before the graph
    ends, put the update itself there, as a subgraph: `builder.add_node("memory_update", build_graph(...))`.

    Args:
        storage: Where memories are, or its URL; None is where *settings* say, else files in the user's data folder.
        invoker: Where conversations are handed to; None is a BackgroundInvoker of that storage.
        model: The chat model that learns, where no invoker is given; see `MemoryMiddleware`.
        agent_name: Whose memory of the user it is, where the run does not say.
        settings: How much is learned, and when; None is the defaults.
        wait_seconds: How long the graph waits for handing over; None is for ever.

    Raises:
        ConfigError: As `MemoryMiddleware`.
    """
    given = settings or Settings()
    callers = IdentityResolver(given, agent_name=agent_name)
    used = make_invoker(model, resolve_storage(storage, given), settings, invoker)
    learner = ConversationCapture(used, wait_seconds=wait_seconds)

    def capture_memory(state: MessagesState, runtime: Runtime[Any]) -> None:
        caller = callers.resolve_or_none(runtime)
        if caller and caller.thread_id and has_reply(state["messages"]):
            learner.capture(caller, state["messages"])

    return capture_memory
