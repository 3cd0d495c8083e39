"""The history of a stored memory: undo a revision, revert a thread or a time, and load an earlier state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memgraph.editing.facts import current_time, find_fact
from memgraph.editing.update import Change, update_memory
from memgraph.errors import EditError, NotInHistoryError
from memgraph.history.rebuild import rebuild_progress, rebuild_scope
from memgraph.history.revert import Revert, Source, revert
from memgraph.history.undo import FactHistory, Undo, find_undoable, memory_at, trace_fact, undo
from memgraph.models import ChangeOrigin, MemoryDocument, Revision, Scope
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage
from memgraph.storage.backups import Backups
from memgraph.text import dates

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


def undo_revision(
    storage: MemoryStorage,
    scope: Scope,
    number: int | None = None,
    *,
    relearn: bool = False,
    partial: bool = False,
    policy: Policy | None = None,
    guard: Callable[[Change], Change] = lambda change: change,
) -> Undo:
    """Undo a revision, as a new revision; see `memgraph.history.undo`. If it has conflicts, nothing is saved.

    Args:
        storage: Where the memory is stored.
        scope: Whose memory.
        number: The revision; None is the latest one that is neither undone nor an undo.
        relearn: Whether the next update learns from the turns of the revision again.
        partial: Whether to undo what has no conflict.
        policy: The limits of the history.
        guard: Adds a check to the change, such as that of the revision that a client has read.

    Raises:
        EditError: If there is no such revision, or it deleted the memory, whose content is gone.
        RevisionConflictError: If too many attempts in a row lost the race.
        StorageError: If the memory cannot be loaded or saved.
    """
    revision = find_revision(storage, scope, number)
    if revision.by == "delete":
        raise EditError(f"revision {revision.revision} deleted the memory; what it had is gone")
    done: list[Undo] = []

    def change(memory: MemoryDocument) -> MemoryDocument:
        done[:] = [undo(memory, revision, at=current_time(), relearn=relearn, partial=partial)]
        return done[0].memory

    origin = ChangeOrigin(by="undo", thread=revision.thread, undoes=revision.revision)
    memory = update_memory(storage, scope, guard(change), origin=origin, policy=policy)
    return done[0]._replace(memory=memory)


def revert_source(
    storage: MemoryStorage,
    scope: Scope,
    *,
    thread: str | None = None,
    since: str | None = None,
    timezone: str = "UTC",
    policy: Policy | None = None,
    guard: Callable[[Change], Change] = lambda change: change,
) -> Revert:
    """Take back what rests only on a thread or a time, as one revision; see `memgraph.history.revert`.

    The episodes stay, so what was said can still be recalled.

    Args:
        storage: Where the memory is stored.
        scope: Whose memory.
        thread: Take back what was learned in this thread.
        since: Take back what was learned since this date: a year, month, day or time. Exactly one of the two is given.
        timezone: In which a day of *since* begins, such as `Europe/Lisbon`.
        policy: The limits of the history.
        guard: Adds a check to the change, such as that of the revision that a client has read.

    Raises:
        EditError: If both *thread* and *since* are given, or none, or *since* is not a date.
        RevisionConflictError: If too many attempts in a row lost the race.
        StorageError: If the memory cannot be loaded or saved.
    """
    source = _source_of(thread, since, timezone)
    episodes = storage.episodes(scope)
    done: list[Revert] = []

    def change(memory: MemoryDocument) -> MemoryDocument:
        done[:] = [revert(memory, storage.revisions(scope), episodes, source, at=current_time())]
        return done[0].memory

    origin = ChangeOrigin(by="revert", thread=thread or "")
    memory = update_memory(storage, scope, guard(change), origin=origin, policy=policy)
    return done[0]._replace(memory=memory)


def _source_of(thread: str | None, since: str | None, timezone: str) -> Source:
    if bool(thread) == bool(since):
        raise EditError("name what is taken back: either a thread or a date since when")
    try:
        return Source(thread=thread or None, is_since=dates.since(since, timezone) if since else None)
    except EditError as error:
        raise EditError(f"since: {error}") from None


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


def explain_fact(storage: MemoryStorage, scope: Scope, fact_id: str) -> FactHistory:
    """Return why a fact is known: its evidence, what it superseded, and the revisions that changed it.

    Raises:
        EditError: If neither the memory nor its history has it.
        StorageError: If the storage cannot be reached.
    """
    memory = storage.load(scope)
    found = trace_fact(memory, storage.revisions(scope), fact_id)
    return found or FactHistory(find_fact(memory, fact_id), "current", (), ())
