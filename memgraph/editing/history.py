"""The history of a stored memory: find a revision, load an earlier state, and delete copies of the memory."""

from __future__ import annotations

from collections.abc import Iterator

from memgraph.errors import NotInHistoryError
from memgraph.history.rebuild import rebuild_progress, rebuild_scope
from memgraph.history.undo import find_undoable, memory_at
from memgraph.models import MemoryDocument, Revision, Scope
from memgraph.storage import MemoryStorage
from memgraph.storage.backups import Backups

_PAGE = 50


def iterate_revisions(storage: MemoryStorage, scope: Scope) -> Iterator[Revision]:
    """Yield the history of *scope*, the newest revision first, read page by page."""
    before: int | None = None
    while page := storage.revisions(scope, limit=_PAGE, before=before):
        yield from page
        before = page[-1].revision


def find_revision(storage: MemoryStorage, scope: Scope, number: int | None) -> Revision:
    """Return the revision *number*; None is the latest one that can be undone.

    Raises:
        EditError: If there is none.
    """
    if number is None:
        return find_undoable(iterate_revisions(storage, scope))
    found = storage.revisions(scope, limit=1, before=number + 1) if number > 0 else ()
    if not found or found[0].revision != number:
        raise NotInHistoryError(f"there is no revision {number} in the history of this memory")
    return found[0]


def discard_rebuild(storage: MemoryStorage, scope: Scope) -> None:
    """Delete what an unfinished rebuild of the memory of *scope* has learned, if there is one.

    Raises:
        StorageError: If it cannot be read or deleted.
    """
    place = rebuild_scope(scope)
    if rebuild_progress(storage.load(place)):
        storage.delete(place)


def discard_copies(storage: MemoryStorage, scope: Scope, backups: Backups) -> int:
    """Delete the copies of the memory of *scope*: an unfinished rebuild, and its backups.

    Returns:
        The number of backups.

    Raises:
        StorageError: If something cannot be read or deleted.
    """
    discard_rebuild(storage, scope)
    return backups.delete(scope)


def load_revision(storage: MemoryStorage, scope: Scope, number: int) -> MemoryDocument:
    """Return the memory of *scope* as it was at revision *number*.

    Raises:
        EditError: If the history does not go back to it.
        StorageError: If the storage cannot be reached.
    """
    memory = storage.load(scope)
    return memory_at(memory, iterate_revisions(storage, scope), number)
