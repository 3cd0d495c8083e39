"""The revision rules that all storages share, and the defaults of MemoryStorage."""

from __future__ import annotations

import pytest

from memgraph.errors import ForgottenError, RevisionConflictError, StorageError
from memgraph.models import ChangeOrigin, Deletion, Episode, Fact, MemoryDocument, Scope, Watermark
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage
from memgraph.storage.document import is_tombstone, latest_deletion, load_with_fallback, next_revision, tombstone
from memgraph.storage.revisions import recorded_as

ADA = Scope("ada")
BOT = Scope("ada", "bot")
FIRST = Deletion(revision=2, at="2026-01-01T00:00:00Z")
SECOND = Deletion(revision=5, at="2026-02-01T00:00:00Z")
KNOWN = MemoryDocument(facts=(Fact(content="Works on engines."),), threads={"t1": Watermark(last_message_id="m1")})


def at_revision(revision: int, deletion: Deletion | None = None) -> MemoryDocument:
    return KNOWN.model_copy(update={"revision": revision, "forgotten": deletion})


class CachingStorage(MemoryStorage):
    """A storage with two methods whose `load` returns what it loaded first."""

    def __init__(self) -> None:
        self.stored: dict[Scope, MemoryDocument] = {}
        self.cached: dict[Scope, MemoryDocument] = {}
        self.attempts = 0

    def load(self, scope: Scope) -> MemoryDocument:
        return self.cached.setdefault(scope, self.reload(scope))

    def reload(self, scope: Scope) -> MemoryDocument:
        return load_with_fallback(scope, self.stored.get)

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        self.attempts += 1
        assert self.attempts < 10, "each attempt is based on the same outdated revision"
        self.stored[scope] = next_revision(scope, self.stored.get(scope), memory)
        return self.stored[scope]


# -- load_with_fallback ---------------------------------------------------------------------------


def test_an_agent_starts_with_a_copy_of_the_shared_memory() -> None:
    """Without its revision, watermarks and deletion, which belong to the shared document."""
    shared = at_revision(7, FIRST)

    loaded = load_with_fallback(BOT, {ADA: shared}.get)

    assert loaded == shared.model_copy(update={"revision": 0, "threads": {}, "forgotten": None})


def test_a_tombstone_of_an_agent_hides_the_shared_memory() -> None:
    deleted = tombstone(None)

    assert load_with_fallback(BOT, {ADA: KNOWN, BOT: deleted}.get) == deleted


# -- next_revision --------------------------------------------------------------------------------


@pytest.mark.parametrize(("stored", "revision"), [(None, 1), (at_revision(3), 2), (at_revision(3), 4)])
def test_only_the_latest_revision_can_be_saved(stored: MemoryDocument | None, revision: int) -> None:
    with pytest.raises(RevisionConflictError):
        next_revision(ADA, stored, at_revision(revision))


def test_a_memory_from_before_the_deletion_cannot_be_saved() -> None:
    """A ForgottenError rather than a conflict, so that the run ends instead of learning it again."""
    with pytest.raises(ForgottenError):
        next_revision(ADA, at_revision(4, FIRST), at_revision(1))


@pytest.mark.parametrize("deletion", [None, Deletion(revision=1, at=""), Deletion(revision=900, at="")])
def test_every_later_revision_keeps_the_deletion(deletion: Deletion | None) -> None:
    """Even if the saved memory lost it, or came with an older or an impossible one."""
    assert next_revision(ADA, at_revision(4, FIRST), at_revision(4, deletion)).forgotten == FIRST


def test_a_newer_deletion_replaces_the_older_one() -> None:
    assert next_revision(ADA, at_revision(4, FIRST), at_revision(4, SECOND)).forgotten == SECOND


def test_the_latest_deletion_is_the_one_at_the_higher_revision() -> None:
    assert latest_deletion(FIRST, SECOND) == latest_deletion(SECOND, FIRST) == SECOND
    assert latest_deletion(None, FIRST) == latest_deletion(FIRST, None) == FIRST
    assert latest_deletion(None, None) is None


# -- tombstones -----------------------------------------------------------------------------------


def test_a_tombstone_keeps_the_watermarks_and_nothing_else() -> None:
    deleted = tombstone(at_revision(4, FIRST))

    assert (deleted.is_empty, deleted.revision, deleted.threads) == (True, 5, KNOWN.threads)
    assert deleted.forgotten
    assert deleted.forgotten.revision == 5
    assert is_tombstone(deleted)


def test_a_memory_that_was_saved_after_the_deletion_is_not_deleted() -> None:
    deleted = tombstone(None)

    assert not is_tombstone(next_revision(ADA, deleted, deleted))
    assert not is_tombstone(at_revision(5, SECOND))


# -- defaults -------------------------------------------------------------------------------------


def test_the_default_deletion_ignores_caches() -> None:
    """Otherwise it would conflict forever with what another writer saved."""
    storage = CachingStorage()
    loaded = storage.load(ADA)
    storage.save(ADA, KNOWN)

    deleted = storage.delete(ADA)

    assert (deleted.revision, deleted.threads, storage.reload(ADA)) == (2, KNOWN.threads, deleted)
    with pytest.raises(ForgottenError):
        storage.save(ADA, loaded)


def test_the_default_deletion_also_deletes_what_is_saved_meanwhile() -> None:
    class BusyStorage(CachingStorage):
        """Another writer saves just before the first save."""

        writes = 1

        def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
            if self.writes:
                self.writes -= 1
                super().save(scope, KNOWN)
            return super().save(scope, memory)

    storage = BusyStorage()

    assert storage.delete(ADA).revision == 2
    assert storage.reload(ADA).is_empty


def test_a_storage_lists_no_scopes_by_default() -> None:
    with pytest.raises(StorageError, match="CachingStorage cannot list its memories"):
        CachingStorage().scopes()


def test_a_custom_storage_without_episodes_works_and_reports_it_once(caplog: pytest.LogCaptureFixture) -> None:
    storage = CachingStorage()

    storage.append_episodes(ADA, [], Policy())
    silent = len(caplog.records)
    for _ in range(2):
        storage.append_episodes(ADA, [Episode(id="e", text="Hello.")], Policy())

    assert (list(storage.episodes(ADA)), storage.remove_episodes(ADA, ["e"])) == ([], 0)
    assert (silent, [record.message for record in caplog.records]) == (
        0,
        [f"{storage.name} keeps no episodes: only facts and summaries are stored"],
    )


def test_a_storage_without_a_history_reports_that_once(caplog: pytest.LogCaptureFixture) -> None:
    """Its saves work as before, also those that name who made them."""
    storage = CachingStorage()
    with recorded_as(ChangeOrigin(by="update"), Policy()):
        storage.save(ADA, KNOWN)

    assert [list(storage.revisions(ADA)) for _ in range(2)] == [[], []]
    assert [record.message for record in caplog.records] == [
        f"{storage.name} keeps no history: changes cannot be undone"
    ]
