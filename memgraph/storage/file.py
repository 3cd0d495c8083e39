"""FileStorage: memories as JSON files that a person can read and edit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from memgraph.errors import DamagedMemoryError, StorageError
from memgraph.models import ChangeOrigin, MemoryDocument, Scope
from memgraph.storage import json_lines
from memgraph.storage.atomic_file import (
    check_writable,
    compare_and_replace,
    finish_copy,
    locked,
    read_file,
    remove_file,
    replace,
    unfinished_copy,
    wrap_os_errors,
)
from memgraph.storage.document import decode, encode, latest_deletion, serialize
from memgraph.storage.log import NOTHING, Backend, Change, LogStorage, Rows, Stored
from memgraph.storage.paths import Layout, ScopeFiles, absolute, path_of_url
from memgraph.storage.revisions import current_recording, next_entry
from memgraph.storage.traces import TraceCount, find_in_files

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator
    from pathlib import Path


LOCK_TIMEOUT_SECONDS = 30.0
RECORD_TIMEOUT_SECONDS = 1.0
"""Maximum seconds a load waits to record a manual edit; after that it loads without recording."""


class FileStorage(LogStorage):
    """One human-readable JSON document per user. Manual edits are preserved.

    Any number of threads and processes may use the same folder. A save writes a temporary file and renames
    it, under a lock file; readers need no lock to see a complete document. Next to `memory.json` there is
    `memory.json.last`, the last good version: a backup if an edit breaks the document, and the reference that
    shows whether the document was edited. `episodes.jsonl` holds the episodes, one per line; it may be edited, too.
    `history.jsonl` holds the revisions, one per line.
    `vectors.db` holds the vectors of their texts, if an embedding model is used; it may be removed.

    A manual edit counts as a writer. This needs only these two files, so it works across processes:

    1. A document whose content differs from the last good version was edited. Its revision is never lower
       than that of the last good version.
    2. The first load after an edit records it: the edited content becomes the last good version, one revision
       higher, which outdates all earlier loads. The document itself is not touched. A save that was killed before
       it replaced the last good version is finished instead: the bytes for it are in `memory.json.last.tmp`.
    3. A save over an unrecorded edit is a conflict, since that edit cannot have been loaded.

    So a run that meets an edit loses one race, loads again and wins the next one. If an edit cannot be recorded
    (in a read-only folder), it is loaded anyway. A removed document reads as missing; the next save continues
    the revisions of the last good version.

    Args:
        path: The base folder, or NAME.json: then NAME.json is the global document and its folder the base.
            None is the platform's folder for user data.
        lock_timeout: Seconds to wait for another writer.
    """

    def __init__(self, path: str | Path | None = None, *, lock_timeout: float = LOCK_TIMEOUT_SECONDS) -> None:
        base = absolute(path)
        self._layout = Layout(base.parent, base.name) if base.suffix == ".json" else Layout(base)
        super().__init__(FileBackend(f"file:{base}", self._layout, lock_timeout))

    @classmethod
    def from_url(cls, location: str) -> Self:
        return cls(path_of_url("file", location))

    def scopes_of(self, user_id: str) -> list[Scope]:
        """Return those that have a document, episodes, or the last good version of what was removed."""
        listed = list(self.scopes())
        with wrap_os_errors(self._layout.base):
            return [scope for scope in self._layout.scopes_of(user_id) if scope in listed or self._is_left(scope)]

    def _is_left(self, scope: Scope) -> bool:
        files = self._layout.files(scope)
        is_unfinished = unfinished_copy(files.last_good) is not None
        return files.last_good.exists() and (is_unfinished or not files.document.exists())


@dataclass(frozen=True, slots=True)
class _FileState:
    """A document on disk, compared with its last good version."""

    raw: bytes | None
    """The bytes of the document; None if there is none."""
    stored: Stored
    edited: MemoryDocument | None = None
    """What a person made of the document, if that is not recorded yet: the last good version differs."""
    known: MemoryDocument | None = None
    """The last good version, if the document was edited."""
    is_unfinished: bool = False
    """Whether the save of the document ended before it replaced the last good version."""


class FileBackend(Backend):
    """Files below a folder; see `FileStorage`.

    Args:
        name: Name of the storage.
        layout: The paths.
        lock_timeout: Seconds to wait for another writer.
    """

    def __init__(self, name: str, layout: Layout, lock_timeout: float) -> None:
        super().__init__(name)
        self._layout = layout
        self._lock_timeout = lock_timeout

    def place(self, scope: Scope) -> str:
        return str(self._layout.document(scope))

    def read(self, scope: Scope) -> Stored:
        files = self._layout.files(scope)
        state = _read_state(files)
        if not (state.edited or state.is_unfinished):
            return state.stored
        try:
            with locked(files.document, RECORD_TIMEOUT_SECONDS):
                return _record_edit(files, _read_state(files)).stored
        except DamagedMemoryError:
            raise
        except StorageError:
            return state.stored

    def commit(self, scope: Scope, expected: Stored | None, change: Change, *, durable: bool = True) -> bool:
        with self._locked(scope) as files:
            state = None
            if expected is not None:
                state = _record_edit(files, _read_state(files))
                if state.stored != expected:
                    return False
            if change.is_deletion:
                remove_file(files.episodes)
                remove_file(files.history)
            if change.episodes:
                json_lines.append_episodes(files.episodes, change.episodes, change.policy, durable=durable)
            if state is None or change.document is None or change.entry is None:
                return True
            json_lines.append_revision(files.history, change.entry, change.policy)
            if compare_and_replace(files.document, change.document, expected=state.raw, copy=files.last_good):
                return True
            json_lines.discard_from(files.history, change.entry.revision)
            return False

    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        if not self._layout.files(scope).episodes.exists():
            return 0
        with self._locked(scope) as files:
            return json_lines.remove_episodes(files.episodes, ids)

    def rows(self, scope: Scope, after: object) -> Rows:
        return json_lines.read_episodes(self._layout.files(scope).episodes, after)

    def revisions(self, scope: Scope, below: int, limit: int | None) -> Iterable[bytes]:  # noqa: ARG002 - as needed
        return json_lines.read_revisions(self._layout.files(scope).history, below)

    def scopes(self) -> Iterator[tuple[Scope, bytes | None]]:
        with wrap_os_errors(self._layout.base):
            for scope in self._layout.scopes():
                files = self._layout.files(scope)
                data = read_file(files.document)
                if self.rows(scope, None).lines:
                    yield scope, None
                elif data is not None:
                    yield scope, data if b"forgotten" in data else None

    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        with wrap_os_errors(self._layout.base):
            paths = [path for scope in self._layout.scopes_of(user_id) for path in self._layout.files_of(scope)]
        return TraceCount(len(find_in_files(paths, fragments)))

    def vector_path(self, scope: Scope) -> Path:
        return self._layout.files(scope).vectors

    def check_writable(self, scope: Scope) -> None:
        check_writable(self._layout.document(scope).parent)

    @contextmanager
    def _locked(self, scope: Scope) -> Generator[ScopeFiles]:
        """Lock out other writers of *scope*, and yield the paths of its files."""
        files = self._layout.files(scope)
        with locked(files.document, self._lock_timeout):
            if files.user_id:
                self._write_user_id(scope, files.user_id)
            yield files

    def _write_user_id(self, scope: Scope, path: Path) -> None:
        """Store the user id next to documents whose folder name cannot hold it."""
        user_id = scope.user_id.encode()
        if read_file(path) != user_id:
            with locked(path, self._lock_timeout):
                replace(path, user_id)


# -- manual edits -----------------------------------------------------------------------------------


def _read_state(files: ScopeFiles) -> _FileState:
    """Read the document, and find out whether it was edited since the last save.

    The revision in an edited document may be anything, so the one in the last good version counts. Only content is
    compared: reformatting a document is not an edit.

    Raises:
        DamagedMemoryError: If the document is damaged. A damaged last good version counts as missing.
    """
    data, last = _read_both(files.document, files.last_good)
    if data is not None and data == last:
        return _FileState(data, Stored(data))
    known = _decode_last_good(files.last_good, last)
    if data is None:
        return _FileState(None, Stored(None, known.revision) if known else NOTHING)
    memory = _decode(files, data, has_last_good=last is not None)
    unfinished = unfinished_copy(files.last_good)
    saved = _decode_last_good(files.last_good, unfinished)
    is_unfinished = saved is not None and saved.revision == memory.revision
    if is_unfinished:
        known, last = saved, unfinished
    if known is None or last is None:
        return _FileState(data, Stored(data), edited=memory)
    unedited = _with_revision(memory, known, known.revision)
    if encode(unedited) == last:
        return _FileState(data, Stored(last), is_unfinished=is_unfinished)
    edited = _with_revision(memory, known, max(memory.revision, known.revision))
    return _FileState(data, Stored(serialize(edited)[1]), edited=edited, known=known)


def _record_edit(files: ScopeFiles, state: _FileState) -> _FileState:
    """Make an edited document the last good version, at the next revision, so that earlier loads are outdated.

    A save that did not end is finished: what it wrote is not an edit.
    """
    if not state.edited:
        if state.is_unfinished:
            finish_copy(files.last_good)
        return state
    memory, data = serialize(state.edited.model_copy(update={"revision": state.edited.revision + 1}))
    if state.known and files.history.exists():  # an edit does not start one: whether it is kept is not known here
        entry = next_entry(state.known, memory, ChangeOrigin())
        json_lines.append_revision(files.history, entry, current_recording().policy)
    replace(files.last_good, data)
    return _FileState(state.raw, Stored(data))


def _decode(files: ScopeFiles, data: bytes, *, has_last_good: bool) -> MemoryDocument:
    try:
        return decode(data, str(files.document))
    except DamagedMemoryError as error:
        hint = f" (the last good version is {files.last_good})" if has_last_good else ""
        raise DamagedMemoryError(error.location, error.reason + hint) from None


def _decode_last_good(last_good: Path, data: bytes | None) -> MemoryDocument | None:
    try:
        return None if data is None else decode(data, str(last_good))
    except DamagedMemoryError:
        return None


def _read_both(path: Path, last_good: Path) -> tuple[bytes | None, bytes | None]:
    """Return a document and its last good version, of one save: one that was replaced meanwhile is read again.

    A save replaces the document first. An older document with a newer copy would look edited.
    """
    data, last = read_file(path), read_file(last_good)
    while data != last and (newer := read_file(path)) != data:
        data, last = newer, read_file(last_good)
    return data, last


def _with_revision(memory: MemoryDocument, known: MemoryDocument, revision: int) -> MemoryDocument:
    """Return *memory* at *revision*, with the later deletion of the two."""
    forgotten = latest_deletion(memory.forgotten, known.forgotten)
    return memory.model_copy(update={"revision": revision, "forgotten": forgotten})
