"""Services: an open memory and the sessions of browsers, opened once and closed with the app."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memgraph.api.session_store import SessionStore
from memgraph.config import make_storage
from memgraph.opened import OpenMemory

if TYPE_CHECKING:
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


class Services:
    """What the routes use, opened at first use.

    Args:
        settings: The settings of the app.
        storage: The storage of the memories, which is not closed here; default: the configured one.
    """

    def __init__(self, settings: Settings, *, storage: MemoryStorage | None = None) -> None:
        self.settings = settings
        self._given_storage = storage
        self._lock = threading.Lock()
        self._opened: tuple[OpenMemory, SessionStore] | None = None

    @property
    def memory(self) -> OpenMemory:
        """The open memory."""
        return self.open()[0]

    @property
    def sessions(self) -> SessionStore:
        """The sessions of browsers."""
        return self.open()[1]

    def open(self) -> tuple[OpenMemory, SessionStore]:
        """Return what needs closing, opening it at the first call. Blocking: not for the event loop.

        Raises:
            ConfigError: If the storage or the outbox cannot be opened.
        """
        with self._lock:
            if self._opened is None:
                memory = OpenMemory((self._given_storage or make_storage(self.settings)).bind(), settings=self.settings)
                _ = memory.pipeline  # invalid settings fail before the first request
                memory.invoker.start()  # a server also runs what other processes requeue and decide
                memory.backups.delete_old()
                self._opened = memory, SessionStore(memory.outbox.file, self.settings.session_key)
            return self._opened

    def close(self) -> None:
        """Finish the running jobs and close what was opened here; pending jobs run after the next start."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()
            if self._given_storage is None:
                opened[0].storage.close()
