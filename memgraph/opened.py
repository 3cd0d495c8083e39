"""OpenMemory: the storage, outbox, index and model that every way into a memory shares."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from concurrent import futures
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph._concurrency import Closing, run_in_thread
from memgraph._validation import check_calls
from memgraph.background import open_outbox
from memgraph.config import given_settings, make_context, make_storage
from memgraph.editing import update_memory
from memgraph.editing.history import discard_copies
from memgraph.errors import MemgraphError, MemoryClosedError
from memgraph.profile import check_profile
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.backups import Backups
from memgraph.storage.document import tombstone

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from pydantic import BaseModel

    from memgraph.background import Outbox
    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.background.execution import OnStart
    from memgraph.background.runner import OnUpdate
    from memgraph.background.shared import AgentModel
    from memgraph.context import Context
    from memgraph.editing.update import Change
    from memgraph.integrations.files import MemoryFiles
    from memgraph.integrations.store import MemoryBaseStore
    from memgraph.models import MemoryDocument, Scope
    from memgraph.retrieval.pipeline import RecallPipeline

logger = logging.getLogger("memgraph.invoker")


@check_calls
class OpenMemory(Closing):
    """An open memory: what is opened or made at the first need, and closed once. Safe to share between threads.

    Args:
        storage: As in `MemoryClient`, like *model*, *settings*, *embeddings* and *schema*.
        model: The chat model that learns.
        settings: The configuration.
        embeddings: A model for semantic ranking.
        schema: A pydantic model as a profile.
        outbox: The queue of what waits to be learned; None is the one of *settings*.
        learns: Whether this process learns. If not, what it queues or discards is left to the processes that do.
        on_start: See `BackgroundInvoker`.
    """

    def __init__(
        self,
        storage: str | MemoryStorage | None = None,
        *,
        model: str | BaseChatModel | AgentModel | None = None,
        settings: Settings | None = None,
        embeddings: Embeddings | None = None,
        schema: type[BaseModel] | None = None,
        outbox: str | None = None,
        learns: bool = True,
        on_start: OnStart | None = None,
    ) -> None:
        self.settings = given_settings(settings)
        if schema is not None:
            self.settings = self.settings.model_copy(update={"profile": check_profile(schema)})
        self.storage = make_storage(self.settings) if storage is None else open_storage(storage)
        self._owns_storage = not isinstance(storage, MemoryStorage)
        self._model = model
        self._embeddings = embeddings
        self._outbox = outbox
        self._learns = learns
        self._on_start = on_start
        self._owned = ExitStack()
        self._lock = threading.Lock()
        self._invoker: BackgroundInvoker | None = None
        self._pipeline: RecallPipeline | None = None
        self._resuming: futures.Future[None] | None = None
        """The first use: it looks for what an earlier process has left."""
        self._closing = threading.Event()
        self._is_closed = False

    @property
    def usable_storage(self) -> MemoryStorage:
        """The storage of the memories, for what needs an open memory.

        Raises:
            MemoryClosedError: If this memory was closed.
        """
        if self._is_closed:
            raise MemoryClosedError
        return self.storage

    @property
    def model(self) -> str | BaseChatModel | None:
        """The chat model that was named, or that an agent has called; None is the one of the settings."""
        from memgraph.background.shared import AgentModel

        return self._model.latest if isinstance(self._model, AgentModel) else self._model

    @property
    def context(self) -> Context:
        """The context of a graph over this memory."""
        return make_context(self.settings, model=self.model, storage=self.usable_storage, embeddings=self._embeddings)

    @property
    def pipeline(self) -> RecallPipeline:
        """What recalls, with its index."""
        with self._lock:
            if self._pipeline is None:
                from memgraph.retrieval.recall import make_recall_pipeline

                self._pipeline = make_recall_pipeline(self.settings, embeddings=self._embeddings)
            return self._pipeline

    @property
    def invoker(self) -> BackgroundInvoker:
        """What learns; it keeps the compiled graph open between calls."""
        with self._lock:
            if self._invoker is None:
                self._invoker = self.make_invoker()
            return self._invoker

    @cached_property
    def outbox(self) -> Outbox:
        """The queue of what waits to be learned; that of the invoker if this process learns."""
        queue = self.invoker.outbox if self._learns else None
        return queue or self._owned.enter_context(self._open_outbox())

    @cached_property
    def backups(self) -> Backups:
        """The memories before they were overwritten. Those of memories in RAM end with them."""
        if self.usable_storage.name.startswith("memory:") and not self.settings.api_backups:
            folder = self._owned.enter_context(tempfile.TemporaryDirectory(prefix="memgraph-backups-"))
            return Backups(Path(folder))
        return Backups.of(self.usable_storage.name, self.settings.api_backups)

    def store(
        self,
        namespace: tuple[str, ...] = ("memories", "{user_id}"),
        *,
        user_id: str | None = None,
        agent_name: str | None = None,
    ) -> MemoryBaseStore:
        """Return the memory as a LangGraph `BaseStore`, for `create_agent(store=...)`; it needs no `close`.

        Args:
            namespace: The namespace of facts: a value under it whose `content` is a text is a fact. `{user_id}` is
                filled by the user, `{agent_name}` by the agent and `{category}` by the category of the fact.
            user_id: The only user that the store may name; None is any, and on LangGraph Server the authenticated one.
            agent_name: The agent, if it has its own memory of the user.

        Raises:
            ConfigError: If *namespace* is invalid.
            IdentityError: If an id is invalid.
        """
        from memgraph.integrations.store import MemoryBaseStore

        return MemoryBaseStore(self, namespace, user_id=user_id, agent_name=agent_name)

    def files(self, user_id: str, agent_name: str | None = None) -> MemoryFiles:
        """Return the memory of a user as files, for an agent that reads and writes a folder `/memories`.

        Args:
            user_id: The user.
            agent_name: The agent, if it has its own memory of the user.

        Raises:
            IdentityError: If an id is invalid; on LangGraph Server also if the user is not the one who is signed in.
        """
        from memgraph.integrations.files import MemoryFiles

        return MemoryFiles(self, user_id, agent_name)

    def make_invoker(self, *, immediate: bool = False, on_update: OnUpdate | None = None) -> BackgroundInvoker:
        """Make another invoker, which the caller closes."""
        from memgraph.background.background_invoker import BackgroundInvoker

        return BackgroundInvoker(
            outbox=self._outbox,
            settings=self.settings,
            storage=self.usable_storage,
            model=self._model,
            embeddings=self._embeddings,
            immediate=immediate,
            on_update=on_update,
            on_start=self._on_start,
        )

    def forget(self, scope: Scope, guard: Callable[[Change], Change] = lambda change: change) -> MemoryDocument:
        """Delete the memory of *scope*, its backups and its jobs, and return the tombstone.

        Args:
            scope: Whose memory. Later submissions are learned from again.
            guard: Adds a check to the deletion, such as that of the revision that a caller has read.
        """
        from memgraph.background.planning import last_deletion

        # at its revision, so that saving it detects a concurrent save
        deletion = guard(lambda memory: tombstone(memory).model_copy(update={"revision": memory.revision}))
        deleted = update_memory(self.usable_storage, scope, deletion, policy=self.settings.policy)
        discard_copies(self.usable_storage, scope, self.backups)
        # in this order: after a crash in between, whichever worker runs the jobs sees that the memory was deleted
        if self._learns:
            self.invoker.discard(scope, deleted)
        else:
            jobs = self.outbox.for_storage(self.usable_storage.name)
            jobs.forget(scope, last_deletion(deleted), now=time.time())
        return deleted

    def resume(self) -> None:
        """Learn in the background what an earlier process has left; only the first call does anything."""
        with self._lock:
            if self._resuming is None and self._invoker is None and self._learns and self.settings.enabled:
                self._resuming = run_in_thread(self._start_if_due, "memgraph-start")

    def _open_outbox(self) -> Outbox:
        return open_outbox(self.settings.outbox if self._outbox is None else self._outbox, storage=self.usable_storage)

    def _start_if_due(self) -> None:
        """Start to learn as soon as something is due: it looks again when that may be, until the close."""
        try:
            while (due := self._next_due()) is not None and due > (now := time.time()):
                if self._closing.wait(due - now) or self._invoker is not None:
                    return
            if due is not None:
                self.invoker.resume()
        except MemoryClosedError:
            pass  # the next process learns it
        except MemgraphError as error:
            logger.warning("what an earlier process left is not learned: %s", error)

    def _next_due(self) -> float | None:
        with self._open_outbox() as outbox:
            jobs = outbox.for_storage(self.usable_storage.name)
            return jobs.next_due(now=time.time()) if jobs.may_have_jobs() else None

    def close(self, *, wait: bool = True) -> None:
        """Learn from what waits, for at most `exit_seconds`, and close what was opened here.

        Args:
            wait: Whether to learn. If not, or if the time runs out, the next process learns from it, and makes the
                vectors that are missing; only running updates end first. It does not wait if another user of this
                process shares its threads.
        """
        self._closing.set()
        if wait and self._resuming is not None:
            futures.wait([self._resuming], self.settings.exit_seconds)
        with self._lock:
            self._is_closed = True
            invoker, self._invoker = self._invoker, None
        if invoker is not None:
            invoker.close(wait=wait)
        if self._pipeline is not None:
            self._pipeline.cache.close(finish=wait)
        self._owned.close()
        if self._owns_storage:
            self.storage.close()
