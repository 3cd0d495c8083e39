"""profile: the memory of the user. Retrieval is recall, and an update submits the conversation to be learned from."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memgraph.agents.messages import has_reply
from memgraph.analysis.normalize import unescape
from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult, StoreConfig
from memgraph.models import Scope, timestamp
from memgraph.opened import OpenMemory
from memgraph.retrieval.render import CLOSING, OPENING
from memgraph.settings import Settings

if TYPE_CHECKING:
    from memgraph.background.invoker import Invoker
    from memgraph.storage import MemoryStorage

logger = logging.getLogger("memgraph.attachments")


class ProfileConfig(StoreConfig):
    """The memory of the user; further settings of it are under `memory:`."""

    storage: str | None = None
    """URL of the storage, such as `sqlite:FILE`; none is the storage of the settings."""
    agent_name: str | None = None
    """Agent whose memory of the user is used, unless the run names one: letters, digits, - and _, at most 64."""
    max_tokens: Annotated[int, Field(ge=100, le=100_000)] | None = None
    """Maximum tokens that a node receives; none is max_injection_tokens of the settings."""


class ProfileMemory(MemoryStore):
    """The memory of the run's user. Without a user it finds nothing and learns nothing.

    A conversation that has a thread and a reply is submitted to *invoker*; the node does not wait for the update.

    Args:
        name: Name in the configuration.
        config: The configuration; None is the defaults.
        settings: Settings of user memory; None is the defaults.
        storage: Used instead of the storage of *config*.
        invoker: Receives the conversations; None is a BackgroundInvoker of the same storage.
    """

    def __init__(
        self,
        name: str,
        config: ProfileConfig | None = None,
        *,
        settings: Settings | None = None,
        storage: str | MemoryStorage | None = None,
        invoker: Invoker | None = None,
    ) -> None:
        self.name = name
        self._config = config or ProfileConfig()
        self._settings = settings or Settings()
        self._storage = storage or self._config.storage
        self._invoker = invoker
        self._opened: OpenMemory | None = None
        self._has_warned = False
        self._lock = threading.Lock()

    def load(self) -> None:
        """Open the storage.

        Raises:
            ConfigError: If it cannot be opened.
        """
        _ = self._memory.pipeline

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        """Return the result of recall as one item, which is limited by tokens and not by *top_k*."""
        del top_k, threshold
        scope = self._scope(query.scope)
        if scope is None:
            return ()
        storage, pipeline = self._memory.storage, self._memory.pipeline
        limited = replace(pipeline, max_tokens=self._config.max_tokens or pipeline.max_tokens)
        memory, episodes, vectors = storage.load(scope), storage.episodes(scope), storage.vectors(scope)
        recalled = limited(memory, query.messages, episodes=episodes, vectors=vectors)
        # `render_context` adds its own frame, and escapes the text
        text = unescape(recalled.removeprefix(OPENING).removesuffix(CLOSING)).strip()
        if not text:
            return ()
        now = timestamp(datetime.now(UTC), "microseconds")
        item = MemoryItem(id=f"profile-{memory.revision}", content_summary=text, timestamp=now)
        return (SearchResult(item, "what is known of the user", None),)

    def update(self, exchange: Interaction) -> None:
        """Submit the conversation to be learned from."""
        scope = self._scope(exchange.scope)
        if scope and exchange.thread_id and has_reply(exchange.messages):
            invoker = self._invoker or self._memory.invoker
            invoker.submit(list(exchange.messages), scope, exchange.thread_id)

    def close(self) -> None:
        """Close what was opened here; the owner of a given storage or invoker may still need it."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened:
            opened.close()

    def open_storage(self) -> MemoryStorage:
        """Return the storage of the user's memory, opened.

        Raises:
            ConfigError: If it cannot be opened.
        """
        return self._memory.storage

    @property
    def _memory(self) -> OpenMemory:
        with self._lock:
            self._opened = self._opened or OpenMemory(self._storage, settings=self._settings)
            return self._opened

    def _scope(self, scope: Scope | None) -> Scope | None:
        if scope is None:
            if not self._has_warned:
                logger.warning("memory %s: the run has no user, so nothing is recalled or learned", self.name)
            self._has_warned = True
            return None
        return scope if scope.agent_name else Scope(scope.user_id, self._config.agent_name)
