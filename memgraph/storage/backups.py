"""Backups: memories as they were before an import or an audit changed them, as files that can be imported again."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from memgraph.models import MemoryDocument, Scope
from memgraph.storage.atomic_file import make_folder, read_file, replace, wrap_os_errors
from memgraph.storage.document import serialize
from memgraph.storage.paths import Layout, absolute, default_folder

MAX_BACKUPS = 20
"""Backups of one memory; older ones are deleted."""
MAX_DAYS = 90
"""Days that a backup is kept; older ones are deleted at the next backup of any memory, and when the HTTP API starts."""

_NAME = re.compile(r"\d{8}T\d{12}Z\.json")
_FOLDER = "backups"
_TIME = "%Y%m%dT%H%M%S%fZ.json"


@dataclass(frozen=True, slots=True)
class Backup:
    """The name and the size of a backup."""

    name: str
    bytes: int


class Backups:
    """Backups of memories in a folder.

    Args:
        folder: Where the backups are stored; created with the first one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._layout = Layout(folder)

    @classmethod
    def of(cls, storage_name: str, configured: str | None) -> Self:
        """Return the backups in the *configured* folder, else in one for each storage."""
        if configured:
            return cls(absolute(configured))
        kind, _, location = storage_name.partition(":")
        if kind in ("file", "sqlite"):  # one place for each storage, by whichever path it is opened
            storage_name = f"{kind}:{os.path.realpath(location)}"
        digest = hashlib.sha256(storage_name.encode("utf-8", "replace")).hexdigest()[:8]
        return cls(default_folder() / f"backups-{digest}")

    def save(self, scope: Scope, memory: MemoryDocument, name: str) -> Path:
        """Store *memory* under *name*, from `new_name`, delete backups beyond the limits, and return the file.

        Raises:
            StorageError: If it cannot be written.
        """
        folder = self._folder(scope)
        with wrap_os_errors(folder):
            make_folder(folder)
            replace(folder / name, serialize(memory)[1])
            for old in self._files(scope)[MAX_BACKUPS:]:
                old.unlink(missing_ok=True)
        self.delete_old()
        return folder / name

    def delete_old(self) -> None:
        """Delete the backups of all memories that are older than MAX_DAYS."""
        oldest = f"{datetime.now(UTC) - timedelta(days=MAX_DAYS):{_TIME}}"
        with wrap_os_errors(self.folder):
            for path in self.folder.glob(f"**/{_FOLDER}/*.json"):
                if _NAME.fullmatch(path.name) and path.name < oldest:
                    path.unlink(missing_ok=True)

    def list(self, scope: Scope) -> tuple[Backup, ...]:
        """Return the backups of a memory, the newest first."""
        with wrap_os_errors(self._folder(scope)):
            return tuple(Backup(path.name, path.stat().st_size) for path in self._files(scope))

    def read(self, scope: Scope, name: str) -> bytes | None:
        """Return the document called *name*; None if it does not exist."""
        if not _NAME.fullmatch(name):
            return None
        return read_file(self._folder(scope) / name)

    def scopes_of(self, user_id: str) -> list[Scope]:
        """Return the scope of a user, and of each agent that may have backups."""
        with wrap_os_errors(self.folder):
            return self._layout.scopes_of(user_id)

    def files_of(self, scope: Scope) -> list[Path]:
        """Return all files in the folder of the backups of a memory."""
        folder = self._folder(scope)
        with wrap_os_errors(folder):
            return sorted(folder.iterdir()) if folder.is_dir() else []

    def documents(self, scope: Scope) -> list[bytes]:
        """Return the documents of all backups of a memory, the newest first."""
        with wrap_os_errors(self._folder(scope)):
            return [path.read_bytes() for path in self._files(scope)]

    def delete(self, scope: Scope) -> int:
        """Delete every backup of a memory, and return how many there were."""
        folder = self._folder(scope)
        with wrap_os_errors(folder):
            count = len(self._files(scope))
            if folder.is_dir():
                shutil.rmtree(folder)
        return count

    def _files(self, scope: Scope) -> list[Path]:
        folder = self._folder(scope)
        paths = folder.iterdir() if folder.is_dir() else ()
        return sorted((path for path in paths if _NAME.fullmatch(path.name)), reverse=True)

    def _folder(self, scope: Scope) -> Path:
        return self._layout.document(scope).parent / _FOLDER


def new_name() -> str:
    """Return a name for a backup made now; names sort by time."""
    return f"{datetime.now(UTC):{_TIME}}"
