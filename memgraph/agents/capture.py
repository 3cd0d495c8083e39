"""How an agent's conversations get to where they are learned from."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import Context
from typing import TYPE_CHECKING

from memgraph._concurrency import DaemonExecutor
from memgraph.agents.identity import Identity
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS
from memgraph.background.invoker import Invoker
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

logger = logging.getLogger("memgraph.agents")


class ConversationCapture:
    """Hands conversations over. Where that fails it is logged: the next turn hands over all of it again.

    Args:
        invoker: Where to.
        wait_seconds: How long is waited; handing over then goes on beside the agent. None is for ever.
    """

    def __init__(self, invoker: Invoker, *, wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._invoker = invoker
        self._wait_seconds = wait_seconds
        self._hands = DaemonExecutor()

    def capture(self, caller: Identity, messages: Sequence[BaseMessage]) -> None:
        """Hand *messages* over."""
        try:
            self._submitted(caller, messages).result(self._wait_seconds)
        except Exception as error:  # noqa: BLE001 - the last resort: it is logged, and the agent has its answer
            self._log(caller, error)

    async def acapture(self, caller: Identity, messages: Sequence[BaseMessage]) -> None:
        """As `learn`, without blocking the event loop."""
        future = asyncio.wrap_future(self._submitted(caller, messages))
        try:
            await asyncio.wait_for(asyncio.shield(future), self._wait_seconds)
        except Exception as error:  # noqa: BLE001 - as above
            self._log(caller, error)

    def _submitted(self, caller: Identity, messages: Sequence[BaseMessage]) -> Future[None]:
        """An invoker may run the update at once; in a context of its own that does not leak into the agent's stream."""
        said = list(messages)
        return self._hands.submit(lambda: self._invoker.submit(said, caller.scope, caller.thread_id), Context())

    def _log(self, caller: Identity, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            logger.warning(
                "handing over what %s said takes longer than %s s; the agent goes on, and so does that",
                caller.scope,
                self._wait_seconds,
            )
        else:
            logger.error("what %s said was not handed over; the agent goes on", caller.scope, exc_info=error)


def make_invoker(
    model: str | BaseChatModel | None, storage: MemoryStorage, settings: Settings | None, given: Invoker | None
) -> Invoker:
    """Return the invoker that an agent was *given*, else one that runs the update in the background.

    Raises:
        ConfigError: If another model or other settings are used in this process with the same outbox.
    """
    if given is not None:
        return given
    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.graph import build_graph

    policy, review = (settings.policy, settings.review) if settings else (None, "never")
    graph = build_graph(model=model, storage=storage, policy=policy, review=review) if model else None
    return BackgroundInvoker(graph, settings=settings, storage=storage)
