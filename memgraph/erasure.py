"""Erase a user in all places, search for the erased texts, and write a receipt.

The receipt has what was removed where, what the search found, and what is out of reach.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from memgraph._cache import clear_caches
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.profile import ProfileMemory
from memgraph.background import Outbox, open_outbox
from memgraph.background.background_invoker import make_runner
from memgraph.background.shared import WorkerConfig
from memgraph.errors import DamagedMemoryError, MemgraphError, StorageError
from memgraph.llm import OFFLINE
from memgraph.models import Scope, timestamp
from memgraph.storage.backups import Backups
from memgraph.storage.document import is_tombstone
from memgraph.storage.traces import TraceCount, find_in_files, fragments_of, texts_in

if TYPE_CHECKING:
    from memgraph.attachments.store import MemoryStore
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


_FROZEN = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

OUT_OF_REACH = (
    "the database of a LangGraph checkpointer, which has the conversations themselves",
    "conversations that wait on a LangGraph Server, in its threads and runs",
    "logs, and traces such as LangSmith's",
    "providers of chat and embedding models, to whom the texts were sent",
    "files that `memgraph export` wrote to a path of your choice, copies of files, and database dumps",
    "memgraph-backup-*.json in the working folders of imports and audits by release 0.2 and before",
    "attachable memories that only code configures, not the settings",
    "free pages, write-ahead log and replicas of a PostgreSQL server or the store of a LangGraph graph",
    "caches of other processes, until they load the memory again or end",
    "items of shared memories that were written without a user, and documents of file memories",
)
"""What no erasure removes or searches."""
KEPT = "a tombstone for each memory: user id, agent, time, and ids of threads and messages, without any of their text"


class ErasedPlace(BaseModel):
    """One place that kept something of the user, or could have."""

    model_config = _FROZEN

    name: str
    """The storage, outbox, folder of backups or attachable memory."""
    removed: Mapping[str, int] = Field(default_factory=dict[str, int])
    """How many entries of each kind were removed."""
    remaining: int | None = None
    """How many of the searched texts its bytes still have; none if it cannot be searched."""
    of_others: int = 0
    """How many of the searched texts it keeps for other users, who have the same words."""
    error: str | None = None
    """Why it was not erased or searched completely."""


class ErasureReceipt(BaseModel):
    """What was erased of a user. It has none of the erased texts."""

    model_config = _FROZEN

    user_id: str
    """Whose memories were erased."""
    erased_at: str
    """ISO 8601 in UTC."""
    places: tuple[ErasedPlace, ...]
    """Each storage, outbox, folder of backups and attachable memory, with what was removed there."""
    searched_texts: int
    """How many different texts were searched afterwards, each by a fragment of at least 12 bytes."""
    kept: str = KEPT
    """What stays, so that a running update cannot store the memory again."""
    out_of_reach: tuple[str, ...] = OUT_OF_REACH
    """What no erasure removes or searches, such as logs and checkpoints."""

    @property
    def removed(self) -> int:
        """How many entries were removed in all places."""
        return sum(sum(place.removed.values()) for place in self.places)

    @property
    def is_complete(self) -> bool:
        """Whether every place was erased, and no erased text was found."""
        return not any(place.error or place.remaining for place in self.places)


@contextmanager
def open_places(
    settings: Settings,
    storage: MemoryStorage,
    *,
    outbox: Outbox | str | None = None,
    backups: Backups | None = None,
    manager: MemoryManager | None = None,
) -> Generator[list[ErasablePlace]]:
    """Yield the places that *settings* name, and close afterwards what was opened here.

    Args:
        settings: Their outbox, attachable memories and folder of backups.
        storage: The storage of the memories.
        outbox: An outbox that is open, or its URL; default: that of *settings*.
        backups: The backups of the memories; default: those with these settings.
        manager: The attachable memories; default: those of *settings*, relative to the working folder.

    Raises:
        ConfigError: If the settings are invalid.
    """
    opened = open_outbox(outbox or settings.outbox, storage=storage)
    stores = manager or MemoryManager.from_settings(settings)
    try:
        places = _places_of(storage, opened, settings)
        places.append(_place_of_backups(backups or Backups.of(storage.name, settings.api_backups)))
        for store in map(stores.store, stores.names):
            if isinstance(store, ProfileMemory):
                profile = store.open_storage()
                places += _places_of(profile, opened, settings) if profile.name != storage.name else ()
            elif not store.read_only:
                places.append(_place_of_items(store))
        yield places
    finally:
        if manager is None:
            stores.close()
        if not isinstance(outbox, Outbox):
            opened.close()


def erase_user(user_id: str, places: Sequence[ErasablePlace]) -> ErasureReceipt:
    """Remove everything that *places* keep of a user, and search them for what was removed.

    A place that fails does not keep the others from being erased; the receipt has its error, and the next call tries
    again. All caches of this process are cleared, also what they keep of other users. A second call finds nothing.

    Raises:
        IdentityError: If *user_id* is invalid.
    """
    owner, at = Scope(user_id).user_id, timestamp(datetime.now(UTC))
    for place in places:
        place.prepare(owner)
    for place in places:
        place.remove(owner)
    clear_caches()
    fragments = fragments_of(text for place in places for text in place.contents.texts)
    found = tuple(place.search(owner, fragments) for place in places)
    return ErasureReceipt(user_id=owner, erased_at=at, places=found, searched_texts=len(fragments))


# -- the places -----------------------------------------------------------------------------------

CANNOT_ERASE = "this memory cannot erase a user: remove the user's entries in it by its own means"


class Inventory(NamedTuple):
    """What a place keeps of a user."""

    counts: Mapping[str, int]
    """Entries by kind, only of kinds that there are."""
    texts: Collection[str] = ()
    error: str | None = None
    """Why some of it cannot be read or erased."""


@dataclass
class ErasablePlace:
    """A place that keeps something of users, and the erasure of one: its first error is kept, later steps are tried."""

    name: str
    """See `ErasedPlace.name`."""
    list_contents: Callable[[str], Inventory]
    """Returns what is kept of a user."""
    erase: Callable[[str], None]
    """Removes it."""
    find_traces: Callable[[str, Collection[str]], TraceCount | None]
    """Searches the stored bytes for erased texts of a user; None if that is not possible."""
    contents: Inventory = field(default_factory=lambda: Inventory({}))
    _error: str | None = None

    def prepare(self, user_id: str) -> None:
        """Note what is kept of a user."""
        self.contents, self._error = Inventory({}), None
        with self._keeping_error():
            self.contents = self.list_contents(user_id)
            self._error = self.contents.error

    def remove(self, user_id: str) -> None:
        """Remove it, if there is something."""
        if self.contents.counts or self._error:
            with self._keeping_error():
                self.erase(user_id)

    def search(self, user_id: str, fragments: Collection[str]) -> ErasedPlace:
        """Search the stored bytes, and return what was done."""
        found: TraceCount | None = None
        with self._keeping_error():
            found = self.find_traces(user_id, fragments)
        remaining, of_others = found or (None, 0)
        counts, error = self.contents.counts, self._error
        return ErasedPlace(name=self.name, removed=counts, remaining=remaining, of_others=of_others, error=error)

    @contextmanager
    def _keeping_error(self) -> Generator[None]:
        try:
            yield
        except MemgraphError as error:
            self._error = self._error or str(error)


def _places_of(storage: MemoryStorage, outbox: Outbox, settings: Settings) -> list[ErasablePlace]:
    """Return the places of the memories in *storage*, and of the conversations that wait for them or failed."""
    jobs = outbox.for_storage(storage.name)
    erase_jobs = partial(_erase_jobs, jobs, storage, settings)
    return [
        ErasablePlace(
            storage.name, partial(_list_memories, storage), partial(_erase_memories, storage), storage.find_traces
        ),
        ErasablePlace(f"outbox {jobs.name}", partial(_list_jobs, jobs), erase_jobs, jobs.find_traces),
    ]


def _place_of_backups(backups: Backups) -> ErasablePlace:
    """Return the place of the backups that imports and audits have made."""
    list_backups, erase_backups = partial(_list_backups, backups), partial(_erase_backups, backups)
    return ErasablePlace(
        f"backups in {backups.folder}", list_backups, erase_backups, partial(_find_in_backups, backups)
    )


def _place_of_items(store: MemoryStore) -> ErasablePlace:
    """Return the place of the items of an attachable memory, with their media data and vectors."""
    name, list_items = f"memory {store.name}", partial(_list_items, store)
    return ErasablePlace(name, list_items, store.delete_user, lambda _, fragments: store.find_traces(fragments))


# -- memories -------------------------------------------------------------------------------------


def _list_memories(storage: MemoryStorage, user_id: str) -> Inventory:
    """Return what the memories of a user and of all agents have, with their episodes, history and vectors."""
    counts = dict[str, int]()
    texts, episodes = list[str](), dict[str, str]()
    error: str | None = None
    for scope in _scopes_of(storage, user_id):
        try:
            episodes |= {episode.id: episode.text for episode in storage.episodes(scope)}
            memory, revisions = storage.load(scope), storage.revisions(scope)
        except DamagedMemoryError as damage:
            error = str(damage)
            continue
        found = {
            "memories": 1,
            "facts": len(memory.facts),
            "past facts": len(memory.past),
            "claims as said": len(memory.as_said),
            "summaries": sum(bool(section.summary) for _, section in memory.sections()),
            "pending changes": len(memory.pending),
            "store items": len(memory.store_items),
            "revisions": len(revisions),
        }
        counts = {kind: counts.get(kind, 0) + count for kind, count in found.items()}
        texts += texts_in([each.model_dump(mode="json") for each in (memory, *revisions)])
    return Inventory(_positive({**counts, "episodes": len(episodes)}), [*texts, *episodes.values()], error)


def _erase_memories(storage: MemoryStorage, user_id: str) -> None:
    """Remove all that can be read; a document that cannot is left to a person, who may want to repair it."""
    damage: DamagedMemoryError | None = None
    for scope in _scopes_of(storage, user_id):
        try:
            storage.delete(scope)
        except DamagedMemoryError as error:
            damage = error
            with suppress(DamagedMemoryError):  # those of an agent cannot be read without its document
                storage.remove_episodes(scope, [each.id for each in storage.episodes(scope)])
    if damage:
        raise damage


def _scopes_of(storage: MemoryStorage, user_id: str) -> list[Scope]:
    """Return the scopes of a user; only the one that agents share if the storage cannot list its memories."""
    try:
        return storage.scopes_of(user_id)
    except StorageError:
        scope = Scope(user_id)
        return [] if storage.load(scope).is_empty and not storage.episodes(scope) else [scope]


# -- jobs, backups and attachable memories ---------------------------------------------------------


def _list_jobs(outbox: Outbox, user_id: str) -> Inventory:
    found = outbox.texts_of(user_id)
    return Inventory(_positive({"submissions": len(found)}), texts_in([json.loads(text) for text in found]))


def _erase_jobs(outbox: Outbox, storage: MemoryStorage, settings: Settings, user_id: str) -> None:
    """Mark the messages as learned, so that those that are submitted again are not learned, and delete them."""
    runner = make_runner(outbox, WorkerConfig(settings, model=OFFLINE), storage)  # none is called
    scopes = [job.key.scope for job in (*outbox.pending(now=runner.now()), *outbox.dead_letters())]
    for scope in dict.fromkeys(each for each in scopes if each.user_id == user_id):
        runner.discard(scope, storage.delete(scope))
        if not is_tombstone(storage.load(scope)):
            storage.delete(scope)  # again: marking them has made revisions
    outbox.delete_user(user_id)


def _list_backups(backups: Backups, user_id: str) -> Inventory:
    documents = [document for scope in backups.scopes_of(user_id) for document in backups.documents(scope)]
    return Inventory(_positive({"backups": len(documents)}), texts_in(list(map(_parse, documents))))


def _erase_backups(backups: Backups, user_id: str) -> None:
    for scope in backups.scopes_of(user_id):
        backups.delete(scope)


def _find_in_backups(backups: Backups, user_id: str, fragments: Collection[str]) -> TraceCount:
    paths = [path for scope in backups.scopes_of(user_id) for path in backups.files_of(scope)]
    return TraceCount(len(find_in_files(paths, fragments)))


def _list_items(store: MemoryStore, user_id: str) -> Inventory:
    items = store.texts_of(user_id)
    if items is None:
        return Inventory({}, error=CANNOT_ERASE)
    return Inventory(_positive({"items": len(items)}), [text for texts in items for text in texts])


def _parse(document: bytes) -> object:
    """Return a backup as JSON; None if it is damaged: it is deleted all the same."""
    try:
        return json.loads(document)
    except ValueError:
        return None


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}
