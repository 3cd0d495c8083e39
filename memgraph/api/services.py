"""Services: an open memory and the sessions of browsers, opened once and closed with the app."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from memgraph.config import make_storage
from memgraph.opened import OpenMemory
from memgraph.storage.atomic_file import PRIVATE_FILE, append, locked, make_folder, read_file, wrap_os_errors
from memgraph.storage.paths import default_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import SecretStr

    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


logger = logging.getLogger(__name__)

SESSION_SECONDS = 12 * 3600
"""How long a browser stays signed in."""
_KEY_BYTES = 32
_LOCK_SECONDS = 10


class SessionStore:
    """A folder that the servers of one outbox file share: a random key, and an empty file for each ended session.

    A session that ends is refused by every server that has the folder, also after a restart. Servers without a common
    folder need the same *key* to read each other's cookies, and each ends only the sessions that end there.

    Args:
        file: The file next to which the folder is made at first use; None keeps all of it in RAM.
        key: The key; default: a random one, made once and kept in the folder.
    """

    def __init__(self, file: Path | None, key: SecretStr | None = None) -> None:
        self._folder = file.with_name(f"{file.name}.sessions") if file else None
        self._given_key = key.get_secret_value().encode() if key else None
        self._random_key = secrets.token_bytes(_KEY_BYTES)
        self._ended: set[str] = set()

    @cached_property
    def key(self) -> bytes:
        """The secret key. Blocking: not for the event loop.

        Raises:
            StorageError: If it cannot be read or written.
        """
        if self._given_key or self._folder is None:
            return self._given_key or self._random_key
        path = self._folder / "key"
        with locked(path, _LOCK_SECONDS):  # processes that start at the same time agree on one key
            key = read_file(path) or b""
            if len(key) != _KEY_BYTES:  # absent, or its write was interrupted
                key = self._random_key
                append(path, key, end=0)
            _make_private(path)
        return key

    def has_ended(self, session_id: str) -> bool:
        """Return whether the session was ended here."""
        return session_id in self._ended or (self._folder is not None and _mark(self._folder, session_id).exists())

    def end(self, session_id: str) -> bool:
        """End a session for good; return whether this call ended it.

        Raises:
            StorageError: If it cannot be written.
        """
        if self._folder is None:
            is_first = session_id not in self._ended
            self._ended.add(session_id)
            return is_first
        make_folder(self._folder)
        with wrap_os_errors(self._folder):
            try:
                os.close(os.open(_mark(self._folder, session_id), os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
            except FileExistsError:
                return False
            # a mark is needed only as long as the cookie is valid
            old = time.time() - 2 * SESSION_SECONDS
            for mark in self._folder.glob("ended-*"):
                with suppress(FileNotFoundError):  # another process removes it too
                    if mark.stat().st_mtime < old:
                        mark.unlink()
        return True


def _make_private(path: Path) -> None:
    """Take the key from other users of this machine, who could sign the cookies of every user."""
    with wrap_os_errors(path):
        if os.name != "posix" or not path.stat().st_mode & ~PRIVATE_FILE & 0o777:
            return
        logger.warning("other users of this machine could read %s: delete it, then all browsers sign in again", path)
        with suppress(PermissionError):  # of another owner
            path.chmod(PRIVATE_FILE)


def _mark(folder: Path, session_id: str) -> Path:
    return folder / f"ended-{session_id}"


# -- services ---------------------------------------------------------------------------------------


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
                key = self.settings.session_key
                # sessions that a given key signs outlive the process, so what has ended must too
                file = memory.outbox.file or (default_folder() / "page" if key else None)
                self._opened = memory, SessionStore(file, key)
            return self._opened

    def close(self) -> None:
        """Finish the running jobs and close what was opened here; pending jobs run after the next start."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()
            if self._given_storage is None:
                opened[0].storage.close()
