"""Injection: renders what is remembered of a user for a model call, within a timeout."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from collections.abc import Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

from memgraph._concurrency import DaemonExecutor, run_in_thread
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.retrieval.recall import make_recall_pipeline, recall
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import BaseMessage

    from memgraph.storage import MemoryStorage

logger = logging.getLogger("memgraph.agents")

DEFAULT_TIMEOUT_SECONDS = 2.0
"""Seconds that an agent waits for its memory by default."""
EMBEDDING_SHARE = 0.25
"""Share of the timeout for embedding new facts, and the same for episodes. Later calls embed what is left."""
WARM_UP_SECONDS = 30.0
"""Maximum seconds that the first call of a process waits for the warm-up, in addition to its own timeout."""
_EXAMPLE = MemoryDocument(facts=(Fact(content="Likes tea."),))


@functools.cache
def start_warm_up() -> Future[str]:
    """Start the warm-up of recall on a daemon thread, once per process.

    The first recall of a process takes 0.4-0.5 s of CPU to import modules and build tables. On a small machine that
    could exceed an agent's timeout, so its first turn would have no memory.
    """
    return run_in_thread(lambda: recall(_EXAMPLE, ["What do I like to drink?"]), "memgraph-warm-up")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=start_warm_up.cache_clear)  # a forked child does not have the thread


class MemoryInjector:
    """Renders the user's memory for model calls. A failure or timeout is logged and renders nothing.

    Args:
        storage: Where memories are stored.
        settings: The token budget and the ranking.
        embeddings: Used instead of the embedding model of *settings*.
        wait_seconds: The timeout; None waits without limit.
    """

    def __init__(
        self,
        storage: MemoryStorage,
        settings: Settings,
        *,
        embeddings: Embeddings | None = None,
        wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        self._storage = storage
        # built before the first model call, so that building does not count against the timeout
        self._pipeline = make_recall_pipeline(
            settings,
            embeddings=embeddings,
            embedding_seconds=None if wait_seconds is None else wait_seconds * EMBEDDING_SHARE,
        )
        start_warm_up()
        self._wait_seconds = wait_seconds
        self._executor = DaemonExecutor()

    def render(self, scope: Scope, messages: Sequence[BaseMessage]) -> str:
        """Return the part of the memory that is relevant to *messages*; "" if there is none, or if memory fails."""
        try:
            wait([start_warm_up()], WARM_UP_SECONDS)
            return self._executor.run(self._wait_seconds, lambda: self._load_and_render(scope, messages))
        except Exception as error:  # noqa: BLE001 - storages and models may raise anything; the agent goes on
            self._log(scope, error)
            return ""

    async def arender(self, scope: Scope, messages: Sequence[BaseMessage]) -> str:
        """Like `render`, without blocking the event loop."""
        try:
            await asyncio.wait([asyncio.wrap_future(start_warm_up())], timeout=WARM_UP_SECONDS)
            return await self._executor.arun(self._wait_seconds, lambda: self._load_and_render(scope, messages))
        except Exception as error:  # noqa: BLE001 - as above
            self._log(scope, error)
            return ""

    def _load_and_render(self, scope: Scope, messages: Sequence[BaseMessage]) -> str:
        storage = self._storage
        return self._pipeline(
            storage.load(scope), messages, episodes=storage.episodes(scope), vectors=storage.vectors(scope)
        )

    def _log(self, scope: Scope, error: Exception) -> None:
        name = scope.log_name
        if isinstance(error, TimeoutError):
            logger.warning(
                "the memory of %s did not answer within %s s; the agent goes on without", name, self._wait_seconds
            )
        else:
            logger.error("the memory of %s cannot be injected; the agent goes on without", name, exc_info=error)
