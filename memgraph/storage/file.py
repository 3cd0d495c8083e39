"""Memories as JSON files that a person can read and edit."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from memgraph.errors import DamagedMemoryError, RevisionConflictError, StorageError
from memgraph.models import Memory
from memgraph.storage.atomic_file import atomic_write, locked, make_folder, read, replace, sync_folder, wrap_os_errors
from memgraph.storage.base import MemoryStorage, is_tombstone, load_with_fallback, next_revision, tombstone
from memgraph.storage.manual_edits import FileBytes, FileState, bump_revision, detect
from memgraph.storage.paths import Layout, absolute, path_of_url
from memgraph.storage.serialization import DocumentCache, serialize

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from memgraph.models import Scope

LOCK_TIMEOUT_SECONDS = 30.0
RECORD_TIMEOUT_SECONDS = 1.0
"""How long a load waits to record a hand edit; it goes on without."""


class FileStorage(MemoryStorage):
    """One JSON file a scope; any number of threads and processes, and people with an editor.

    A save writes a temporary file and renames it, under a lock file; a reader needs no lock to see a whole
    document. Beside `memory.json` lies `memory.json.last`, the last good one: what to go back to when an
    edit broke the document, and what tells an edit from a save.

    A hand edit counts as a writer, in three steps that need nothing but these two files, so that they hold
    for any process:

    1. A document that does not say what the last good one says was edited by hand. Its revision is never
       below that of the last good one, whatever stands in it.
    2. The first load that sees an edit records it: the edited document becomes the last good one, one
       revision higher. Whoever loaded before is thereby out of date. The document itself is not touched.
    3. A save over an edit that is not recorded is a conflict: nobody can have loaded it.

    So a run that meets an edit loses one race, loads again, and wins the next. Where an edit cannot be
    recorded (a read-only folder) it is still loaded. A removed document reads as a missing one, and what is
    saved next takes its revision from the last good one.

    Args:
        path: The base folder, or NAME.json: then NAME.json is the global document, its folder the base.
            None is the platform's folder for user data.
        lock_timeout: Seconds to wait for another writer.
    """

    def __init__(self, path: str | Path | None = None, *, lock_timeout: float = LOCK_TIMEOUT_SECONDS) -> None:
        place = absolute(path)
        self._layout = Layout(place.parent, place.name) if place.suffix == ".json" else Layout(place)
        self._name = f"file:{place}"
        self._lock_timeout = lock_timeout
        self._parsed = DocumentCache()

    @property
    def name(self) -> str:
        return self._name

    @classmethod
    def from_url(cls, location: str) -> Self:
        return cls(path_of_url("file", location))

    def where(self, scope: Scope) -> str:
        return str(self._layout.document(scope))

    def load(self, scope: Scope) -> Memory:
        return load_with_fallback(scope, self._read)

    def save(self, scope: Scope, memory: Memory) -> Memory:
        path = self._layout.document(scope)
        with self._writing(scope, path):
            data, seen = self._look(path)
            saved = next_revision(scope, seen.memory, memory)
            if not seen.recorded:
                raise RevisionConflictError(scope, memory.revision)
            return self._write(scope, path, saved.model_copy(update={"revision": seen.revision + 1}), data)

    def delete(self, scope: Scope) -> Memory:
        path = self._layout.document(scope)
        while True:
            try:
                with self._writing(scope, path):
                    data, seen = self._look(path)
                    return self._write(scope, path, _deleted(seen), data)
            except RevisionConflictError:
                continue  # edited while we were at it: the edit is to go too

    def scopes(self) -> Iterator[Scope]:
        with wrap_os_errors(self._layout.base):
            for scope, path in self._layout.documents():
                data = read(path)
                if data is not None and not self._is_deleted(path, data):
                    yield scope

    def _read(self, scope: Scope) -> Memory | None:
        path = self._layout.document(scope)
        with wrap_os_errors(path):
            _, seen = self._look(path)
            return seen.memory if seen.recorded else self._record(path, seen)

    def _look(self, path: Path) -> tuple[bytes | None, FileState]:
        """Read the document at *path*: its bytes, and what they say."""
        data, last = read(path), read(_last(path))
        try:
            return data, detect(FileBytes(str(path), data), FileBytes(str(_last(path)), last), self._parsed.decode)
        except DamagedMemoryError as error:
            hint = f" (the last good one is {_last(path)})" if last is not None else ""
            raise DamagedMemoryError(error.location, error.reason + hint) from None

    def _record(self, path: Path, seen: FileState) -> Memory | None:
        """Make an edited document the last good one, at the next revision."""
        try:
            with locked(path, RECORD_TIMEOUT_SECONDS):
                _, seen = self._look(path)
                if seen.recorded or seen.memory is None:
                    return seen.memory
                memory, data = serialize(bump_revision(seen.memory))
                replace(_last(path), data)
                return memory
        except DamagedMemoryError:
            raise
        except (StorageError, OSError):
            return seen.memory

    def _write(self, scope: Scope, path: Path, memory: Memory, replaced: bytes | None) -> Memory:
        """Put *memory* in the place of the bytes *replaced*, unless somebody edited them meanwhile."""
        stored, data = serialize(memory)
        with atomic_write(_last(path), data, durable=False) as last, atomic_write(path, data) as document:
            if read(path) != replaced:
                raise RevisionConflictError(scope, memory.revision - 1)
            document.replace(path)
            with suppress(OSError):  # the save has happened; without this the document merely looks edited
                last.replace(_last(path))
        sync_folder(path.parent)
        self._parsed.put(data, str(path), stored)
        return stored

    @contextmanager
    def _writing(self, scope: Scope, path: Path) -> Generator[None]:
        """Keep other writers of the document at *path* out, after making the folder it belongs to."""
        with wrap_os_errors(path):
            make_folder(path.parent)
            self._keep_user_id(scope)
            with locked(path, self._lock_timeout):
                yield

    def _keep_user_id(self, scope: Scope) -> None:
        path = self._layout.user_id_file(scope)
        user_id = scope.user_id.encode()
        if path and read(path) != user_id:
            with locked(path, self._lock_timeout):
                replace(path, user_id)

    def _is_deleted(self, path: Path, data: bytes) -> bool:
        """Whether a document is a tombstone. A damaged one is not: somebody has to look at it."""
        if b"forgotten" not in data:
            return False
        try:
            return is_tombstone(self._parsed.decode(data, str(path)))
        except DamagedMemoryError:
            return False


def _last(path: Path) -> Path:
    """Where the last good one of the document at *path* is."""
    return path.with_name(f"{path.name}.last")


def _deleted(seen: FileState) -> Memory:
    """Return what stays of a document that is deleted; of a missing one, that revisions go on where they were."""
    return tombstone((seen.memory or Memory()).model_copy(update={"revision": seen.revision}))
