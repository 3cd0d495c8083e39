"""inject_memory and capture_memory: nodes that add memory to your own StateGraph; and an agent without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import MessagesState
from langgraph.runtime import Runtime

from memgraph._validation import check_arguments
from memgraph.agents.capture import ConversationCapture
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS, MemoryInjector
from memgraph.agents.messages import has_reply, last_user_index
from memgraph.agents.resources import AgentResources, ResourceHolder
from memgraph.analysis.normalize import unescape
from memgraph.analysis.words import language_of_texts
from memgraph.context import get_field
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from memgraph.background.invoker import Invoker
    from memgraph.storage import MemoryStorage


class MemoryState(MessagesState):
    """The messages and the memory. Use it as the state type of the node that calls the model."""

    memory_context: NotRequired[Annotated[str, UntrackedValue]]
    """The user's memory as a prompt shows it. It lasts for one run and is not in checkpoints."""


class InjectNode(ResourceHolder):
    """The node that `inject_memory` makes."""

    __name__ = "inject_memory"
    """Its name in a graph."""

    def __init__(self, resources: AgentResources, injector: MemoryInjector) -> None:
        self._resources = resources
        self._injector = injector

    def __call__(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, str]:
        """Retrieve the memory of the run's user."""
        identity = self._resources.identities.resolve_or_none(runtime)
        text = self._injector.inject(identity, state["messages"]).system if identity and identity.inject else ""
        return {"memory_context": text}


class CaptureNode(ResourceHolder):
    """The node that `capture_memory` makes."""

    __name__ = "capture_memory"
    """Its name in a graph."""

    def __init__(self, resources: AgentResources, wait_seconds: float | None) -> None:
        self._resources = resources
        invoker = resources.invoker
        self._capture = ConversationCapture(invoker, wait_seconds=wait_seconds) if invoker else None

    def __call__(self, state: MessagesState, runtime: Runtime[Any]) -> None:
        """Submit the conversation if it has a reply."""
        identity = self._resources.identities.resolve_or_none(runtime)
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


ANSWERS: Mapping[Literal["en", "zh"], tuple[str, str]] = {
    "en": (
        "No model is configured, so I can only list what I remember about you:",
        "No model is configured, and I remember nothing about you yet. Introduce yourself, then ask again.",
    ),
    "zh": ("没有配置模型，我只能告诉你我记得的事：", "没有配置模型，我还不记得你的任何事。先告诉我一些，再来问我。"),
}
"""The first line of an answer with memories, and the answer without any, by language."""


def answer_from_memory(state: MemoryState | object) -> AIMessage:
    """Answer with what inject_memory found.

    The state may be a dict, a dataclass or a pydantic model. The answer is named `memory_context`, so that memory
    does not learn from itself.
    """
    messages = cast("Sequence[BaseMessage]", get_field(state, "messages") or ())
    start = last_user_index(messages)
    heading, no_memory = ANSWERS[language_of_texts([messages[start].text] if start is not None else [])]
    context = str(get_field(state, "memory_context") or "").splitlines()
    lines = [unescape(line) for line in context if line.startswith("- ") or line.endswith(":")]
    return AIMessage("\n".join([heading, "", *lines]) if lines else no_memory, name="memory_context")


@check_arguments
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
    resources = AgentResources(storage, settings, agent_name, capture=False)
    injector = MemoryInjector(resources.storage, resources.settings, embeddings=embeddings, wait_seconds=wait_seconds)
    return InjectNode(resources, injector)


@check_arguments
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
    resources = AgentResources(storage, settings, agent_name, capture=True, invoker=invoker, model=model)
    return CaptureNode(resources, wait_seconds)
