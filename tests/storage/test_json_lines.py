"""The files `episodes.jsonl` and `history.jsonl`: readable, editable, and never damaged by a killed process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memgraph.errors import StorageError
from memgraph.models import ChangeOrigin, Episode, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage import atomic_file, file, json_lines, log, open_storage
from memgraph.storage.file import FileStorage
from memgraph.storage.revisions import recorded_as

ADA = Scope("ada")
POLICY = Policy()
ROOT = Path(__file__).parents[2]


def said(text: str) -> Episode:
    """Return an episode whose id is its text."""
    return Episode(id=text, thread_id="t1", message_id="m1", at="2026-05-03T09:00:00Z", text=text)


@pytest.fixture
def empty(tmp_path: Path) -> FileStorage:
    return FileStorage(tmp_path)


@pytest.fixture
def storage(empty: FileStorage) -> FileStorage:
    storage = empty
    storage.append_episodes(ADA, [said("e1"), said("e2")], POLICY)
    return storage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "users" / "ada" / "episodes.jsonl"


def ids(storage: FileStorage) -> list[str]:
    return [episode.id for episode in storage.episodes(ADA)]


def test_there_is_one_json_object_per_line(path: Path, storage: FileStorage) -> None:
    storage.append_episodes(ADA, [said("喜欢\nPython")], POLICY)

    lines = path.read_text("utf-8").splitlines()

    assert [json.loads(line)["text"] for line in lines] == ["e1", "e2", "喜欢\nPython"]
    assert lines[0] == '{"id":"e1","threadId":"t1","messageId":"m1","at":"2026-05-03T09:00:00Z","text":"e1"}'
    assert "喜欢" in lines[2]


def test_the_episodes_of_another_global_document_are_its_own(tmp_path: Path) -> None:
    """`file:DIR/a.json` and `file:DIR/b.json` are two memories in one folder."""
    default = Scope("default")

    for name in ("a", "b"):
        FileStorage(tmp_path / f"{name}.json").append_episodes(default, [said(name)], POLICY)

    assert [episode.id for episode in FileStorage(tmp_path / "a.json").episodes(default)] == ["a"]
    assert (tmp_path / "b.episodes.jsonl").exists()


def test_the_file_is_private(path: Path, storage: FileStorage) -> None:
    created = path.stat().st_mode
    storage.remove_episodes(ADA, ["e1"])

    assert (created & 0o777, path.stat().st_mode & 0o777) == (0o600, 0o600)


@pytest.mark.parametrize("kept", range(1, 30))
def test_a_torn_last_line_is_ignored_and_replaced(path: Path, storage: FileStorage, kept: int) -> None:
    """A process was killed while it wrote the line; the run that wrote it is repeated."""
    complete = path.read_bytes()
    storage.append_episodes(ADA, [said("e3")], POLICY)
    path.write_bytes(path.read_bytes()[: len(complete) + kept])
    torn = ids(storage)

    storage.append_episodes(ADA, [said("e3"), said("e4")], POLICY)

    assert (torn, ids(storage)) == (["e1", "e2"], ["e1", "e2", "e3", "e4"])
    assert len(path.read_bytes().splitlines()) == 4


def test_a_complete_last_line_without_a_line_break_counts(path: Path, storage: FileStorage) -> None:
    """As some editors leave it."""
    path.write_bytes(path.read_bytes().rstrip())
    edited = ids(storage)

    storage.append_episodes(ADA, [said("e3")], POLICY)

    assert (edited, ids(storage)) == (["e1", "e2"], ["e1", "e2", "e3"])


@pytest.mark.parametrize("removed", ["e1", "e2"])
def test_a_line_removed_by_hand_stays_removed(path: Path, storage: FileStorage, removed: str) -> None:
    storage.episodes(ADA)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if removed.encode() not in line))

    storage.append_episodes(ADA, [said("e3")], POLICY)

    assert ids(storage) == [name for name in ("e1", "e2", "e3") if name != removed]


def test_a_text_changed_by_hand_is_read(path: Path, storage: FileStorage) -> None:
    storage.episodes(ADA)
    path.write_bytes(path.read_bytes().replace(b'"text":"e1"', b'"text":"edited"'))

    assert [episode.text for episode in storage.episodes(ADA)] == ["edited", "e2"]


def test_a_line_that_is_no_episode_is_kept_and_reported_once(
    path: Path, storage: FileStorage, caplog: pytest.LogCaptureFixture
) -> None:
    with path.open("ab") as file:
        file.write(b"# my notes\n")

    for _ in range(2):
        storage.append_episodes(ADA, [said("e3")], POLICY)
        assert ids(storage) == ["e1", "e2", "e3"]
    storage.remove_episodes(ADA, ["e1"])

    assert ids(storage) == ["e2", "e3"]
    assert b"# my notes\n" in path.read_bytes()
    assert [record.message for record in caplog.records] == [
        f"{path}: lines that are not episodes, which are kept but not used: 1"
    ]


def test_an_id_that_occurs_twice_is_read_once(path: Path, storage: FileStorage) -> None:
    """As after a restored backup was appended by hand."""
    path.write_bytes(path.read_bytes() * 2)

    assert ids(storage) == ["e1", "e2"]


def test_only_what_was_appended_is_parsed(storage: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.episodes(ADA)
    parsed: list[bytes] = []
    decode = log.decode_episode
    monkeypatch.setattr(log, "decode_episode", lambda data: (parsed.append(data), decode(data))[1])

    storage.append_episodes(ADA, [said("e3")], POLICY)

    assert ids(storage) == ["e1", "e2", "e3"]
    assert len([data for data in parsed if data]) == 1


def test_an_append_parses_no_stored_episode(storage: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update takes the same time, however much its user has said."""

    def fail(_: bytes) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(json_lines, "decode_episode", fail)

    storage.append_episodes(ADA, [said("e3")], POLICY)


