"""What an agent is told: the memory loaded and recalled from, within a time that an agent can spare."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memgraph._concurrency import DaemonExecutor
from memgraph.config import make_storage
from memgraph.models import Scope
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import BaseMessage

logger = logging.getLogger("memgraph.agents")

DEFAULT_TIMEOUT_SECONDS = 2.0
"""How long an agent waits for its memory, where nobody says."""


class MemoryInjector:
    """Tells what is remembered. Where that fails, or takes too long, it is logged, and nothing is told.

    Args:
        storage: Where memories are.
        settings: How much is told, and how it is ranked.
        embeddings: In place of the embedding model of *settings*.
        wait_seconds: How long is waited; None is for ever.
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
        # made now, and not in the time that an agent waits; an embedding model is loaded when it is first asked
        self._recaller = make_recall_pipeline(settings, embeddings=embeddings)
        self._wait_seconds = wait_seconds
        self._hands = DaemonExecutor()

    def render(self, scope: Scope, messages: Sequence[BaseMessage]) -> str:
        """Return what is known of the user that fits *messages*; "" where nothing is, or memory fails."""
        try:
            return self._hands.run(self._wait_seconds, lambda: self._told(scope, messages))
        except Exception as error:  # noqa: BLE001 - the last resort: it is logged, and the agent has its answer
            self._log(scope, error)
            return ""

    async def arender(self, scope: Scope, messages: Sequence[BaseMessage]) -> str:
        """As `tell`, without blocking the event loop."""
        try:
            return await self._hands.arun(self._wait_seconds, lambda: self._told(scope, messages))
        except Exception as error:  # noqa: BLE001 - as above
            self._log(scope, error)
            return ""

    def _told(self, scope: Scope, messages: Sequence[BaseMessage]) -> str:
        return self._recaller(self._storage.load(scope), messages)

    def _log(self, scope: Scope, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            logger.warning(
                "the memory of %s did not answer within %s s; the agent goes on without", scope, self._wait_seconds
            )
        else:
            logger.error("the memory of %s cannot be told; the agent goes on without", scope, exc_info=error)


def resolve_storage(storage: str | MemoryStorage | None, settings: Settings) -> MemoryStorage:
    """Open the storage that an agent names, else that of *settings*.

    Raises:
        ConfigError: If it names none.
    """
    return make_storage(settings) if storage is None else open_storage(storage)
