"""Erase a user in all places, search for the erased texts, and write a receipt.

The receipt has what was removed where, what the search found, and what is out of reach.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from memgraph._cache import clear_caches
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.profile import ProfileMemory
from memgraph.erasure.places import BackupsPlace, ErasablePlace, Inventory, OutboxPlace, StoragePlace, StorePlace
from memgraph.errors import MemgraphError
from memgraph.models import Scope, timestamp
from memgraph.storage.backups import Backups
from memgraph.storage.traces import TraceCount, fragments_of

if TYPE_CHECKING:
    from memgraph.background import Outbox
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
    from memgraph.background import open_outbox
    from memgraph.background.outbox import Outbox

    opened = open_outbox(outbox or settings.outbox, storage=storage)
    stores = manager or MemoryManager.from_settings(settings)
    try:
        places = _places_of(storage, opened, settings)
        places.append(BackupsPlace(backups or Backups.of(storage.name, settings.api_backups)))
        for store in map(stores.store, stores.names):
            if isinstance(store, ProfileMemory):
                profile = store.open_storage()
                places += _places_of(profile, opened, settings) if profile.name != storage.name else ()
            elif not store.read_only:
                places.append(StorePlace(store))
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
    erasures = [_Erasure(place) for place in places]
    for erasure in erasures:
        erasure.list_contents(owner)
    for erasure in erasures:
        erasure.erase(owner)
    clear_caches()
    fragments = fragments_of(text for erasure in erasures for text in erasure.contents.texts)
    found = tuple(erasure.search(owner, fragments) for erasure in erasures)
    return ErasureReceipt(user_id=owner, erased_at=at, places=found, searched_texts=len(fragments))


class _Erasure:
    """The erasure of one place. The first error of a step is kept; later steps are still tried."""

    def __init__(self, place: ErasablePlace) -> None:
        self.place = place
        self.contents = Inventory({})
        self._error: str | None = None

    def list_contents(self, user_id: str) -> None:
        with self._keeping_error():
            self.contents = self.place.list_contents(user_id)
            self._error = self.contents.error

    def erase(self, user_id: str) -> None:
        if self.contents.counts or self._error:
            with self._keeping_error():
                self.place.erase(user_id)

    def search(self, user_id: str, fragments: Collection[str]) -> ErasedPlace:
        found: TraceCount | None = None
        with self._keeping_error():
            found = self.place.find_traces(user_id, fragments)
        return ErasedPlace(
            name=self.place.name,
            removed=self.contents.counts,
            remaining=found.remaining if found else None,
            of_others=found.of_others if found else 0,
            error=self._error,
        )

    @contextmanager
    def _keeping_error(self) -> Generator[None]:
        try:
            yield
        except MemgraphError as error:
            self._error = self._error or str(error)


def _places_of(storage: MemoryStorage, outbox: Outbox, settings: Settings) -> list[ErasablePlace]:
    return [StoragePlace(storage), OutboxPlace(outbox.for_storage(storage.name), storage, settings)]