def test_what_another_process_appended_is_not_appended_again(tmp_path: Path, storage: FileStorage, path: Path) -> None:
    FileStorage(tmp_path).append_episodes(ADA, [said("e3")], POLICY)

    storage.append_episodes(ADA, [said("e3"), said("e4")], POLICY)

    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["e1", "e2", "e3", "e4"]


def test_a_full_disk_leaves_the_old_file(path: Path, storage: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_file.os, "fsync", fail)

    with pytest.raises(StorageError, match="No space left"):
        storage.append_episodes(ADA, [said("e3")], POLICY)
    assert path.read_bytes() == before


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files and folders that were made durable."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("it names the files behind descriptors by /proc")
    paths: list[str] = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        paths.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(atomic_file.os, "fsync", record)
    return paths


def test_an_append_is_durable(storage: FileStorage, path: Path, synced: list[str]) -> None:
    """A learned conversation survives a power cut, its file included."""
    storage.append_episodes(ADA, [said("e3")], POLICY)
    storage.append_episodes(Scope("bob"), [said("e1")], POLICY)

    assert str(path) in synced
    assert str(path.parent.parent / "bob") in synced


@pytest.mark.parametrize("appended", ["e3", "e4"])
def test_an_append_makes_durable_what_was_appended_without(
    storage: FileStorage, path: Path, synced: list[str], appended: str
) -> None:
    """A submission does not wait for the disk a second time; the update, which removes it from the outbox, does."""
    storage.append_episodes(ADA, [said("e3")], POLICY, durable=False)
    at_submission = list(synced)
    storage.append_episodes(ADA, [said(appended)], POLICY)

    assert at_submission == []
    assert synced == [str(path), str(path.parent)]


APPENDER = """
import sys
from memgraph.models import ChangeOrigin, Episode, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage import open_storage

url, who = sys.argv[1], sys.argv[2]
storage = open_storage(url)
for number in range(100_000):
    episodes = [Episode(id=f"{who}-{number}-{each}", text="x" * 5_000) for each in range(3)]
    storage.append_episodes(Scope("ada"), episodes, Policy(max_episodes=1_000_000))
    print(number, flush=True)
"""
"""A process that appends three long episodes at a time."""


