"""Injection: renders what is remembered of a user for a model call, within a timeout."""

from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, NamedTuple

from typing_extensions import TypedDict

from memgraph._concurrency import DaemonExecutor, run_in_thread
from memgraph.agents.messages import derived_thread
from memgraph.editing.history import load_revision
from memgraph.errors import EditError
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.retrieval.recall import make_recall_pipeline, recall
from memgraph.retrieval.split import split
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import BaseMessage

    from memgraph.agents.resources import UserIdentity
    from memgraph.storage import MemoryStorage

logger = logging.getLogger("memgraph.agents")

DEFAULT_TIMEOUT_SECONDS = 2.0
"""Seconds that an agent waits for its memory by default."""
WARM_UP_SECONDS = 30.0
"""Maximum seconds that the first call of a process waits for the warm-up, in addition to its own timeout."""
STABLE_SECONDS = 3_600.0
"""How long a conversation keeps its stable block while the memory grows."""
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


class Anchor(TypedDict):
    """What the stable block of a conversation is made from. It is part of the agent's private state."""

    revision: int
    """Of the memory."""
    at: float
    """When it was chosen, in seconds since 1970."""


class Shown(TypedDict):
    """What of the memory a request shows. It is part of the agent's private state, and of its stream."""

    facts: list[str]
    """Ids of facts and of claims that are kept as said."""
    episodes: list[str]
    """Ids of episodes."""


class Injected(NamedTuple):
    """What is added to a request; each text is "" if there is nothing to add."""

    system: str = ""
    """For the system message."""
    message: str = ""
    """For the last message of the user."""
    anchor: Anchor | None = None
    shown: Shown | None = None


class MemoryInjector:
    """Renders the user's memory for model calls. A failure or timeout is logged and renders nothing.

    Args:
        storage: Where memories are stored.
        settings: The token budget and the ranking.
        embeddings: Used instead of the embedding model of *settings*.
        wait_seconds: The timeout; None waits without limit.
        is_split: Whether `inject` returns two blocks, or all in the first.
    """

    def __init__(
        self,
        storage: MemoryStorage,
        settings: Settings,
        *,
        embeddings: Embeddings | None = None,
        wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
        is_split: bool = False,
    ) -> None:
        self._storage = storage
        self._is_split = is_split
        # built before the first model call, so that building does not count against the timeout
        self._pipeline = make_recall_pipeline(
            settings,
            embeddings=embeddings,
            waits_for="vectors" if wait_seconds is None else "nothing",
        )
        self._pipeline.load()
        start_warm_up()
        self._wait_seconds = wait_seconds
        self._executor = DaemonExecutor()

    def inject(self, identity: UserIdentity, messages: Sequence[BaseMessage], anchor: Anchor | None = None) -> Injected:
        """Return the memory that is relevant to *messages*; its texts are "" if there is none, or if memory fails.

        Args:
            identity: Whose memory, and the conversation.
            messages: The conversation so far, the oldest first.
            anchor: What the last call of the conversation returned; None if that is not known.
        """
        try:
            wait([start_warm_up()], WARM_UP_SECONDS)
            return self._executor.run(self._wait_seconds, lambda: self._load(identity, messages, anchor))
        except Exception as error:  # noqa: BLE001 - storages and models may raise anything; the agent goes on
            self._log(identity.scope, error)
            return Injected()

    def _load(self, identity: UserIdentity, messages: Sequence[BaseMessage], anchor: Anchor | None) -> Injected:
        """Return the memory in one block or, if it is split, in two: see `memgraph.retrieval.split`."""
        storage, scope, now = self._storage, identity.scope, time.time()
        memory, said, vectors = storage.load(scope), storage.episodes(scope), storage.vectors(scope)
        if not self._is_split:
            found = self._pipeline.recall(memory, messages, episodes=said, vectors=vectors)
            facts, episodes = [item.fact.id for item in found.facts], [item.episode.id for item in found.episodes]
            return Injected(found.text, shown=Shown(facts=facts, episodes=episodes))
        base = self._base(memory, scope, anchor) if anchor and now - anchor["at"] < STABLE_SECONDS else memory
        text = split(
            self._pipeline,
            memory,
            messages,
            base=base,
            thread=identity.thread_id or derived_thread(messages),
            episodes=said,
            vectors=vectors,
        )
        if not (anchor and anchor["revision"] == text.revision):
            anchor = Anchor(revision=text.revision, at=now)
        shown = Shown(facts=list(text.facts), episodes=list(text.episodes))
        return Injected(text.stable, text.recalled, anchor, shown)

    def _base(self, memory: MemoryDocument, scope: Scope, anchor: Anchor) -> MemoryDocument:
        """Return the memory at *anchor*; the current one if that cannot be read back."""
        if anchor["revision"] == memory.revision:
            return memory
        try:
            return load_revision(self._storage, scope, anchor["revision"])
        except EditError:
            return memory

    def _log(self, scope: Scope, error: Exception) -> None:
        name = scope.log_name
        if isinstance(error, TimeoutError):
            logger.warning(
                "the memory of %s did not answer within %s s; the agent goes on without", name, self._wait_seconds
            )
        else:
            logger.error("the memory of %s cannot be injected; the agent goes on without", name, exc_info=error)
