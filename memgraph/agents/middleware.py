"""MemoryMiddleware: adds memory to an agent made by `create_agent`."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypeVar, cast

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.runtime import Runtime

from memgraph._concurrency import run_in_thread
from memgraph._validation import check_arguments
from memgraph.agents.capture import ConversationCapture
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS, Anchor, Injected, MemoryInjector, Shown
from memgraph.agents.messages import TurnCache, TurnLookup, has_reply, last_user_index
from memgraph.agents.resources import AgentResources, ResourceHolder, UserIdentity
from memgraph.agents.tools import memory_tools
from memgraph.background.shared import AgentModel
from memgraph.settings import Settings

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr
except ImportError as error:
    raise ImportError("MemoryMiddleware needs langchain: pip install 'langgraph-memgraph[agents]'") from error

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from memgraph.background.invoker import Invoker
    from memgraph.storage import MemoryStorage

NAME = "MemgraphMemory"
"""The default name. Other projects, such as deepagents and DeerFlow, call theirs MemoryMiddleware."""

Request = ModelRequest[Any]
Response = ModelResponse[Any]
Placement = Literal["split", "system"]
"""Where the memory stands in a request."""


class MemoryAgentState(AgentState[Any]):
    """The agent's state, with what the middleware remembers of a conversation."""

    memory_anchor: Annotated[NotRequired[Anchor], PrivateStateAttr]
    memory_shown: Annotated[NotRequired[Shown], PrivateStateAttr]


