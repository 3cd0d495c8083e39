"""Backups: what was remembered before an import, as files that any import reads."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memgraph.models import Memory, Scope
from memgraph.storage.atomic_file import make_folder, read, replace, wrap_os_errors
from memgraph.storage.paths import Layout
from memgraph.storage.serialization import serialize

KEPT = 20
"""Backups of a memory; older ones go."""

_NAME = re.compile(r"\d{8}T\d{12}Z\.json")


@dataclass(frozen=True, slots=True)
class Backup:
    """What is told of a backup."""

    name: str
    bytes: int


class Backups:
    """Memories as they were before they were overwritten, below a folder of their own.

    Args:
        folder: Where they are kept; it is made at the first one.
    """

    def __init__(self, folder: Path) -> None:
        self._layout = Layout(folder)

    def save(self, scope: Scope, memory: Memory, name: str) -> None:
        """Keep *memory* under *name*, which `new_name` gave, and let go of those that are too many.

        Raises:
            StorageError: If it cannot be written.
        """
        folder = self._folder(scope)
        with wrap_os_errors(folder):
            make_folder(folder)
            replace(folder / name, serialize(memory)[1])
            for old in self._files(scope)[KEPT:]:
                old.unlink(missing_ok=True)

    def list(self, scope: Scope) -> tuple[Backup, ...]:
        """Every backup of the memory of *scope*, the newest first."""
        with wrap_os_errors(self._folder(scope)):
            return tuple(Backup(path.name, path.stat().st_size) for path in self._files(scope))

    def read(self, scope: Scope, name: str) -> bytes | None:
        """The document called *name*; None where there is none."""
        if not _NAME.fullmatch(name):
            return None
        path = self._folder(scope) / name
        with wrap_os_errors(path):
            return read(path)

    def delete(self, scope: Scope) -> None:
        """Remove every backup of the memory of *scope*."""
        folder = self._folder(scope)
        with wrap_os_errors(folder):
            shutil.rmtree(folder) if folder.is_dir() else None

    def _files(self, scope: Scope) -> list[Path]:
        folder = self._folder(scope)
        found = folder.iterdir() if folder.is_dir() else ()
        return sorted((path for path in found if _NAME.fullmatch(path.name)), reverse=True)

    def _folder(self, scope: Scope) -> Path:
        return self._layout.document(scope).parent / "backups"


def new_name() -> str:
    """A name for a backup made now; later ones sort later."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.json"
