"""Import of complete documents: merged into a memory, or in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from memgraph._validation import field_errors
from memgraph.editing.admission import AdmittedEpisodes, admit_document, admit_episodes
from memgraph.editing.facts import current_time, new_facts
from memgraph.errors import DamagedMemoryError, EditError, NotInHistoryError
from memgraph.history.rebuild import rebuild_progress, rebuild_scope
from memgraph.history.undo import find_undoable, memory_at
from memgraph.models import DocumentModel, Episode, MemoryDocument, PastFact, Revision, Scope, StoredItem, StoredProfile
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage
from memgraph.storage.backups import Backups
from memgraph.storage.document import decode

MAX_FACTS = 100_000
"""Maximum number of facts of a document, and of a memory after an import. They take 5 s of CPU."""
MAX_THREADS = 100_000
"""Maximum number of watermarks of a document."""

EPISODES = "episodes"
"""The key of an export that holds the episodes. A stored document does not have it."""
_EPISODES = TypeAdapter(tuple[Episode, ...])

_Part = TypeVar("_Part", bound=DocumentModel)


def read_document(data: bytes, name: str) -> MemoryDocument:
    """Parse a memory document, in any format that was ever released.

    Args:
        data: JSON in UTF-8.
        name: The name of the document in errors.

    Raises:
        EditError: If it is not a memory document, or is too large.
    """
    try:
        memory = decode(data, name)
    except DamagedMemoryError as error:
        raise EditError(f"{name} is not a memory document: {error.reason}") from None
    if not memory.model_fields_set & {"user", "history", "facts"}:
        raise EditError(f"{name} is not a memory document: it has no user, history or facts")
    for count, limit, kind in (
        (len(memory.facts), MAX_FACTS, "facts"),
        (len(memory.past), MAX_FACTS, "past facts"),
        (len(memory.as_said), MAX_FACTS, "claims as said"),
        (len(memory.threads), MAX_THREADS, "threads"),
    ):
        if count > limit:
            raise EditError(f"{name} has {count:,} {kind}; at most {limit:,} can be imported")
    return memory


def with_episodes(memory: MemoryDocument, episodes: Sequence[Episode]) -> MemoryDocument:
    """Return *memory* with *episodes* under the key `episodes`, for an export or a backup; unchanged without any."""
    if not episodes:
        return memory
    return memory.model_copy(update={EPISODES: [episode.model_dump(by_alias=True) for episode in episodes]})


def take_episodes(memory: MemoryDocument) -> tuple[MemoryDocument, tuple[Episode, ...]]:
    """Return an imported memory without its key `episodes`, and what it holds, for `missing_episodes`.

    Raises:
        EditError: If one of them is not an episode.
    """
    extra = memory.model_extra or {}
    if EPISODES not in extra:
        return memory, ()
    try:
        episodes = _EPISODES.validate_python(extra[EPISODES])
    except ValidationError as error:
        first = field_errors(error)[0]
        raise EditError(f"{EPISODES}.{first.path}: {first.message}") from None
    without = memory.model_copy()  # which copies the dict of its unknown keys
    (without.model_extra or {}).pop(EPISODES, None)
    return without, tuple(episode for episode in episodes if episode.id)


def missing_episodes(
    stored: Sequence[Episode], imported: Sequence[Episode], policy: Policy, *, trusted: bool = False
) -> AdmittedEpisodes:
    """Return those of *imported* that are not *stored*, as far as they are admitted; none if *policy* keeps none."""
    if policy.episodes == "off":
        return AdmittedEpisodes((), ())
    known = {episode.id for episode in stored}
    return admit_episodes([episode for episode in imported if episode.id not in known], trusted=trusted)


def merge_memory(memory: MemoryDocument, imported: MemoryDocument, *, trusted: bool = False) -> MemoryDocument:
    """Return *memory* with new facts, missing summaries and missing unknown keys from *imported*.

    Args:
        memory: The memory to extend.
        imported: What to add.
        trusted: Take *imported* as it is, the export or backup of its owner. Without it only what `admit_document`
            admits is taken: a document from anywhere could steer a model, forbid that its facts are ever corrected,
            and keep conversations from being learned.

    Raises:
        EditError: If the memory would have too many facts.
    """
    if not trusted:
        imported = admit_document(imported, memory).memory
    ids = {fact.id for fact in memory.recallable}
    added = new_facts(memory.facts, imported.facts, ids)
    if added and len(memory.facts) + len(added) > MAX_FACTS:
        total = len(memory.facts) + len(added)
        raise EditError(f"the memory would have {total:,} facts; at most {MAX_FACTS:,} are possible: import fewer")
    merged = (
        _with_missing_keys(_with_missing_summaries(memory, imported), imported)
        .model_copy(
            update={
                "facts": (*memory.facts, *added),
                "past": (*_new_past(memory, imported), *memory.past),
                "as_said": (*memory.as_said, *new_facts(memory.as_said, imported.as_said, ids)),
                "profile": _with_missing_values(memory.profile, imported.profile),
                "unreadable_facts": memory.unreadable_facts or imported.unreadable_facts,
                "store_items": _with_missing_items(memory.store_items, imported.store_items),
                "threads": {**imported.threads, **memory.threads},
            }
        )
        .with_pending(*imported.pending)
    )
    return merged if merged == memory else merged.model_copy(update={"last_updated": current_time()})


def replace_memory(memory: MemoryDocument, imported: MemoryDocument, *, trusted: bool = False) -> MemoryDocument:
    """Return *imported* as the next version of *memory*.

    The watermarks of *memory* are kept, so that messages it has learned from are not learned again.

    Args:
        memory: The memory to replace.
        imported: What replaces it.
        trusted: As in `merge_memory`. A backup is restored completely only with it.
    """
    if not trusted:
        imported = admit_document(imported, memory).memory
    return imported.model_copy(
        update={
            "revision": memory.revision,
            "forgotten": memory.forgotten,
            "threads": {**imported.threads, **memory.threads},
        }
    )


def _new_past(memory: MemoryDocument, imported: MemoryDocument) -> list[PastFact]:
    """Return the past facts of *imported* whose ids *memory* does not have."""
    known = {fact.id for fact in (*memory.facts, *memory.past)}
    return [fact for fact in imported.past if fact.id not in known]


def _with_missing_summaries(memory: MemoryDocument, imported: MemoryDocument) -> MemoryDocument:
    for name, section in imported.sections():
        own = memory.section(name)
        if own.summary:
            continue
        found = section.model_dump(include={"summary", "updated_at", "source"}) if section.summary else {}
        filled = _fill(own.model_copy(update=found), section)
        if filled != own:
            memory = memory.with_section(name, filled)
    return memory


def _with_missing_values(own: StoredProfile, other: StoredProfile) -> StoredProfile:
    if set(other.values) <= set(own.values):
        return _fill(own, other)
    values, at = {**other.values, **own.values}, max(own.updated_at, other.updated_at)
    return _fill(own.model_copy(update={"values": values, "updated_at": at}), other)


def _with_missing_items(own: tuple[StoredItem, ...], other: tuple[StoredItem, ...]) -> tuple[StoredItem, ...]:
    known = {item.id for item in own}
    return (*own, *(item for item in other if item.id not in known))


def _with_missing_keys(memory: MemoryDocument, imported: MemoryDocument) -> MemoryDocument:
    parts = {"user": _fill(memory.user, imported.user), "history": _fill(memory.history, imported.history)}
    return _fill(memory, imported).model_copy(update=parts)


def _fill(own: _Part, other: _Part) -> _Part:
    """Return *own* with the unknown keys of *other* that it does not have."""
    taken = {*type(own).model_fields, *(own.model_extra or {})}
    return own.model_copy(
        update={name: value for name, value in (other.model_extra or {}).items() if name not in taken}
    )


# -- users ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemorySummary:
    """One memory of a user: the one that all agents share, or that of an agent."""

    scope: Scope
    facts: int
    episodes: int
    """How many it sees, those of the shared memory included."""
    revision: int
    last_updated: str
    """ISO 8601 in UTC; "" if nothing was learned yet."""
    is_damaged: bool = False
    """Whether its document cannot be read; then all numbers are 0."""


def list_users(storage: MemoryStorage) -> dict[str, list[Scope]]:
    """Return the memories of each user, in alphabetical order, the shared one first.

    Raises:
        StorageError: If the storage cannot list them.
    """
    users: dict[str, list[Scope]] = {}
    for scope in sorted(storage.scopes(), key=lambda scope: (scope.user_id, scope.agent_name or "")):
        users.setdefault(scope.user_id, []).append(scope)
    return users


def summarize_memories(storage: MemoryStorage, scopes: Sequence[Scope]) -> Iterator[MemorySummary]:
    """Load each memory and yield its size.

    Raises:
        StorageError: If the storage cannot be reached.
    """
    for scope in scopes:
        try:
            memory = storage.load(scope)
        except DamagedMemoryError:
            yield MemorySummary(scope, 0, 0, 0, "", is_damaged=True)
            continue
        episodes = len(storage.episodes(scope))
        yield MemorySummary(scope, len(memory.facts), episodes, memory.revision, memory.last_updated)


# -- history ----------------------------------------------------------------------------------------

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