class MemoryMiddleware(ResourceHolder, AgentMiddleware[MemoryAgentState, Any, Any]):
    """Injects the user's memory into model calls and learns from the conversation in the background.

    ```python
    from langchain.agents import create_agent

    from memgraph import MemoryMiddleware
    from memgraph.testing import ScriptedModel

    with MemoryMiddleware("sqlite:memory.db", model="offline") as memory:
        agent = create_agent(ScriptedModel("Hello Ada!"), middleware=[memory])  # or "openai:gpt-4.1-mini"
        agent.invoke({"messages": "Hi, I'm Ada."}, {"configurable": {"thread_id": "t1", "user_id": "ada"}})
    ```

    The memory is shown in each model call: what does not depend on the question after the system message, and the
    rest after the user's message; see *placement*. It never enters the agent's messages, stream or checkpoints: of it
    the stream has the ids of what is shown, `{"memory": {"facts": [...], "episodes": [...]}}` in the mode "custom",
    and so has the private state. The text stays the same during a turn, unless tools of `memory_tools` change the
    memory in that turn, or an interrupted run is resumed. The conversation is submitted to *invoker* after the agent
    has replied, and before a summarization removes messages.

    User, agent and thread come from the run's context, of any type, or from configurable. If the server has
    authenticated a user, that user wins. A run without a user is neither injected into nor learned from. The thread of
    a run without one is derived from its first message of the user, with one warning. `memory_enabled: False` in the
    context or configurable turns memory off for one run, `memory_injection_enabled: False` only injection. Failures of
    memory are logged and never stop the agent.

    LangChain refuses two middlewares of one name. The default name is `MemgraphMemory`, or `MemgraphMemoryInject` and
    `MemgraphMemoryCapture` if only one of both is on, so an agent can read one memory and write another; give each a
    *name* of its own to combine others.

    Add it as the last middleware, so that memory stays at the end of the system message. Use one instance for each
    agent, and `capture=False` for agents whose messages come from other agents and not from people.

    Agents may be built for each request: middlewares of equal configuration share the threads that learn, and one that
    is dropped needs no `close`; what was submitted is learned. Conversations of one outbox and storage are learned by
    any of its models: those that the agents of this process have called, and those of other processes, such as
    `memgraph worker`. Name a *model*, or give each agent an outbox of its own, if that matters.

    Args:
        storage: A storage or its URL; None is the storage of *settings*, by default files in the user's data folder.
        invoker: Receives the conversations. None is a BackgroundInvoker of the same storage;
            `BackgroundInvoker(graph, immediate=True)` learns before the agent returns.
        model: The chat model that learns if *invoker* is None. None is the `model_name` of *settings*, else the agent's
            own model, as its first call shows it.
        agent_name: The agent whose memory is used, unless the run names one; None is the user's own memory.
        settings: What is injected and learned, None reads memgraph.yaml and the environment.
        inject: Whether to inject memory into model calls.
        capture: Whether to learn from conversations.
        embeddings: The model of the ranker "hybrid".
        wait_seconds: Seconds to wait for memory, once a turn; None waits without limit.
        name: The name of the middleware in the agent's graph. It is part of node names, and so of checkpoints.
        tools: Whether the agent also gets the tools of `memory_tools`, on the same storage.
        placement: "split" shows what does not depend on the question in the system message, which stays the same
            while a conversation goes on, so that providers can cache the prompt; and the rest after the user's message.
            "system" shows all in the system message, which then changes with each question.

    Raises:
        ConfigError: If the storage cannot be opened, or if this process already has an invoker for the same outbox
            and storage with a graph of its own, or with another value of the setting `review`. In that case create one
            invoker and pass it to all agents.
    """

    state_schema = MemoryAgentState

    @check_arguments
    def __init__(
        self,
        storage: str | MemoryStorage | None = None,
        *,
        invoker: Invoker | None = None,
        model: str | BaseChatModel | None = None,
        agent_name: str | None = None,
        settings: Settings | None = None,
        inject: bool = True,
        capture: bool = True,
        embeddings: Embeddings | None = None,
        wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
        name: str | None = None,
        tools: bool = False,
        placement: Placement = "split",
    ) -> None:
        super().__init__()
        self._name = name or (NAME if inject == capture else f"{NAME}{'Inject' if inject else 'Capture'}")
        learner = AgentModel() if model is None else model
        self._resources = AgentResources(storage, settings, agent_name, capture=capture, invoker=invoker, model=learner)
        storage, effective = self._resources.storage, self._resources.settings
        self._identities = self._resources.identities
        self._injector = MemoryInjector(
            storage, effective, embeddings=embeddings, wait_seconds=wait_seconds, is_split=placement == "split"
        )
        self.tools = (
            memory_tools(storage, agent_name=agent_name, settings=effective, wait_seconds=wait_seconds) if tools else []
        )
        self._turns = TurnCache()
        self._inject = inject
        self.invoker = self._resources.invoker
        self._capture = ConversationCapture(self.invoker, wait_seconds=wait_seconds) if self.invoker else None

    @property
    def name(self) -> str:
        """The name of the middleware in the agent's graph."""
        return self._name

    # -- hooks of the agent --

    def before_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> None:
        """Record the start of a turn."""
        identity = self._identities.resolve_or_none(runtime)
        if identity:
            self._turns.start(identity, state["messages"])

    async def abefore_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> None:
        """Like `before_agent`, which does not block."""
        self.before_agent(state, runtime)

    def wrap_model_call(self, request: Request, handler: Callable[[Request], Response]) -> Response:
        """Inject the memory into a model call."""
        turn = self._look_up(request)
        if turn and turn.removed and self._capture:
            self._capture.capture(turn.identity, turn.removed)
        return handler(_with_memory(request, self._recall(request, turn) if turn else None))

    async def awrap_model_call(self, request: Request, handler: Callable[[Request], Awaitable[Response]]) -> Response:
        """Like `wrap_model_call`, without blocking the event loop."""
        turn = self._look_up(request)
        if turn and turn.removed and self._capture:
            await self._capture.acapture(turn.identity, turn.removed)
        shown = turn.shown if turn else None
        if turn and shown is None:  # the memory is read
            shown = await asyncio.wrap_future(run_in_thread(lambda: self._recall(request, turn), "memgraph-inject"))
        return await handler(_with_memory(request, shown))

    def _look_up(self, request: Request) -> TurnLookup | None:
        """Return what is known of the turn before a model call; None if the run has no memory."""
        self._resources.use_model(request.model)
        identity = self._identities.resolve_or_none(request.runtime, log=False)
        return self._turns.lookup(identity, _messages(request), request.runtime.control) if identity else None

    def _recall(self, request: Request, turn: TurnLookup) -> Injected | None:
        """Return what is shown in a turn, which is read once; None if the run has no memory in its prompts."""
        if not (self._inject and turn.identity.inject):
            return None
        if turn.shown is not None:
            return turn.shown
        shown = self._injector.inject(turn.identity, _messages(request), request.state.get("memory_anchor"))
        self._turns.store(turn, shown)
        return shown

    def after_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Anchor | Shown] | None:
        """Submit the conversation to be learned from."""
        identity, update = self._finish_turn(state, runtime)
        if identity and self._capture:
            self._capture.capture(identity, state["messages"])
        return update

    async def aafter_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Anchor | Shown] | None:
        """Like `after_agent`, without blocking the event loop."""
        identity, update = self._finish_turn(state, runtime)
        if identity and self._capture:
            await self._capture.acapture(identity, state["messages"])
        return update

    def _finish_turn(
        self, state: MemoryAgentState, runtime: Runtime[Any]
    ) -> tuple[UserIdentity | None, dict[str, Anchor | Shown] | None]:
        """Remove the turn from the cache.

        Returns:
            Its identity, if the conversation should be captured; and the change of the state.
        """
        identity = self._identities.resolve_or_none(runtime, log=False)
        if identity is None:
            return None, None
        shown = self._turns.finish(identity, state["messages"])
        by_structure = state.get("structured_response") is not None
        is_answered = has_reply(state["messages"], by_structure=by_structure)
        found = {"memory_anchor": shown.anchor, "memory_shown": shown.shown} if shown else {}
        return identity if is_answered else None, {key: value for key, value in found.items() if value} or None


