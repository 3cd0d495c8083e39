"""Services: the storage, the invoker and the backups of one app, opened once and closed with the app."""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memgraph.api.session_store import SessionStore
from memgraph.config import make_storage
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.retrieval.results import RecallResult
from memgraph.settings import Settings
from memgraph.storage.backups import Backups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import AnyMessage

    from memgraph.background import Outbox
    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.models import Scope
    from memgraph.storage import MemoryStorage

_IN_MEMORY = "memory:"


@dataclass(frozen=True)
class OpenServices:
    """The services that need closing."""

    storage: MemoryStorage
    outbox: Outbox
    invoker: BackgroundInvoker
    backups: Backups
    sessions: SessionStore
    folder: tempfile.TemporaryDirectory[str] | None


class Services:
    """What the routes use, opened at first use.

    Args:
        settings: The settings of the app.
        storage: The storage of the memories, which is not closed here; default: the configured one.
    """

    def __init__(self, settings: Settings, *, storage: MemoryStorage | None = None) -> None:
        self.settings = settings
        self.recall_pipeline = make_recall_pipeline(settings)
        self._given_storage = storage
        self._lock = threading.Lock()
        self._opened: OpenServices | None = None

    @property
    def storage(self) -> MemoryStorage:
        """The storage of the memories."""
        return self.open().storage

    @property
    def invoker(self) -> BackgroundInvoker:
        """The invoker that conversations are submitted to."""
        return self.open().invoker

    @property
    def backups(self) -> Backups:
        """The memories before they were overwritten by an import."""
        return self.open().backups

    def open(self) -> OpenServices:
        """Return the open services, opening them at the first call. Blocking: not for the event loop.

        Raises:
            ConfigError: If the storage or the outbox cannot be opened.
        """
        with self._lock:
            if self._opened is None:
                self._opened = _open(self.settings, self._given_storage)
            return self._opened

    def close(self) -> None:
        """Finish the running jobs and close what was opened here; pending jobs run after the next start."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is None:
            return
        opened.invoker.close()
        opened.outbox.close()
        if self._given_storage is None:
            opened.storage.close()
        if opened.folder:
            opened.folder.cleanup()

    def recall(
        self,
        scope: Scope,
        messages: Sequence[AnyMessage],
        *,
        max_tokens: int | None = None,
        as_of: str | None = None,
    ) -> RecallResult:
        """Return the memory text for a prompt; it is empty if `enabled` or `injection_enabled` is false.

        Raises:
            EditError: If *as_of* is not a date.
            StorageError: If the memory cannot be read.
        """
        if not (self.settings.enabled and self.settings.injection_enabled):
            return RecallResult(text="", tokens=0)
        pipeline = replace(self.recall_pipeline, max_tokens=max_tokens) if max_tokens else self.recall_pipeline
        storage = self.storage
        memory, episodes, vectors = storage.load(scope), storage.episodes(scope), storage.vectors(scope)
        return pipeline.recall(memory, messages, episodes=episodes, vectors=vectors, as_of=as_of)

    def discard_pending(self, scope: Scope, deletion: str) -> None:
        """Run the pending, failed and reviewed jobs of a deleted memory at once.

        The worker discards them, because they were submitted before *deletion*: the time in the tombstone.
        """
        if not self.settings.enabled:
            return
        from memgraph.background.drain import forget_submissions

        opened = self.open()
        forget_submissions(opened.outbox.for_storage(opened.storage.name), scope, deletion, now=time.time())
        self.invoker.retry(scope)  # wakes the workers


def _open(settings: Settings, storage: MemoryStorage | None) -> OpenServices:
    from memgraph.background import open_outbox
    from memgraph.background.background_invoker import BackgroundInvoker

    storage = (storage or make_storage(settings)).bind()
    outbox = open_outbox(settings.outbox, storage=storage)
    invoker = BackgroundInvoker(outbox=outbox, settings=settings, storage=storage)
    invoker.start()  # a server also runs what other processes requeue and decide
    # backups of memories that end with the process end with it too
    is_temporary = storage.name.startswith(_IN_MEMORY) and not settings.api_backups
    folder = tempfile.TemporaryDirectory(prefix="memgraph-backups-") if is_temporary else None
    backups = Backups.of(storage.name, folder.name if folder else settings.api_backups)
    backups.delete_old()
    sessions = SessionStore(outbox.file, settings.session_key)
    return OpenServices(storage, outbox, invoker, backups, sessions, folder)
