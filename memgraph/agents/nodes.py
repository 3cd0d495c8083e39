"""inject_memory and capture_memory: nodes that add memory to your own StateGraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import MessagesState
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from memgraph.agents.capture import ConversationCapture
from memgraph.agents.identity import IdentityResolver
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS, MemoryInjector
from memgraph.agents.messages import has_reply
from memgraph.agents.resources import AgentResources, ResourceHolder
from memgraph.config import load_settings
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


class _MemoryNode(ResourceHolder):
    """A node that knows the identity of a run."""

    def __init__(self, resources: AgentResources, settings: Settings, agent_name: str | None) -> None:
        self._resources = resources
        self._identities = IdentityResolver(settings, agent_name=agent_name)


class InjectNode(_MemoryNode):
    """The node that `inject_memory` makes."""

    __name__ = "inject_memory"
    """Its name in a graph."""

    def __init__(
        self, resources: AgentResources, settings: Settings, agent_name: str | None, injector: MemoryInjector
    ) -> None:
        super().__init__(resources, settings, agent_name)
        self._injector = injector

    def __call__(self, state: MemoryState, runtime: Runtime[Any]) -> MemoryContextUpdate:
        """Retrieve the memory of the run's user."""
        identity = self._identities.resolve_or_none(runtime)
        text = self._injector.render(identity.scope, state["messages"]) if identity and identity.inject else ""
        return {"memory_context": text}


class CaptureNode(_MemoryNode):
    """The node that `capture_memory` makes."""

    __name__ = "capture_memory"
    """Its name in a graph."""

    def __init__(
        self, resources: AgentResources, settings: Settings, agent_name: str | None, wait_seconds: float | None
    ) -> None:
        super().__init__(resources, settings, agent_name)
        invoker = resources.invoker
        self._capture = ConversationCapture(invoker, wait_seconds=wait_seconds) if invoker else None

    def __call__(self, state: MessagesState, runtime: Runtime[Any]) -> None:
        """Submit the conversation if it has a reply."""
        identity = self._identities.resolve_or_none(runtime)
        if self._capture and identity and has_reply(state["messages"]):
            self._capture.capture(identity, state["messages"])


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

    ```python
    from langgraph.graph import MessagesState, StateGraph

    from memgraph import MemoryState, inject_memory, with_memory
    from memgraph.testing import ScriptedModel

    model = ScriptedModel("Hello!")


    def call_model(state: MemoryState):
        return {"messages": [model.invoke(with_memory(state))]}


    builder = StateGraph(MessagesState)
    builder.add_node(inject_memory("sqlite:memory.db"))
    builder.add_node(call_model)
    ```

    It writes `memory_context`, which is not part of messages, results or checkpoints; only streams of values and
    updates contain it, as they contain all state. A node reads it by using `MemoryState` as its state type. A run that
    is resumed after an interrupt has lost it, unless it runs this node again.

    Args:
        storage: A storage or its URL; None is the storage of *settings*, by default files in the user's data folder.
        agent_name: The agent whose memory is used, unless the run names one.
        settings: The token budget and the ranking; None reads them as `load_settings` does.
        embeddings: The model of the ranker "hybrid".
        wait_seconds: Seconds to wait for memory; None waits without limit.

    Raises:
        ConfigError: If the storage cannot be opened.
    """
    effective = settings or load_settings()
    resources = AgentResources(storage, settings, capture=False)
    injector = MemoryInjector(resources.storage, effective, embeddings=embeddings, wait_seconds=wait_seconds)
    return InjectNode(resources, effective, agent_name, injector)


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

    ```python
    from langgraph.graph import MessagesState, StateGraph

    from memgraph import capture_memory

    builder = StateGraph(MessagesState)
    builder.add_node(capture_memory("sqlite:memory.db"))
    ```

    It submits the messages and does not wait for the update. To learn before the graph ends, add the update itself
    as a subgraph: `builder.add_node("memory_update", build_graph(...))`.

    Args:
        storage: A storage or its URL; None is the storage of *settings*, by default files in the user's data folder.
        invoker: Receives the conversations; None is a BackgroundInvoker of that storage.
        model: The chat model that learns if *invoker* is None; None is the `model_name` of *settings*, else that of the
            first usable provider, see `memgraph config`.
        agent_name: The agent whose memory is updated, unless the run names one.
        settings: What is learned, and when; None reads them as `load_settings` does.
        wait_seconds: Seconds to wait for submitting; None waits without limit.

    Raises:
        ConfigError: For the same reasons as `MemoryMiddleware`.
    """
    resources = AgentResources(storage, settings, capture=True, invoker=invoker, model=model)
    return CaptureNode(resources, settings or load_settings(), agent_name, wait_seconds)
