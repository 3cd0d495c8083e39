"""The contract of the history in every storage. To test a new one, add a line to URLS in conftest.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from memgraph.errors import RevisionConflictError
from memgraph.history.diff import reverse
from memgraph.models import ChangeOrigin, Fact, MemoryDocument, Revision, Scope
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage, open_storage, revisions
from memgraph.storage.revisions import recorded_as

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.storage.conftest import StartLearner

ADA = Scope("ada")
BOT = Scope("ada", "bot")
PERSISTENT = ("file", "sqlite", "postgresql")


def learn(storage: MemoryStorage, content: str, scope: Scope = ADA) -> MemoryDocument:
    memory = storage.load(scope)
    return storage.save(scope, memory.with_facts((*memory.facts, Fact(content=content))))


def numbers(storage: MemoryStorage, scope: Scope = ADA, **options: int) -> list[int]:
    return [entry.revision for entry in storage.revisions(scope, **options)]


def added(entry: Revision) -> list[str]:
    return [change.after.content for change in entry.changes.facts if change.after and not change.before]


def test_a_memory_that_was_never_saved_has_no_history(storage: MemoryStorage, tmp_path: Path) -> None:
    assert list(storage.revisions(ADA)) == []
    assert list(tmp_path.iterdir()) == []


def test_each_save_is_a_revision_the_newest_first(storage: MemoryStorage) -> None:
    for content in ("one", "two", "three"):
        learn(storage, content)

    assert [(entry.revision, added(entry)) for entry in storage.revisions(ADA)] == [
        (3, ["three"]),
        (2, ["two"]),
        (1, ["one"]),
    ]


def test_a_revision_has_its_time_and_its_origin(storage: MemoryStorage) -> None:
    origin = ChangeOrigin(by="undo", thread="t1", run="r1", undoes=7)
    with recorded_as(origin, Policy()):
        learn(storage, "one")
    learn(storage, "two")

    second, first = storage.revisions(ADA)

    assert (first.by, first.thread, first.run, first.undoes) == ("undo", "t1", "r1", 7)
    assert (second.by, second.thread, second.run, second.undoes) == ("person", "", "", 0)
    assert datetime.fromisoformat(first.at) > datetime.now(UTC) - timedelta(minutes=5)


def test_the_number_of_revisions_can_be_limited(storage: MemoryStorage) -> None:
    for number in range(5):
        learn(storage, str(number))

    assert numbers(storage, limit=2) == [5, 4]
    assert numbers(storage, before=3) == [2, 1]
    assert numbers(storage, before=4, limit=1) == [3]
    assert numbers(storage, limit=0) == numbers(storage, before=1) == []


def test_every_earlier_document_follows_from_the_history(storage: MemoryStorage) -> None:
    documents = [storage.save(ADA, MemoryDocument())]
    for number in range(4):
        facts = documents[-1].facts[number % 2 :]
        documents.append(storage.save(ADA, documents[-1].with_facts((*facts, Fact(content=f"{number} \0 é")))))
    memory = documents.pop()

    for entry in storage.revisions(ADA, limit=4):
        memory = reverse(memory, entry.changes).memory
        assert memory.facts == documents.pop().facts


def test_a_save_that_lost_a_race_leaves_no_revision(storage: MemoryStorage) -> None:
    stale = storage.load(ADA)
    learn(storage, "one")

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, stale)

    assert numbers(storage) == [1]


def test_an_agent_has_its_own_history_which_begins_with_the_shared_memory(storage: MemoryStorage) -> None:
    """Undoing its first revision must not remove what it shares."""
    learn(storage, "shared")

    learn(storage, "own", BOT)

    assert [added(entry) for entry in storage.revisions(BOT)] == [["own"]]
    assert [added(entry) for entry in storage.revisions(ADA)] == [["shared"]]


def test_a_deletion_removes_the_history_and_begins_a_new_one(storage: MemoryStorage) -> None:
    learn(storage, "secret")
    learn(storage, "secret too")

    storage.delete(ADA)
    learn(storage, "new")

    assert [(entry.revision, entry.by, added(entry)) for entry in storage.revisions(ADA)] == [
        (4, "person", ["new"]),
        (3, "delete", []),
    ]


def test_deleting_one_user_leaves_the_history_of_others(storage: MemoryStorage) -> None:
    learn(storage, "one")
    learn(storage, "one", BOT)

    storage.delete(BOT)

    assert numbers(storage) == [1]


def test_only_the_latest_revisions_are_kept(storage: MemoryStorage) -> None:
    """A file may keep some fewer, since it is rewritten to evict any."""
    with recorded_as(ChangeOrigin(), Policy(max_revisions=3)):
        for number in range(6):
            learn(storage, str(number))

    assert numbers(storage) == [6, 5, 4]


def test_revisions_expire(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(days=11)

    with recorded_as(ChangeOrigin(), Policy(history_days=10)):
        learn(storage, "one")
        learn(storage, "two")
        monkeypatch.setattr(revisions, "datetime", Later)

        learn(storage, "three")

    assert numbers(storage) == [3]


def test_without_revisions_to_keep_there_is_no_history(storage: MemoryStorage) -> None:
    learn(storage, "one")
    learn(storage, "two")

    with recorded_as(ChangeOrigin(), Policy(max_revisions=0)):
        learn(storage, "three")

    assert numbers(storage) == []


@pytest.mark.parametrize("name", PERSISTENT)
def test_a_history_survives_a_restart(name: str, url_for: Callable[[str], Any]) -> None:
    with open_storage(url_for(name)) as storage:
        learn(storage, "one")

    with open_storage(url_for(name)) as storage:
        learn(storage, "two")
        assert [added(entry) for entry in storage.revisions(ADA)] == [["two"], ["one"]]


@pytest.mark.parametrize("name", PERSISTENT)
def test_the_history_of_several_processes_has_no_gap(
    name: str, url_for: Callable[[str], Any], start_learner: StartLearner
) -> None:
    url = url_for(name)
    learners = [start_learner(url, f"p{number}", 5) for number in range(3)]
    for learner in learners:
        learner.communicate(timeout=60)

    with open_storage(url) as storage:
        memory = storage.load(ADA)
        entries = storage.revisions(ADA)
        assert [entry.revision for entry in entries] == list(range(15, 0, -1))
        for entry in entries:
            memory = reverse(memory, entry.changes).memory
        assert memory.facts == ()


@pytest.mark.parametrize("name", ["file", "sqlite"])
def test_a_killed_process_leaves_history_and_document_in_agreement(
    name: str, url_for: Callable[[str], Any], start_learner: StartLearner
) -> None:
    url = url_for(name)
    learner = start_learner(url, "p", 1_000)
    assert learner.stdout
    for _ in range(5):
        learner.stdout.readline()
    learner.kill()
    learner.communicate()

    with open_storage(url) as storage:
        learn(storage, "last")
        memory = storage.load(ADA)
        assert numbers(storage) == list(range(memory.revision, 0, -1))
        for entry in storage.revisions(ADA):
            memory, conflicts = reverse(memory, entry.changes)
            assert not conflicts
        assert memory.facts == ()
