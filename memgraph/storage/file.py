"""FileStorage: memories as JSON files that a person can read and edit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

from memgraph._cache import LRUCache
from memgraph.errors import DamagedMemoryError, RevisionConflictError, StorageError
from memgraph.models import MemoryDocument
from memgraph.storage import episode_file, history_file
from memgraph.storage.atomic_file import check_writable, compare_and_replace, locked, read, replace, wrap_os_errors
from memgraph.storage.base import MemoryStorage
from memgraph.storage.document import (
    DocumentCache,
    encode,
    initial_memory,
    is_deleted,
    is_tombstone,
    latest_deletion,
    load_with_fallback,
    next_revision,
    require_not_deleted,
    serialize,
    tombstone,
    was_deleted,
)
from memgraph.storage.episodes import EpisodeCache
from memgraph.storage.paths import Layout, absolute, path_of_url
from memgraph.storage.revisions import current_recording, edited_entry, next_entry
from memgraph.storage.traces import TraceCount, find_in_files

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence
    from pathlib import Path

    from memgraph.models import Episode, Revision, Scope
    from memgraph.policy import Policy
    from memgraph.storage.episode_file import FileIds, FileVersion
    from memgraph.storage.episodes import EpisodeSnapshot
    from memgraph.storage.paths import ScopeFiles
    from memgraph.storage.vector_file import VectorFile

LOCK_TIMEOUT_SECONDS = 30.0
RECORD_TIMEOUT_SECONDS = 1.0
"""Maximum seconds a load waits to record a manual edit; after that it loads without recording."""
ID_BYTES = 160
"""Size of a known id of an episode."""
MAX_ID_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class _FileState:
    """A document on disk, compared with its last good version."""

    data: bytes | None
    """The bytes of the document; None if there is none."""
    memory: MemoryDocument | None
    is_recorded: bool
    """Whether the last good version has the same content. If not, the document was edited manually."""
    revision: int
    """The highest known revision; that of *memory* if there is one."""
    known: MemoryDocument | None = None
    """The last good version, if the document was edited."""


class FileStorage(MemoryStorage):
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
       higher, which outdates all earlier loads. The document itself is not touched.
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
        self.name = f"file:{base}"
        self._lock_timeout = lock_timeout
        self._cache = DocumentCache()
        self._episodes: EpisodeCache[FileVersion] = EpisodeCache()
        self._episode_ids: LRUCache[Path, FileIds] = LRUCache(
            max_bytes=MAX_ID_BYTES, size_of=lambda _, ids: ID_BYTES * ids.count
        )

    @classmethod
    def from_url(cls, location: str) -> Self:
        return cls(path_of_url("file", location))

    def location(self, scope: Scope) -> str:
        return str(self._layout.document(scope))

    def load(self, scope: Scope) -> MemoryDocument:
        return load_with_fallback(scope, self._read)

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        with self._locked(scope) as files:
            return self._save(scope, files, memory)

    def save_with_episodes(
        self, scope: Scope, memory: MemoryDocument, episodes: Sequence[Episode], policy: Policy
    ) -> MemoryDocument:
        with self._locked(scope) as files:
            return self._save(scope, files, memory, lambda: self._append(scope, files, episodes, policy))

    def delete(self, scope: Scope) -> MemoryDocument:
        while True:
            try:
                with self._locked(scope) as files:
                    state = self._read_state(files)
                    # of a removed document, only the revision continues
                    known = (state.memory or MemoryDocument()).model_copy(update={"revision": state.revision})
                    return self._write(scope, files, tombstone(known), state)
            except RevisionConflictError:
                continue  # edited meanwhile: delete the edit, too

    def check_writable(self, scope: Scope) -> None:
        check_writable(self._layout.document(scope).parent)

    def append_episodes(
        self,
        scope: Scope,
        episodes: Sequence[Episode],
        policy: Policy,
        *,
        revision: int | None = None,
        durable: bool = True,
    ) -> None:
        if not episodes:
            return
        with self._locked(scope) as files:
            if revision is not None:
                require_not_deleted(scope, self._read_state(files).memory, revision)
            self._append(scope, files, episodes, policy, durable=durable)

    def episodes(self, scope: Scope) -> tuple[Episode, ...]:
        return self._episodes.visible(scope, self._read_episodes, was_deleted=lambda: was_deleted(self._read(scope)))

    def remove_episodes(self, scope: Scope, ids: Collection[str]) -> int:
        if not self._layout.files(scope).episodes.exists():
            return 0
        with self._locked(scope) as files:
            removed = episode_file.remove_episodes(files.episodes, ids)
        known = self._episodes.get(scope)
        self._clear_episodes()
        self._read_episodes(scope, known)
        return removed

    def revisions(self, scope: Scope, *, limit: int | None = None, before: int | None = None) -> list[Revision]:
        files = self._layout.files(scope)
        state = self._read_state(files)
        if not state.is_recorded:
            self._record_edit(files, state)
            state = self._read_state(files)
        return history_file.read_revisions(files.history, state.revision, limit=limit, before=before)

    def vectors(self, scope: Scope) -> VectorFile:
        from memgraph.storage.vector_file import VectorFile

        return VectorFile(self._layout.files(scope).vectors, scope, partial(self._has_tombstone, scope))

    def _has_tombstone(self, scope: Scope) -> bool:
        memory = self._read_state(self._layout.files(scope)).memory
        return memory is not None and is_tombstone(memory)

    def scopes(self) -> Iterator[Scope]:
        with wrap_os_errors(self._layout.base):
            for scope in self._layout.scopes():
                if self._has_document(self._layout.document(scope)) or self._read_episodes(scope):
                    yield scope

    def scopes_of(self, user_id: str) -> list[Scope]:
        with wrap_os_errors(self._layout.base):
            return [scope for scope in self._layout.scopes_of(user_id) if self._has_content(scope)]

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        with wrap_os_errors(self._layout.base):
            paths = [path for scope in self._layout.scopes_of(user_id) for path in self._layout.files_of(scope)]
        return TraceCount(len(find_in_files(paths, fragments)))

    def _has_content(self, scope: Scope) -> bool:
        """Whether there is a document, episodes, or the last good version of a document that was removed manually."""
        files = self._layout.files(scope)
        return self._has_document(files.document if files.document.exists() else files.last_good) or bool(
            self._read_episodes(scope)
        )

    def _has_document(self, path: Path) -> bool:
        data = read(path)
        if data is None:
            return False
        return b"forgotten" not in data or not is_deleted(lambda: self._cache.decode(data, str(path)))

    def _read(self, scope: Scope) -> MemoryDocument | None:
        files = self._layout.files(scope)
        state = self._read_state(files)
        return state.memory if state.is_recorded else self._record_edit(files, state)

    def _read_unrecorded(self, scope: Scope) -> MemoryDocument | None:
        return self._read_state(self._layout.files(scope)).memory

    def _read_episodes(self, scope: Scope, known: EpisodeSnapshot[FileVersion] | None = None) -> tuple[Episode, ...]:
        path = self._layout.files(scope).episodes
        return self._episodes.refresh(scope, lambda cached: episode_file.load_episodes(path, known or cached))

    @contextmanager
    def _locked(self, scope: Scope) -> Generator[ScopeFiles]:
        """Lock out other writers of *scope*, and yield the paths of its files."""
        files = self._layout.files(scope)
        with locked(files.document, self._lock_timeout):
            if files.user_id:
                self._write_user_id(scope, files.user_id)
            yield files

    def _save(
        self, scope: Scope, files: ScopeFiles, memory: MemoryDocument, before: Callable[[], object] = lambda: None
    ) -> MemoryDocument:
        """Save *memory* if it is based on the stored document; *before* is called once that is known."""
        state = self._read_state(files)
        saved = next_revision(scope, state.memory, memory)
        if not state.is_recorded:
            raise RevisionConflictError(scope, memory.revision)
        before()
        return self._write(scope, files, saved.model_copy(update={"revision": state.revision + 1}), state)

    def _append(
        self, scope: Scope, files: ScopeFiles, episodes: Sequence[Episode], policy: Policy, *, durable: bool = True
    ) -> None:
        if episodes:
            path, load = files.episodes, partial(self._read_episodes, scope)
            known = self._episode_ids.get(path)
            ids = episode_file.append_episodes(path, episodes, policy, load=load, durable=durable, known=known)
            if ids:
                self._episode_ids.put(path, ids)

    def _clear_episodes(self) -> None:
        """Remove the words and the ids of all users from the caches."""
        self._episodes.clear()
        self._episode_ids.clear()

    def _write(self, scope: Scope, files: ScopeFiles, memory: MemoryDocument, state: _FileState) -> MemoryDocument:
        """Append a revision and replace the document, unless it was edited since *state* was read."""
        is_deletion = is_tombstone(memory)
        if is_deletion:  # first, since a process may be killed in between
            episode_file.delete_episodes(files.episodes)
            self._clear_episodes()
            history_file.delete_history(files.history)
            self.vectors(scope).delete()
        stored, data = self._cache.serialize(memory, str(files.document))
        before = state.memory or initial_memory(scope, self._read_unrecorded)
        policy = current_recording().policy
        history_file.append_revision(files.history, next_entry(before, stored), policy)
        if not compare_and_replace(files.document, data, expected=state.data, copy=files.last_good):
            history_file.discard_from(files.history, stored.revision)
            raise RevisionConflictError(scope, memory.revision - 1)
        if is_deletion:
            self.vectors(scope).delete()  # again: those that a recall has stored meanwhile
        return stored

    def _write_user_id(self, scope: Scope, path: Path) -> None:
        """Store the user id next to documents whose folder name cannot hold it."""
        user_id = scope.user_id.encode()
        if read(path) != user_id:
            with locked(path, self._lock_timeout):
                replace(path, user_id)

    # -- manual edits -----------------------------------------------------------------------------

    def _read_state(self, files: ScopeFiles) -> _FileState:
        """Read the document, and find out whether it was edited since the last save.

        The revision in an edited document may be anything, so the one in the last good version counts. Only
        content is compared: reformatting a document is not an edit.

        Raises:
            DamagedMemoryError: If the document is damaged. A damaged last good version counts as missing.
        """
        data, last = _read_both(files.document, files.last_good)
        if data is None:
            known = self._decode_last_good(files.last_good, last)
            return _FileState(None, None, is_recorded=True, revision=known.revision if known else 0)
        memory = self._decode(files, data, has_last_good=last is not None)
        if data == last:
            return _FileState(data, memory, is_recorded=True, revision=memory.revision)
        known = self._decode_last_good(files.last_good, last)
        if known is None:
            return _FileState(data, memory, is_recorded=False, revision=memory.revision)
        unedited = _with_revision(memory, known, known.revision)
        if encode(unedited) == last:
            return _FileState(data, unedited, is_recorded=True, revision=unedited.revision)
        edited = _with_revision(memory, known, max(memory.revision, known.revision))
        return _FileState(data, edited, is_recorded=False, revision=edited.revision, known=known)

    def _record_edit(self, files: ScopeFiles, state: _FileState) -> MemoryDocument | None:
        """Make an edited document the last good version, at the next revision, so that earlier loads are outdated."""
        try:
            with locked(files.document, RECORD_TIMEOUT_SECONDS):
                state = self._read_state(files)
                if state.is_recorded or state.memory is None:
                    return state.memory
                memory, data = serialize(state.memory.model_copy(update={"revision": state.revision + 1}))
                _append_edit(files.history, state.known, memory)
                replace(files.last_good, data)
                return memory
        except DamagedMemoryError:
            raise
        except StorageError:
            return state.memory

    def _decode(self, files: ScopeFiles, data: bytes, *, has_last_good: bool) -> MemoryDocument:
        try:
            return self._cache.decode(data, str(files.document))
        except DamagedMemoryError as error:
            hint = f" (the last good version is {files.last_good})" if has_last_good else ""
            raise DamagedMemoryError(error.location, error.reason + hint) from None

    def _decode_last_good(self, last_good: Path, data: bytes | None) -> MemoryDocument | None:
        if data is None:
            return None
        try:
            return self._cache.decode(data, str(last_good))
        except DamagedMemoryError:
            return None


def _read_both(path: Path, last_good: Path) -> tuple[bytes | None, bytes | None]:
    """Return a document and its last good version, of one save: one that was replaced meanwhile is read again.

    A save replaces the document first. An older document with a newer copy would look edited.
    """
    data, last = read(path), read(last_good)
    while data != last and (newer := read(path)) != data:
        data, last = newer, read(last_good)
    return data, last


def _append_edit(history: Path, known: MemoryDocument | None, edited: MemoryDocument) -> None:
    """Append a revision for a manual edit. It does not start a history: whether one is kept is not known here."""
    if known and history.exists():
        history_file.append_revision(history, edited_entry(known, edited), current_recording().policy)


def _with_revision(memory: MemoryDocument, known: MemoryDocument, revision: int) -> MemoryDocument:
    """Return *memory* at *revision*, with the later deletion of the two."""
    forgotten = latest_deletion(memory.forgotten, known.forgotten)
    return memory.model_copy(update={"revision": revision, "forgotten": forgotten})
