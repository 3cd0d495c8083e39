"""Desk: what the routes work with, opened once and closed with the app."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.api.backups import Backups
from memgraph.config import make_storage
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.settings import Settings
from memgraph.storage.paths import absolute, default_folder

if TYPE_CHECKING:
    from memgraph.background import Outbox
    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.models import Scope
    from memgraph.storage import MemoryStorage

_RAM = "memory:"


@dataclass(frozen=True)
class OpenServices:
    """What is open."""

    storage: MemoryStorage
    outbox: Outbox
    invoker: BackgroundInvoker
    backups: Backups
    folder: tempfile.TemporaryDirectory[str] | None


class Services:
    """The storage, the invoker, the recaller and the backups of one app, opened at first use.

    Args:
        settings: What is configured.
        storage: Where memories are; None is what the settings say. It is not closed with the desk.
    """

    def __init__(self, settings: Settings, *, storage: MemoryStorage | None = None) -> None:
        self.settings = settings
        self.recaller = make_recall_pipeline(settings)
        self._given = storage
        self._lock = threading.Lock()
        self._opened: OpenServices | None = None

    @property
    def storage(self) -> MemoryStorage:
        """Where memories are."""
        return self.open().storage

    @property
    def invoker(self) -> BackgroundInvoker:
        """Where conversations are handed over."""
        return self.open().invoker

    @property
    def backups(self) -> Backups:
        """What was there before it was overwritten."""
        return self.open().backups

    def open(self) -> OpenServices:
        """Open what is not open yet. It blocks, so it is no work for an event loop.

        Raises:
            ConfigError: If the settings name something that cannot be opened.
        """
        with self._lock:
            if self._opened is None:
                self._opened = _open(self.settings, self._given)
            return self._opened

    def close(self) -> None:
        """Close what was opened here: what is being learned is finished, the rest waits for the next start."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is None:
            return
        opened.invoker.close()
        if self._given is None:
            opened.storage.close()
        if opened.folder:
            opened.folder.cleanup()

    def discard_pending(self, scope: Scope) -> None:
        """Have run at once what waits, was set aside or is in review for a memory that was deleted.

        Whoever runs it sees that it is from before the deletion, and drops it.
        """
        if not self.settings.enabled:
            return
        outbox, now = self.open().outbox, time.time()
        outbox.cancel_review(now=now, scope=scope)
        outbox.expedite(now=now, scope=scope)
        self.invoker.retry(scope)  # wakes the workers, too


def _open(settings: Settings, given: MemoryStorage | None) -> OpenServices:
    from memgraph.background import open_outbox
    from memgraph.background.background_invoker import BackgroundInvoker

    storage = given or make_storage(settings)
    outbox = open_outbox(settings.outbox, storage=storage)
    invoker = BackgroundInvoker(outbox=outbox, settings=settings, storage=storage)
    is_passing = storage.name.startswith(_RAM) and not settings.api_backups
    folder = tempfile.TemporaryDirectory(prefix="memgraph-backups-") if is_passing else None
    backups = Backups(Path(folder.name) if folder else _backup_folder(settings, storage))
    return OpenServices(storage, outbox, invoker, backups, folder)


def _backup_folder(settings: Settings, storage: MemoryStorage) -> Path:
    """What is configured, else one for each storage."""
    if settings.api_backups:
        return absolute(settings.api_backups)
    digest = hashlib.sha256(storage.name.encode("utf-8", "replace")).hexdigest()[:8]
    return default_folder() / f"backups-{digest}"
