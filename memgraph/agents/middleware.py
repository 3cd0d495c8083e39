"""MemoryMiddleware: an agent of `create_agent` that remembers its users."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.runtime import Runtime

from memgraph.agents.capture import ConversationCapture, make_invoker
from memgraph.agents.identity import Identity, IdentityResolver
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS, MemoryInjector, resolve_storage
from memgraph.agents.messages import has_reply
from memgraph.agents.turn_cache import TurnCache
from memgraph.settings import Settings

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
except ImportError as error:
    raise ImportError("MemoryMiddleware needs langchain: pip install 'langgraph-memgraph[agents]'") from error

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from memgraph.background.invoker import Invoker
    from memgraph.storage import MemoryStorage

Request = ModelRequest[Any]
Response = ModelResponse[Any]
State = AgentState[Any]


class MemoryMiddleware(AgentMiddleware[State, Any, Any]):
    """Tells the model what is remembered of its user, and has what is said learned from.

        agent = create_agent("openai:gpt-4.1-mini", middleware=[MemoryMiddleware("sqlite:memory.db")])
        agent.invoke({"messages": "Hi, I'm Ada."}, {"configurable": {"thread_id": "t1", "user_id": "ada"}})

    What is remembered goes to the end of the system message of a model call, and nowhere else: not into the
    agent's messages, its stream or its checkpoints. It stays the same within a turn, so that providers
    can cache the prompt, unless tools of `memory_tools` changed the memory in that turn. After the
    agent, and where a summarization takes messages away, the conversation is handed to *invoker*.

    User, agent and thread come from the run: from its context, of whatever type, or from configurable, and where the
    server authenticated its caller, that user wins. Without a user nothing is told or learned, without a thread
    nothing is learned. `memory_enabled: False` in either switches a single run off,
    `memory_injection_enabled: False` only what is told. Memory that fails is logged and costs the agent nothing.

    Put it last among the middlewares, so that what it tells stands last. Give each agent one of its own, and those that
    talk with other agents, not with people, `capture=False`.

    Args:
        storage: Where memories are, or its URL; None is where *settings* say, else files in the user's data folder.
        invoker: Where conversations are handed to. None is a BackgroundInvoker of the same storage;
            `BackgroundInvoker(graph, immediate=True)` learns before the agent returns.
        model: The chat model that learns, where no invoker is given; None is the one of *settings*, else the
            provider whose key is set, else the built-in offline one.
        agent_name: Whose memory of the user it is, where the run does not say; None is the user's own.
        settings: How much is told and learned, such as `load_settings()` returns; None is the defaults.
        inject: Whether the model is told anything.
        capture: Whether anything is learned.
        embeddings: The model of the ranker "hybrid".
        wait_seconds: How long the agent waits for its memory, once a turn; None is for ever.

    Raises:
        ConfigError: If the storage cannot be opened, or *model* and *settings* do not fit an invoker that this
            process has already: then make one, and give it to all.
    """

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
    ) -> None:
        super().__init__()
        said = settings or Settings()
        opened = resolve_storage(storage, said)
        self._callers = IdentityResolver(said, agent_name=agent_name)
        self._recollection = MemoryInjector(opened, said, embeddings=embeddings, wait_seconds=wait_seconds)
        self._turns = TurnCache()
        self._inject = inject
        self.invoker = make_invoker(model, opened, settings, invoker) if capture and said.enabled else None
        self._learner = ConversationCapture(self.invoker, wait_seconds=wait_seconds) if self.invoker else None

    # -- the hooks --

    def before_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """Note that a turn begins."""
        caller = self._callers.resolve_or_none(runtime)
        if caller:
            self._turns.start(caller, state["messages"])

    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """As `before_agent`, which waits for nothing."""
        self.before_agent(state, runtime)

    def wrap_model_call(self, request: Request, handler: Callable[[Request], Response]) -> Response:
        """Tell the model what is remembered."""
        caller = self._callers.resolve_or_none(request.runtime, log=False)
        if caller is None:
            return handler(request)
        messages = _messages(request)
        look = self._turns.lookup(caller, messages)
        if look.taken_away and self._learner:
            self._learner.capture(caller, look.taken_away)
        if not (self._inject and caller.inject):
            return handler(request)
        text = look.told
        if text is None:
            text = self._recollection.render(caller.scope, messages)
            self._turns.store(look, text)
        return handler(append_to_system_message(request, text))

    async def awrap_model_call(self, request: Request, handler: Callable[[Request], Awaitable[Response]]) -> Response:
        """As `wrap_model_call`, without blocking the event loop."""
        caller = self._callers.resolve_or_none(request.runtime, log=False)
        if caller is None:
            return await handler(request)
        messages = _messages(request)
        look = self._turns.lookup(caller, messages)
        if look.taken_away and self._learner:
            await self._learner.acapture(caller, look.taken_away)
        if not (self._inject and caller.inject):
            return await handler(request)
        text = look.told
        if text is None:
            text = await self._recollection.arender(caller.scope, messages)
            self._turns.store(look, text)
        return await handler(append_to_system_message(request, text))

    def after_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """Hand the conversation over to be learned from."""
        caller = self._answered(state, runtime)
        if caller and self._learner:
            self._learner.capture(caller, state["messages"])

    async def aafter_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """As `after_agent`, without blocking the event loop."""
        caller = self._answered(state, runtime)
        if caller and self._learner:
            await self._learner.acapture(caller, state["messages"])

    def _answered(self, state: State, runtime: Runtime[Any]) -> Identity | None:
        """Return the caller whose turn ended, None where it is not to be learned from."""
        caller = self._callers.resolve_or_none(runtime, log=False)
        if caller is None:
            return None
        self._turns.finish(caller, state["messages"])
        by_structure = state.get("structured_response") is not None
        return caller if caller.thread_id and has_reply(state["messages"], by_structure=by_structure) else None


def append_to_system_message(request: Request, text: str) -> Request:
    """Return *request* with *text* at the end of its system message; *request* stays as it is."""
    if not text:
        return request
    system = request.system_message
    if system is None:
        return request.override(system_message=SystemMessage(text))
    content = system.content
    longer = [*content, {"type": "text", "text": text}] if isinstance(content, list) else f"{content}\n\n{text}"
    return request.override(system_message=system.model_copy(update={"content": longer}))


def _messages(request: Request) -> Sequence[BaseMessage]:
    """The agent's own messages: another middleware may show its model less."""
    return cast("Sequence[BaseMessage]", request.state.get("messages") or request.messages)
