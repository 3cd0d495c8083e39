"""memgraph rebuild, with the built-in offline model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph.models import Episode, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage.file import FileStorage

ADA = Scope("ada")
WRONG = Fact(id="wrong", content="Lives in Rome.", source="t1")
SAID = Episode(id="e1", thread_id="t1", message_id="m1", at="2026-05-01T10:00:00Z", text="I live in Lisbon.")


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    """A memory that a worse model learned from what ada said."""
    storage = FileStorage(tmp_path / "memories")
    storage.append_episodes(ADA, [SAID], Policy())
    storage.save(ADA, MemoryDocument(facts=(WRONG,)))
    return storage


def contents(storage: FileStorage) -> list[str]:
    return [fact.content for fact in storage.load(ADA).facts]


def test_a_dry_run_shows_the_difference_and_changes_nothing(memgraph: Any, storage: FileStorage) -> None:
    out = memgraph("rebuild", "-u", "ada", "--model", "offline", "--dry-run").out

    assert "Learning takes at least 1 call of the model.\n0 of 1 episodes learned.\n1 of 1 episodes learned." in out
    assert "- wrong" in out
    assert contents(storage) == ["Lives in Rome."]


def test_the_memory_is_replaced(memgraph: Any, storage: FileStorage) -> None:
    result = memgraph("rebuild", "-u", "ada", "--model", "offline", "--yes", "--json").json

    assert (result["replaced"], result["revision"], result["episodes"]) == (True, 2, 1)
    assert "Lisbon" in str(contents(storage))
    assert "Rome" not in str(contents(storage))


@pytest.mark.usefixtures("storage")
def test_without_a_terminal_nothing_is_learned_before_it_is_clear_what_happens(memgraph: Any) -> None:
    """A model is paid for its answers."""
    result = memgraph("rebuild", "-u", "ada", "--model", "offline")

    assert result.code != 0
    assert "--yes" in result.err


@pytest.mark.parametrize(("answer", "known"), [("n", "Rome"), ("y", "Lisbon")])
def test_a_rebuild_asks_before_it_replaces(memgraph: Any, storage: FileStorage, answer: str, known: str) -> None:
    memgraph("rebuild", "-u", "ada", "--model", "offline", typed=[answer])

    assert known in str(contents(storage))


def test_forget_deletes_what_an_unfinished_rebuild_learned(memgraph: Any, storage: FileStorage) -> None:
    memgraph("rebuild", "-u", "ada", "--model", "offline", "--dry-run")

    memgraph("forget", "-u", "ada", "--yes")

    assert list(storage.scopes()) == []
    assert not any(b"Lisbon" in path.read_bytes() for path in storage_files(storage))


def storage_files(storage: FileStorage) -> list[Path]:
    folder = Path(storage.location(ADA)).parent
    return [path for path in folder.rglob("*") if path.is_file()]
