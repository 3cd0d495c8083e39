"""Capture: submits an agent's conversations to an invoker, which learns from them."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import Context
from typing import TYPE_CHECKING

from memgraph._concurrency import DaemonExecutor
from memgraph.agents.identity import UserIdentity
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS
from memgraph.agents.messages import is_user_message
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.text.message import text_of

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from memgraph.background.invoker import Invoker

logger = logging.getLogger("memgraph.agents")


class ConversationCapture:
    """Submits conversations to an invoker. A failure is logged; the next turn submits the whole conversation again.

    A run without a thread has one that is derived from its first message of the user. Its messages have no ids then, so
    that they are known by their words: LangGraph draws new ids for each run.

    Args:
        invoker: Receives the conversations.
        wait_seconds: The timeout, after which submitting goes on in the background; None waits without limit.
    """

    def __init__(self, invoker: Invoker, *, wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._invoker = invoker
        self._wait_seconds = wait_seconds
        self._executor = DaemonExecutor()
        self._has_warned = False

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
        thread_id, conversation = identity.thread_id, list(messages)
        if thread_id is None:
            self._warn_of_missing_thread(identity)
            thread_id = _derived_thread(conversation)
            conversation = [message.model_copy(update={"id": None}) for message in conversation]
        # An invoker may run the update at once: in an empty context nothing of it leaks into the agent's stream.
        return self._executor.submit(lambda: self._invoker.submit(conversation, identity.scope, thread_id), Context())

    def _warn_of_missing_thread(self, identity: UserIdentity) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "a run of %s has no thread_id: its thread is derived from its first message", identity.scope.log_name
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


def _derived_thread(messages: Sequence[BaseMessage]) -> str:
    """Return the thread of a run that names none: the same for each run that begins with the same words."""
    first = next((text_of(message.content) for message in messages if is_user_message(message)), "")
    return f"run-{hashlib.sha256(first.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"
