"""inject_memory and capture_memory: nodes that add memory to your own StateGraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Protocol, cast

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import MessagesState
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from memgraph.agents.capture import ConversationCapture, make_invoker
from memgraph.agents.identity import IdentityResolver
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS, MemoryInjector, resolve_storage
from memgraph.agents.messages import has_reply
from memgraph.context import get_field
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from memgraph.background.invoker import Invoker
    from memgraph.storage import MemoryStorage


class MemoryContextUpdate(TypedDict, total=False):
    """What inject_memory returns."""

    memory_context: Annotated[str, UntrackedValue]
    """The user's memory as a prompt shows it. It lasts for one run and is not in checkpoints."""


class MemoryState(MessagesState):
    """The messages and the memory. Use it as the state type of the node that calls the model."""

    memory_context: NotRequired[Annotated[str, UntrackedValue]]


class InjectNode(Protocol):
    """The type of the node inject_memory."""

    def __call__(self, state: MemoryState, runtime: Runtime[Any]) -> MemoryContextUpdate: ...


class CaptureNode(Protocol):
    """The type of the node capture_memory."""

    def __call__(self, state: MessagesState, runtime: Runtime[Any]) -> None: ...


def with_memory(state: MemoryState | object, system: str = "") -> list[AnyMessage]:
    """Return the messages of *state* after a system message that contains *system* and then the memory.

    Args:
        state: A state with `messages` and `memory_context`: a dict, a dataclass or a pydantic model.
        system: Instructions for the model.
    """
    parts = [part for part in (system, get_field(state, "memory_context")) if part]
    head: list[AnyMessage] = [SystemMessage("\n\n".join(map(str, parts)))] if parts else []
    return [*head, *cast("list[AnyMessage]", get_field(state, "messages") or [])]


def inject_memory(
    storage: str | MemoryStorage | None = None,
    *,
    agent_name: str | None = None,
    settings: Settings | None = None,
    embeddings: Embeddings | None = None,
    wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
) -> InjectNode:
    """Make the node that retrieves the user's memory; add it before the node that calls the model.

        def call_model(state: MemoryState):
            return {"messages": [model.invoke(with_memory(state))]}

        builder = StateGraph(MessagesState)
        builder.add_node(inject_memory("sqlite:memory.db"))
        builder.add_node(call_model)

    It writes `memory_context`, which is not part of messages, results or checkpoints; only streams of values and
    updates contain it, as they contain all state. A node reads it by using `MemoryState` as its state type. A run that
    is resumed after an interrupt has lost it, unless it runs this node again.

    Args:
        storage: A storage or its URL; None is the storage of *settings*, by default files in the user's data folder.
        agent_name: The agent whose memory is used, unless the run names one.
        settings: The token budget and the ranking; None is the defaults.
        embeddings: The model of the ranker "hybrid".
        wait_seconds: Seconds to wait for memory; None waits without limit.

    Raises:
        ConfigError: If the storage cannot be opened.
    """
    effective = settings or Settings()
    identities = IdentityResolver(effective, agent_name=agent_name)
    injector = MemoryInjector(
        resolve_storage(storage, effective), effective, embeddings=embeddings, wait_seconds=wait_seconds
    )

    def inject_memory(state: MemoryState, runtime: Runtime[Any]) -> MemoryContextUpdate:
        identity = identities.resolve_or_none(runtime)
        text = injector.render(identity.scope, state["messages"]) if identity and identity.inject else ""
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
    """Make the node that submits the conversation to be learned from; add it after the node that calls the model.

        builder.add_node(capture_memory("sqlite:memory.db"))

    It submits the messages and does not wait for the update. To learn before the graph ends, add the update itself
    as a subgraph: `builder.add_node("memory_update", build_graph(...))`.

    Args:
        storage: A storage or its URL; None is the storage of *settings*, by default files in the user's data folder.
        invoker: Receives the conversations; None is a BackgroundInvoker of that storage.
        model: The chat model that learns if *invoker* is None; see `MemoryMiddleware`.
        agent_name: The agent whose memory is updated, unless the run names one.
        settings: What is learned, and when; None is the defaults.
        wait_seconds: Seconds to wait for submitting; None waits without limit.

    Raises:
        ConfigError: For the same reasons as `MemoryMiddleware`.
    """
    effective = settings or Settings()
    identities = IdentityResolver(effective, agent_name=agent_name)
    used = make_invoker(model, resolve_storage(storage, effective), settings, invoker)
    conversations = ConversationCapture(used, wait_seconds=wait_seconds)

    def capture_memory(state: MessagesState, runtime: Runtime[Any]) -> None:
        identity = identities.resolve_or_none(runtime)
        if identity and identity.thread_id and has_reply(state["messages"]):
            conversations.capture(identity, state["messages"])

    return capture_memory
