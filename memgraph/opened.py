"""OpenMemory: the storage, outbox, index and model that every way into a memory shares."""

from __future__ import annotations

import logging
import threading
import time
from concurrent import futures
from typing import TYPE_CHECKING

from memgraph._concurrency import Closing, run_in_thread
from memgraph.background.shared import AgentModel
from memgraph.config import load_settings, make_context, make_storage
from memgraph.errors import MemgraphError
from memgraph.profile import check_profile
from memgraph.storage import MemoryStorage, open_storage

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from pydantic import BaseModel

    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.background.runner import OnUpdate
    from memgraph.context import Context
    from memgraph.retrieval.pipeline import RecallPipeline
    from memgraph.settings import Settings

logger = logging.getLogger("memgraph.invoker")


class OpenMemory(Closing):
    """An open memory: what is opened or made at the first need, and closed once. Safe to share between threads."""

    def __init__(
        self,
        storage: str | MemoryStorage | None = None,
        *,
        model: str | BaseChatModel | AgentModel | None = None,
        settings: Settings | None = None,
        embeddings: Embeddings | None = None,
        schema: type[BaseModel] | None = None,
    ) -> None:
        self.settings = load_settings() if settings is None else settings
        if schema is not None:
            self.settings = self.settings.model_copy(update={"profile": check_profile(schema)})
        self.storage = make_storage(self.settings) if storage is None else open_storage(storage)
        self._owns_storage = not isinstance(storage, MemoryStorage)
        self._model = model
        self._embeddings = embeddings
        self._lock = threading.Lock()
        self._invoker: BackgroundInvoker | None = None
        self._pipeline: RecallPipeline | None = None
        self._resuming: futures.Future[None] | None = None
        """The first use: it looks for what an earlier process has left."""

    @property
    def model(self) -> str | BaseChatModel | None:
        """The chat model that was named, or that an agent has called; None is the one of the settings."""
        return self._model.latest if isinstance(self._model, AgentModel) else self._model

    @property
    def context(self) -> Context:
        """The context of a graph over this memory."""
        made = make_context(self.settings, model=self.model, storage=self.storage)
        return made if self._embeddings is None else made.model_copy(update={"embeddings": self._embeddings})

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

    def make_invoker(self, *, immediate: bool = False, on_update: OnUpdate | None = None) -> BackgroundInvoker:
        """Make another invoker, which the caller closes."""
        from memgraph.background.background_invoker import BackgroundInvoker

        return BackgroundInvoker(
            settings=self.settings, storage=self.storage, model=self._model, immediate=immediate, on_update=on_update
        )

    def resume(self) -> None:
        """Learn in the background what an earlier process has left; only the first call does anything."""
        with self._lock:
            if self._resuming is None and self.settings.enabled:
                self._resuming = run_in_thread(self._start_if_due, "memgraph-start")

    def _start_if_due(self) -> None:
        from memgraph.background import open_outbox

        try:
            with open_outbox(self.settings.outbox, storage=self.storage) as outbox:
                jobs, now = outbox.for_storage(self.storage.name), time.time()
                due = jobs.next_due(now=now) if jobs.may_have_jobs() else None
            if due is not None and due <= now:
                self.invoker.resume()
        except MemgraphError as error:
            logger.warning("what an earlier process left is not learned: %s", error)

    def close(self, *, wait: bool = True) -> None:
        """Learn from what waits, for at most `exit_seconds`, and close what was opened here.

        Args:
            wait: Whether to learn. If not, or if the time runs out, the next process learns from it. It does not wait
                if another user of this process shares its threads.
        """
        if wait and self._resuming is not None:
            futures.wait([self._resuming], self.settings.exit_seconds)
        with self._lock:
            invoker, self._invoker = self._invoker, None
        if invoker is not None:
            invoker.close(wait=wait)
        if self._owns_storage:
            self.storage.close()