@pytest.mark.parametrize("scheme", ["file", "sqlite"])
def test_a_writer_killed_at_any_moment_loses_nothing_that_it_reported(tmp_path: Path, scheme: str) -> None:
    """And leaves all that others can append to."""
    url = f"file:{tmp_path}" if scheme == "file" else f"sqlite:{tmp_path}/memory.db"
    reported: list[str] = []
    for kill in range(5):
        writer = subprocess.Popen([sys.executable, "-c", APPENDER, url, f"k{kill}"], cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout
        writer.stdout.readline()
        time.sleep(0.03 + kill * 0.017)
        writer.send_signal(signal.SIGKILL)
        done = writer.communicate()[0].count(b"\n") + 1
        reported += [f"k{kill}-{number}-{each}" for number in range(done) for each in range(3)]

    found = [episode.id for episode in open_storage(url).episodes(ADA)]

    assert set(reported) <= set(found)
    assert len(found) == len(set(found))
    assert len(found) <= len(reported) + 5 * 3


# -- history: the document decides which revisions count -------------------------------------------


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
    empty: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process was killed after it appended the revision."""
    learn(empty, "one")

    def fail(*_: object, **__: object) -> bool:
        raise StorageError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(file, "compare_and_replace", fail)
        with pytest.raises(StorageError):
            learn(empty, "lost")

    assert added(empty) == [(1, ["one"])]
    learn(empty, "two")
    assert added(empty) == [(2, ["two"]), (1, ["one"])]


def test_a_torn_line_of_a_revision_is_replaced(empty: FileStorage, history: Path) -> None:
    learn(empty, "one")
    whole = history.read_bytes()
    history.write_bytes(whole + b'{"revision":2,"at":"2026-')

    assert added(empty) == [(1, ["one"])]
    learn(empty, "two")
    assert added(empty) == [(2, ["two"]), (1, ["one"])]
    assert history.read_bytes().startswith(whole)


def test_a_save_that_meets_an_edit_leaves_no_revision(
    empty: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edit gets the number that the save would have had."""
    memory = learn(empty, "one")
    document = Path(empty.location(ADA))
    edited = document.read_bytes().replace(b'"one"', b'"edited"')

    def edit_first(*arguments: object, **options: object) -> bool:
        document.write_bytes(edited)
        return atomic_file.compare_and_replace(*arguments, **options)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(file, "compare_and_replace", edit_first)
        with pytest.raises(StorageError):
            empty.save(ADA, memory.with_facts(()))

    assert [fact.content for fact in empty.load(ADA).facts] == ["edited"]
    assert added(empty) == [(2, ["edited"]), (1, ["one"])]


def test_a_manual_edit_is_a_revision_by_a_person(empty: FileStorage) -> None:
    with recorded_as(ChangeOrigin(by="update"), Policy()):
        learn(empty, "one")
    document = Path(empty.location(ADA))
    document.write_bytes(document.read_bytes().replace(b'"one"', b'"edited"'))

    latest = empty.revisions(ADA)[0]

    assert (latest.revision, latest.by) == (2, "person")
    (change,) = latest.changes.facts
    assert change.before
    assert change.after
    assert (change.before.content, change.after.content) == ("one", "edited")


def test_a_manual_edit_starts_no_history(empty: FileStorage, history: Path) -> None:
    """A load does not know whether one is to be kept."""
    with recorded_as(ChangeOrigin(), Policy(max_revisions=0)):
        learn(empty, "one")
    document = Path(empty.location(ADA))
    document.write_bytes(document.read_bytes().replace(b'"one"', b'"edited"'))

    empty.load(ADA)

    assert not history.exists()


def test_a_document_without_a_history_gets_one_with_the_next_save(empty: FileStorage, history: Path) -> None:
    """Earlier versions kept none."""
    learn(empty, "one")
    history.unlink()

    learn(empty, "two")

    assert added(empty) == [(2, ["two"])]


def test_lines_that_are_no_revisions_are_kept_but_not_used(empty: FileStorage, history: Path) -> None:
    learn(empty, "one")
    history.write_bytes(b"\nnote\n" + history.read_bytes() + b"[]\n\xff\n")

    learn(empty, "two")

    assert added(empty) == [(2, ["two"]), (1, ["one"])]
    assert history.read_bytes().startswith(b"\nnote\n")


def test_the_file_is_rarely_rewritten_to_evict_revisions(empty: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eviction removes a twentieth more than it must."""
    rewrites: list[Path] = []

    def count(path: Path, data: bytes) -> None:
        rewrites.append(path)
        atomic_file.replace(path, data)

    monkeypatch.setattr(json_lines, "replace", count)
    with recorded_as(ChangeOrigin(), Policy(max_revisions=40)):
        for number in range(50):
            learn(empty, str(number))

    assert 1 <= len(rewrites) <= 4
    assert added(empty)[-1][0] in {11, 12, 13}
