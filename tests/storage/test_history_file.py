"""The document decides which revisions of `history.jsonl` count."""

from __future__ import annotations

from pathlib import Path

import pytest

from memgraph.errors import StorageError
from memgraph.models import ChangeOrigin, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage import atomic_file, file, history_file
from memgraph.storage.file import FileStorage
from memgraph.storage.revisions import recorded_as

ADA = Scope("ada")


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    return FileStorage(tmp_path)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "users" / "ada" / "history.jsonl"


def learn(storage: FileStorage, content: str) -> MemoryDocument:
    memory = storage.load(ADA)
    return storage.save(ADA, memory.with_facts((*memory.facts, Fact(content=content))))


def added(storage: FileStorage) -> list[tuple[int, list[str]]]:
    return [
        (entry.revision, [change.after.content for change in entry.changes.facts if change.after])
        for entry in storage.revisions(ADA)
    ]


def test_a_revision_that_the_document_never_reached_is_ignored_and_replaced(
    storage: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process was killed after it appended the revision."""
    learn(storage, "one")

    def fail(*_: object, **__: object) -> bool:
        raise StorageError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(file, "compare_and_replace", fail)
        with pytest.raises(StorageError):
            learn(storage, "lost")

    assert added(storage) == [(1, ["one"])]
    learn(storage, "two")
    assert added(storage) == [(2, ["two"]), (1, ["one"])]


def test_a_torn_line_is_replaced(storage: FileStorage, history: Path) -> None:
    learn(storage, "one")
    whole = history.read_bytes()
    history.write_bytes(whole + b'{"revision":2,"at":"2026-')

    assert added(storage) == [(1, ["one"])]
    learn(storage, "two")
    assert added(storage) == [(2, ["two"]), (1, ["one"])]
    assert history.read_bytes().startswith(whole)


def test_a_save_that_meets_an_edit_leaves_no_revision(
    storage: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edit gets the number that the save would have had."""
    memory = learn(storage, "one")
    document = Path(storage.location(ADA))
    edited = document.read_bytes().replace(b'"one"', b'"edited"')

    def edit_first(*arguments: object, **options: object) -> bool:
        document.write_bytes(edited)
        return atomic_file.compare_and_replace(*arguments, **options)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(file, "compare_and_replace", edit_first)
        with pytest.raises(StorageError):
            storage.save(ADA, memory.with_facts(()))

    assert [fact.content for fact in storage.load(ADA).facts] == ["edited"]
    assert added(storage) == [(2, ["edited"]), (1, ["one"])]


def test_a_manual_edit_is_a_revision_by_a_person(storage: FileStorage) -> None:
    with recorded_as(ChangeOrigin(by="update"), Policy()):
        learn(storage, "one")
    document = Path(storage.location(ADA))
    document.write_bytes(document.read_bytes().replace(b'"one"', b'"edited"'))

    latest = storage.revisions(ADA)[0]

    assert (latest.revision, latest.by) == (2, "person")
    (change,) = latest.changes.facts
    assert change.before
    assert change.after
    assert (change.before.content, change.after.content) == ("one", "edited")


def test_a_manual_edit_starts_no_history(storage: FileStorage, history: Path) -> None:
    """A load does not know whether one is to be kept."""
    with recorded_as(ChangeOrigin(), Policy(max_revisions=0)):
        learn(storage, "one")
    document = Path(storage.location(ADA))
    document.write_bytes(document.read_bytes().replace(b'"one"', b'"edited"'))

    storage.load(ADA)

    assert not history.exists()


def test_a_document_without_a_history_gets_one_with_the_next_save(storage: FileStorage, history: Path) -> None:
    """Earlier versions kept none."""
    learn(storage, "one")
    history.unlink()

    learn(storage, "two")

    assert added(storage) == [(2, ["two"])]


def test_lines_that_are_no_revisions_are_kept_but_not_used(storage: FileStorage, history: Path) -> None:
    learn(storage, "one")
    history.write_bytes(b"\nnote\n" + history.read_bytes() + b"[]\n\xff\n")

    learn(storage, "two")

    assert added(storage) == [(2, ["two"]), (1, ["one"])]
    assert history.read_bytes().startswith(b"\nnote\n")


def test_revisions_longer_than_a_block_are_read(storage: FileStorage) -> None:
    contents = [str(number) * size for number, size in enumerate((1, 70_000, 200_000, 1))]
    for content in contents:
        learn(storage, content)

    assert [entry[1][0] for entry in added(storage)] == contents[::-1]


def test_the_file_is_rarely_rewritten_to_evict_revisions(storage: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eviction removes a twentieth more than it must."""
    rewrites: list[Path] = []

    def count(path: Path, data: bytes) -> None:
        rewrites.append(path)
        atomic_file.replace(path, data)

    monkeypatch.setattr(history_file, "replace", count)
    with recorded_as(ChangeOrigin(), Policy(max_revisions=40)):
        for number in range(50):
            learn(storage, str(number))

    assert 1 <= len(rewrites) <= 4
    assert added(storage)[-1][0] in {11, 12, 13}
