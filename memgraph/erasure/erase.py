"""Erase a user in all places, search for the erased texts, and write a receipt."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memgraph._cache import clear_caches
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.profile import ProfileMemory
from memgraph.erasure.places import BackupsPlace, ErasablePlace, Inventory, OutboxPlace, StoragePlace, StorePlace
from memgraph.erasure.receipt import ErasedPlace, ErasureReceipt
from memgraph.errors import MemgraphError
from memgraph.models import Scope, timestamp
from memgraph.storage.backups import Backups
from memgraph.storage.traces import TraceCount, fragments_of

if TYPE_CHECKING:
    from memgraph.background import Outbox
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


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
