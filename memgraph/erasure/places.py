"""The places that keep something of a user: storage, outbox, backups and attachable memories."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memgraph.background.background_invoker import make_runner
from memgraph.background.shared import WorkerConfig
from memgraph.errors import DamagedMemoryError, StorageError
from memgraph.llm import OFFLINE
from memgraph.models import Scope
from memgraph.storage.document import is_tombstone
from memgraph.storage.traces import TraceCount, find_in_files, texts_in

if TYPE_CHECKING:
    from memgraph.attachments.store import MemoryStore
    from memgraph.background.outbox import Outbox
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage
    from memgraph.storage.backups import Backups

CANNOT_ERASE = "this memory cannot erase a user: remove the user's entries in it by its own means"


class Inventory(NamedTuple):
    """What a place keeps of a user."""

    counts: Mapping[str, int]
    """Entries by kind, only of kinds that there are."""
    texts: Collection[str] = ()
    error: str | None = None
    """Why some of it cannot be read or erased."""


class ErasablePlace(Protocol):
    """A place that keeps something of users. Every method may raise a MemgraphError."""

    @property
    def name(self) -> str: ...
    def list_contents(self, user_id: str) -> Inventory:
        """Return what is kept of a user."""
        ...

    def erase(self, user_id: str) -> None:
        """Remove it. Called only if there is something."""
        ...

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount | None:
        """Search the stored bytes for erased texts; None if that is not possible."""
        ...


@dataclass(frozen=True)
class StoragePlace:
    """The memories of a user and of all agents, with their episodes, history and vectors."""

    storage: MemoryStorage

    @property
    def name(self) -> str:
        return self.storage.name

    def list_contents(self, user_id: str) -> Inventory:
        counts = dict[str, int]()
        texts, episodes = list[str](), dict[str, str]()
        error: str | None = None
        for scope in _scopes_of(self.storage, user_id):
            try:
                memory, revisions = self.storage.load(scope), self.storage.revisions(scope)
            except DamagedMemoryError as damage:
                error = str(damage)
                continue
            episodes |= {episode.id: episode.text for episode in self.storage.episodes(scope)}
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

    def erase(self, user_id: str) -> None:
        """Remove all that can be read; a document that cannot is left to a person, who may want to repair it."""
        damage: DamagedMemoryError | None = None
        for scope in _scopes_of(self.storage, user_id):
            try:
                self.storage.delete(scope)
            except DamagedMemoryError as error:
                damage = error
        if damage:
            raise damage

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount | None:
        return self.storage.find_traces(user_id, fragments)


@dataclass(frozen=True)
class OutboxPlace:
    """The conversations that wait to be learned from, or failed."""

    outbox: Outbox
    storage: MemoryStorage
    settings: Settings

    @property
    def name(self) -> str:
        return f"outbox {self.outbox.name}"

    def list_contents(self, user_id: str) -> Inventory:
        found = self.outbox.texts_of(user_id)
        return Inventory(_positive({"submissions": len(found)}), texts_in([json.loads(text) for text in found]))

    def erase(self, user_id: str) -> None:
        """Mark the messages as learned, so that those that are submitted again are not learned, and delete them."""
        runner = make_runner(self.outbox, WorkerConfig(self.settings, model=OFFLINE), self.storage)  # none is called
        scopes = [job.key.scope for job in (*self.outbox.pending(now=runner.now()), *self.outbox.dead_letters())]
        for scope in dict.fromkeys(each for each in scopes if each.user_id == user_id):
            runner.discard(scope, self.storage.delete(scope))
            if not is_tombstone(self.storage.load(scope)):
                self.storage.delete(scope)  # again: marking them has made revisions
        self.outbox.delete_user(user_id)

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount | None:
        return self.outbox.find_traces(user_id, fragments)


@dataclass(frozen=True)
class BackupsPlace:
    """The backups that imports and audits have made."""

    backups: Backups

    @property
    def name(self) -> str:
        return f"backups in {self.backups.folder}"

    def list_contents(self, user_id: str) -> Inventory:
        scopes = self.backups.scopes_of(user_id)
        documents = [document for scope in scopes for document in self.backups.documents(scope)]
        texts = texts_in([_parse(document) for document in documents])
        return Inventory(_positive({"backups": len(documents)}), texts)

    def erase(self, user_id: str) -> None:
        for scope in self.backups.scopes_of(user_id):
            self.backups.delete(scope)

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        paths = [path for scope in self.backups.scopes_of(user_id) for path in self.backups.files_of(scope)]
        return TraceCount(len(find_in_files(paths, fragments)))


@dataclass(frozen=True)
class StorePlace:
    """The items of an attachable memory, with their media data and vectors."""

    store: MemoryStore

    @property
    def name(self) -> str:
        return f"memory {self.store.name}"

    def list_contents(self, user_id: str) -> Inventory:
        items = self.store.texts_of(user_id)
        if items is None:
            return Inventory({}, error=CANNOT_ERASE)
        return Inventory(_positive({"items": len(items)}), [text for texts in items for text in texts])

    def erase(self, user_id: str) -> None:
        self.store.delete_user(user_id)

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount | None:  # noqa: ARG002 - one file for all
        return self.store.find_traces(fragments)


def _scopes_of(storage: MemoryStorage, user_id: str) -> list[Scope]:
    """Return the scopes of a user; only the one that agents share if the storage cannot list its memories."""
    try:
        return storage.scopes_of(user_id)
    except StorageError:
        scope = Scope(user_id)
        return [] if storage.load(scope).is_empty and not storage.episodes(scope) else [scope]


def _parse(document: bytes) -> object:
    """Return a backup as JSON; None if it is damaged: it is deleted all the same."""
    try:
        return json.loads(document)
    except ValueError:
        return None


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}