def _with_memory(request: Request, shown: Injected | None) -> Request:
    """Return *request* with the memory that is shown in it, and stream what that is: in the context of the run."""
    if shown and shown.shown:
        request.runtime.stream_writer({"memory": shown.shown})
    return add_memory(request, shown) if shown else request


def add_memory(request: Request, shown: Injected) -> Request:
    """Return a copy of *request* with the memory: after the system message, and after the user's last message.

    Nothing of it is stored in the agent's state. Anthropic caches up to a breakpoint: one stands after the system
    message, and one before what is added to the user's message, which the next request does not have.
    """
    has_breakpoints = any("anthropic" in part for part in request.model.get_lc_namespace())
    place = last_user_index(request.messages) if shown.message else None
    system = shown.system if place is not None else "\n\n".join(filter(None, shown[:2]))
    if system:
        message = request.system_message
        message = SystemMessage(system) if message is None else _extended(message, system, as_part=has_breakpoints)
        request = request.override(system_message=_with_breakpoint(message) if has_breakpoints else message)
    if place is not None:
        messages = list(request.messages)
        message = _with_breakpoint(messages[place]) if has_breakpoints else messages[place]
        messages[place] = _extended(message, shown.message, as_part=True)
        request = request.override(messages=messages)
    return request


Message = TypeVar("Message", bound=BaseMessage)


def _extended(message: Message, text: str, *, as_part: bool = False) -> Message:
    """Return a copy of *message* with *text* at its end, as a part of its content if it has parts or *as_part*."""
    content = message.content
    if isinstance(content, str) and not as_part:
        return message.model_copy(update={"content": f"{content}\n\n{text}"})
    return message.model_copy(update={"content": [*_parts_of(message), {"type": "text", "text": text}]})


def _with_breakpoint(message: Message) -> Message:
    """Return a copy of *message* with the one breakpoint of its content at the end: a request may have four in all."""
    *parts, last = [{**part} for part in _parts_of(message)] or [{}]
    marks = [part.pop("cache_control") for part in (*parts, last) if "cache_control" in part]
    if last.get("text") or last.get("type", "text") != "text":  # Anthropic refuses the mark of an empty text
        last["cache_control"] = marks[-1] if marks else {"type": "ephemeral"}
    return message.model_copy(update={"content": [*parts, last]}) if last else message


def _parts_of(message: BaseMessage) -> list[dict[str, Any]]:
    """Return the parts of the content of *message*."""
    parts = [message.content] if isinstance(message.content, str) else message.content
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts if part]


def _messages(request: Request) -> Sequence[BaseMessage]:
    """Return the agent's own messages; another middleware may have shortened those of the request."""
    return cast("Sequence[BaseMessage]", request.state.get("messages") or request.messages)
