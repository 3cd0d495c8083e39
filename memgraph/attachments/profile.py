"""profile: what is known of the user, as the update graph learns it. Reading is recall, writing is handing over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memgraph.agents.capture import make_invoker
from memgraph.agents.injection import resolve_storage
from memgraph.agents.messages import has_reply
from memgraph.attachments.config import StoreConfig
from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult
from memgraph.models import Scope
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.retrieval.render import CLOSING, OPENING
from memgraph.settings import Settings
from memgraph.text.normalize import unescape

if TYPE_CHECKING:
    from memgraph.background.invoker import Invoker
    from memgraph.retrieval.recall import RecallPipeline
    from memgraph.storage import MemoryStorage

logger = logging.getLogger("memgraph.attachments")


class ProfileConfig(StoreConfig):
    """The memory of a user; all else about it is said under `memory:`."""

    storage: str | None = None
    """Where memories of users are, such as `sqlite:FILE`; none is where the settings say."""
    agent_name: str | None = None
    """Whose memory of the user it is, where the run does not say: letters, digits, - and _, at most 64."""
    max_tokens: Annotated[int, Field(ge=100, le=100_000)] | None = None
    """Tokens of what a node is told; none is max_injection_tokens of the settings."""


class ProfileMemory(MemoryStore):
    """The memory of whoever the run is of; without a user it knows nothing, and learns nothing.

    Learning waits for no update: the conversation is handed to *invoker*, once there is a thread and an answer.

    Args:
        name: As attachments call it.
        config: What is configured.
        settings: Of the memory of users; None is the defaults.
        storage: Where memories are, in place of what *config* says.
        invoker: Where conversations are handed to; None is a BackgroundInvoker of the same storage.
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
        self._settings = settings
        self._given_storage = storage
        self._given_invoker = invoker
        self._made_invoker: Invoker | None = None
        self._is_warned = False
        self._lock = threading.Lock()

    def load(self) -> None:
        """Open the storage.

        Raises:
            ConfigError: If it cannot be opened.
        """
        with self._lock:
            _ = self._storage, self._recaller

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        """Return what recall tells, as one item: how much it is, the tokens say, not *top_k*."""
        del top_k, threshold
        scope = self._scope(query.scope)
        if scope is None:
            return ()
        memory = self._storage.load(scope)
        text = _plain(self._recaller(memory, query.messages))
        if not text:
            return ()
        item = MemoryItem(id=f"profile-{memory.revision}", content_summary=text, timestamp=_now())
        return (SearchResult(item, "what is known of the user", None),)

    def update(self, exchange: Interaction) -> None:
        """Hand the conversation over to be learned from."""
        scope = self._scope(exchange.scope)
        if scope and exchange.thread_id and has_reply(exchange.messages):
            self._invoker.submit(list(exchange.messages), scope, exchange.thread_id)

    def close(self) -> None:
        """Close the invoker, unless it was given: whoever made it may still need it."""
        with self._lock:
            made, self._made_invoker = self._made_invoker, None
        if made:
            made.close()

    @cached_property
    def _storage(self) -> MemoryStorage:
        return resolve_storage(self._given_storage or self._config.storage, self._settings or Settings())

    @cached_property
    def _recaller(self) -> RecallPipeline:
        return make_recall_pipeline(self._settings or Settings(), max_tokens=self._config.max_tokens)

    @property
    def _invoker(self) -> Invoker:
        """The one that was given, else one made at the first exchange: a memory that is only read needs none."""
        if self._given_invoker:
            return self._given_invoker
        with self._lock:
            self._made_invoker = self._made_invoker or make_invoker(None, self._storage, self._settings, None)
            return self._made_invoker

    def _scope(self, scope: Scope | None) -> Scope | None:
        if scope is None:
            if not self._is_warned:
                logger.warning("%s: there is no user in this run, so nothing is told of one, or learned", self.name)
            self._is_warned = True
            return None
        return scope if scope.agent_name else Scope(scope.user_id, self._config.agent_name)


def _plain(recalled: str) -> str:
    """The text without its tags: it stands in a frame that says the same, and escapes it."""
    return unescape(recalled.removeprefix(OPENING).removesuffix(CLOSING)).strip()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
