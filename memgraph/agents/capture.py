"""Capture: submits an agent's conversations to an invoker, which learns from them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import Context
from typing import TYPE_CHECKING

from memgraph._concurrency import DaemonExecutor
from memgraph.agents.identity import UserIdentity
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS
from memgraph.background.background_invoker import BackgroundInvoker

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from memgraph.background.invoker import Invoker

logger = logging.getLogger("memgraph.agents")


class ConversationCapture:
    """Submits conversations to an invoker. A failure is logged; the next turn submits the whole conversation again.

    Args:
        invoker: Receives the conversations.
        wait_seconds: The timeout, after which submitting goes on in the background; None waits without limit.
    """

    def __init__(self, invoker: Invoker, *, wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._invoker = invoker
        self._wait_seconds = wait_seconds
        self._executor = DaemonExecutor()

    def capture(self, identity: UserIdentity, messages: Sequence[BaseMessage]) -> None:
        """Submit *messages*."""
        try:
            self._submit(identity, messages).result(self._wait_seconds)
        except Exception as error:  # noqa: BLE001 - an invoker may raise anything; the agent goes on
            self._log(identity, error)

    async def acapture(self, identity: UserIdentity, messages: Sequence[BaseMessage]) -> None:
        """Like `capture`, without blocking the event loop."""
        try:
            future = asyncio.wrap_future(self._submit(identity, messages))
            await asyncio.wait_for(asyncio.shield(future), self._wait_seconds)
        except Exception as error:  # noqa: BLE001 - as above
            self._log(identity, error)

    def _submit(self, identity: UserIdentity, messages: Sequence[BaseMessage]) -> Future[None]:
        if isinstance(self._invoker, BackgroundInvoker):
            self._invoker.start()  # here, since this thread may be the main one, which alone can handle signals
        conversation = list(messages)
        # An invoker may run the update at once: in an empty context nothing of it leaks into the agent's stream.
        return self._executor.submit(
            lambda: self._invoker.submit(conversation, identity.scope, identity.thread_id), Context()
        )

    def _log(self, identity: UserIdentity, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            logger.warning(
                "submitting the conversation of %s takes longer than %s s; it goes on in the background",
                identity.scope.log_name,
                self._wait_seconds,
            )
        else:
            name = identity.scope.log_name
            logger.error("the conversation of %s was not submitted; the agent goes on", name, exc_info=error)
