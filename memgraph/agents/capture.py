"""Capture: submits an agent's conversations to an invoker, which learns from them."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from memgraph._concurrency import DaemonExecutor
from memgraph.agents.injection import DEFAULT_TIMEOUT_SECONDS
from memgraph.agents.messages import derived_thread
from memgraph.agents.resources import UserIdentity
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.errors import OutboxError

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from memgraph.background.invoker import Invoker

logger = logging.getLogger("memgraph.agents")


RETRY_SECONDS = 2.0
"""Between two tries to submit what an outbox did not take."""
MAX_RETRIES = 300
"""After so many failures in a row the conversations are given up: about ten minutes, or twenty if none is answered."""
_DRAWN_ID = re.compile(r"(?:lc_)?run-|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z")
MAX_UNSENT = 1_000
"""Conversations that wait to be submitted again, the latest."""


class ConversationCapture:
    """Submits conversations to an invoker. A failure is logged; the next turn submits the whole conversation again.

    What an outbox did not take, since it did not answer, is submitted again in the background as long as this is used.

    A run without a thread has one that is derived from its first message of the user. Its messages have no ids then, so
    that they are known by their words: LangGraph draws new ids for each run, unless a checkpointer stores the messages.

    Args:
        invoker: Receives the conversations.
        wait_seconds: The timeout, after which submitting goes on in the background; None waits without limit.
    """

    def __init__(self, invoker: Invoker, *, wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._invoker = invoker
        self._wait_seconds = wait_seconds
        self._executor = DaemonExecutor()
        self._retrier = DaemonExecutor(1, name="memgraph-resubmit")
        self.unsent: deque[Callable[[], None]] = deque(maxlen=MAX_UNSENT)
        """What the outbox did not take."""
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
            if not self._has_warned:
                self._has_warned = True
                name = identity.scope.log_name
                logger.warning("a run of %s has no thread_id: its thread is derived from its first message", name)
            thread_id = derived_thread(conversation)
            conversation = [message.model_copy(update={"id": None}) for message in conversation]
        elif not identity.is_stored:
            conversation = [_without_drawn_id(message) for message in conversation]
        # An invoker may run the update at once: in an empty context nothing of it leaks into the agent's stream.
        send = partial(self._invoker.submit, conversation, identity.scope, thread_id)
        return self._executor.submit(partial(self._send, send), Context())

    def _send(self, send: Callable[[], None]) -> None:
        try:
            send()
        except OutboxError as error:
            if type(error) is OutboxError:  # not one that is closed, or full
                self.unsent.append(send)
                self._retrier.submit(partial(_send_again, ref(self)), Context())
            raise

    def _log(self, identity: UserIdentity, error: Exception) -> None:
        name = identity.scope.log_name
        if isinstance(error, TimeoutError):
            logger.warning(
                "submitting the conversation of %s takes longer than %s s; it goes on while this process runs",
                name,
                self._wait_seconds,
            )
        else:
            logger.error("the conversation of %s was not submitted; the agent goes on", name, exc_info=error)


def _without_drawn_id(message: BaseMessage) -> BaseMessage:
    """Return *message* without an id that LangGraph draws, another one for each run that gets it again."""
    is_drawn = _DRAWN_ID.match(message.id or "")
    return message.model_copy(update={"id": None}) if is_drawn else message


def _send_again(capture: ref[ConversationCapture]) -> None:
    """Submit what failed before, in its order, until nothing is left, it fails too often or its agent was dropped."""
    for _ in range(MAX_RETRIES):
        time.sleep(RETRY_SECONDS)
        unsent = found.unsent if (found := capture()) else None
        del found
        if not unsent:
            return
        with suppress(OutboxError):
            while unsent:
                unsent[0]()
                unsent.popleft()
        del unsent
