"""FileStorage: files on disk, manual edits, damage and failures."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import memgraph
from memgraph.errors import DamagedMemoryError, ForgottenError, RevisionConflictError, StorageError
from memgraph.models import ChangeOrigin, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage import file, open_storage
from memgraph.storage.atomic_file import locked, replace
from memgraph.storage.file import FileStorage
from memgraph.storage.revisions import recorded_as

if TYPE_CHECKING:
    from collections.abc import Callable

ADA = Scope("ada")
BOT = Scope("ada", "bot")
KNOWN = MemoryDocument(facts=(Fact(content="Works on engines."),))


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    return FileStorage(tmp_path)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The path of Ada's document."""
    return tmp_path / "users" / "ada" / "memory.json"


def edit(document: Path, **changes: Any) -> bytes:
    """Edit a document manually."""
    data = json.loads(document.read_bytes()) | changes
    document.write_text(json.dumps(data, indent=4))
    return document.read_bytes()


def note(memory: MemoryDocument) -> object:
    return (memory.model_extra or {}).get("note")


# -- what is on disk ------------------------------------------------------------------------------


def test_files_follow_the_documented_layout(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "new" / "notes.json")
    for scope in (ADA, BOT, Scope("default"), Scope("default", "bot"), Scope("\u00e4" * 100)):
        storage.save(scope, KNOWN)

    documents = sorted(path.relative_to(tmp_path / "new").as_posix() for path in tmp_path.rglob("*.json"))

    assert [path for path in documents if not path.startswith("users/=c3")] == [
        "agents/bot/memory.json",
        "notes.json",
        "users/ada/agents/bot/memory.json",
        "users/ada/memory.json",
    ]


def test_a_folder_contains_document_last_good_version_lock_and_history(storage: FileStorage, document: Path) -> None:
    for _ in range(3):
        storage.save(ADA, storage.load(ADA))

    assert sorted(path.name for path in document.parent.iterdir()) == [
        "history.jsonl",
        "memory.json",
        "memory.json.last",
        "memory.json.lock",
    ]
    assert document.read_bytes() == document.with_name("memory.json.last").read_bytes()


def test_files_and_folders_are_private(storage: FileStorage, document: Path, tmp_path: Path) -> None:
    """It is personal data."""
    storage.save(ADA, KNOWN)

    assert {oct(path.stat().st_mode & 0o777) for path in document.parent.iterdir()} == {"0o600"}
    assert {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "users", document.parent)} == {"0o700"}


def test_other_folders_are_ignored(storage: FileStorage, tmp_path: Path) -> None:
    for name in ("Stranger", "=2", "a.b", "default", "x" * 86 + "=-" + "0" * 32):
        (tmp_path / "users" / name).mkdir(parents=True)
        (tmp_path / "users" / name / "memory.json").write_text("{}")
    (tmp_path / "users" / "empty").mkdir()
    (tmp_path / "users" / "file").write_text("")

    assert list(storage.scopes()) == []


def test_a_long_user_id_is_stored_next_to_its_documents(storage: FileStorage, tmp_path: Path) -> None:
    """So it can be listed even if only an agent has a memory."""
    scope = Scope("\U0001f600" * 256, "bot")

    storage.save(scope, KNOWN)

    assert next(tmp_path.rglob("user_id")).read_text("utf-8") == scope.user_id
    assert list(storage.scopes()) == [scope]


def test_a_damaged_document_is_listed(storage: FileStorage, document: Path) -> None:
    """It needs repair."""
    storage.save(ADA, KNOWN)
    document.write_text('{"forgotten"')

    assert list(storage.scopes()) == [ADA]


# -- manual edits -----------------------------------------------------------------------------------


def test_a_manual_edit_is_loaded_and_kept_by_the_next_save(storage: FileStorage, document: Path) -> None:
    storage.save(ADA, KNOWN)
    edit(document, note="manual")

    saved = storage.save(ADA, storage.load(ADA))

    assert note(saved) == note(storage.load(ADA)) == "manual"


@pytest.mark.parametrize("revision", [0, 1, 2, 3, 4, 5, 10**30, None, "x", -1])
@pytest.mark.parametrize("which", ["same", "other"])
def test_a_manual_edit_between_load_and_save_is_a_conflict(
    storage: FileStorage, document: Path, which: str, revision: object
) -> None:
    """For any revision in the edited document, and any saving instance."""
    for _ in range(3):
        loaded = storage.save(ADA, storage.load(ADA))
    edited = edit(document, note="manual", revision=revision)

    saver = storage if which == "same" else FileStorage(document.parents[2])
    for _ in range(2):
        with pytest.raises(RevisionConflictError):
            saver.save(ADA, loaded)

    assert document.read_bytes() == edited
    assert note(saver.save(ADA, saver.load(ADA))) == "manual"
    with pytest.raises(RevisionConflictError):
        saver.save(ADA, loaded)


def test_it_stays_a_conflict_after_the_edit_was_loaded(storage: FileStorage, document: Path) -> None:
    loaded = storage.save(ADA, KNOWN)
    edit(document, note="manual")
    storage.load(ADA)

    for saver in (storage, FileStorage(document.parents[2])):
        with pytest.raises(RevisionConflictError):
            saver.save(ADA, loaded)


@pytest.mark.parametrize("which", ["same", "other"])
def test_each_of_two_manual_edits_counts_as_a_writer(storage: FileStorage, document: Path, which: str) -> None:
    """Even for a run that is resumed in another process."""
    storage.save(ADA, KNOWN)
    edit(document, note="first")
    first = storage.load(ADA)
    edit(document, note="second")
    saver = storage if which == "same" else FileStorage(document.parents[2])

    with pytest.raises(RevisionConflictError):
        saver.save(ADA, first)
    second = FileStorage(document.parents[2]).load(ADA)
    with pytest.raises(RevisionConflictError):
        saver.save(ADA, first)
    assert note(saver.save(ADA, second)) == "second"


def test_undoing_an_edit_outdates_loads_of_the_edit(storage: FileStorage, document: Path) -> None:
    storage.save(ADA, KNOWN)
    before = document.read_bytes()
    edit(document, note="manual")
    edited = storage.load(ADA)
    document.write_bytes(before)

    undone = storage.load(ADA)
    with pytest.raises(RevisionConflictError):
        storage.save(ADA, edited)
    assert note(storage.save(ADA, undone)) is None


def test_the_revision_never_goes_back(storage: FileStorage, document: Path) -> None:
    """A person may paste an older document."""
    storage.save(ADA, KNOWN)
    older = document.read_bytes()
    for _ in range(3):
        storage.save(ADA, storage.load(ADA).with_facts(()))

    document.write_bytes(older)

    assert storage.load(ADA).revision == 5


def test_a_load_never_writes_to_an_edited_document(storage: FileStorage, document: Path) -> None:
    """The person may still have it open."""
    storage.save(ADA, KNOWN)
    edited = edit(document, note="manual")

    revisions = {
        storage.load(ADA).revision,
        storage.load(ADA).revision,
        FileStorage(document.parents[2]).load(ADA).revision,
    }

    assert revisions == {2}
    assert document.read_bytes() == edited


def test_reformatting_is_not_an_edit(storage: FileStorage, document: Path) -> None:
    loaded = storage.save(ADA, KNOWN)
    edit(document)

    assert storage.load(ADA) == loaded
    assert storage.save(ADA, loaded).revision == 2


def test_creating_a_document_manually_counts_as_a_writer(storage: FileStorage, document: Path) -> None:
    nothing = storage.load(ADA)
    document.parent.mkdir(parents=True)
    document.write_text('{"facts": ["Likes tea."]}')

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, nothing)
    loaded = storage.load(ADA)
    with pytest.raises(RevisionConflictError):
        storage.save(ADA, nothing)
    assert [fact.content for fact in storage.save(ADA, loaded).facts] == ["Likes tea."]


def test_an_edit_during_a_save_is_not_lost(
    storage: FileStorage, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = storage.save(ADA, KNOWN)
    fsync = os.fsync

    def edit_meanwhile(descriptor: int) -> None:
        edit(document, note="manual")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", edit_meanwhile)
    with pytest.raises(RevisionConflictError):
        storage.save(ADA, loaded)
    monkeypatch.undo()

    assert note(storage.load(ADA)) == "manual"


def test_an_edit_during_a_deletion_is_deleted_too(
    storage: FileStorage, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.save(ADA, KNOWN)
    fsync, edits = os.fsync, iter(["once"])

    def edit_meanwhile(descriptor: int) -> None:
        for text in edits:
            edit(document, note=text)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", edit_meanwhile)
    storage.delete(ADA)

    assert (note(storage.load(ADA)), storage.load(ADA).is_empty) == (None, True)


def test_a_removed_document_reads_as_missing(storage: FileStorage, document: Path) -> None:
    storage.save(ADA, KNOWN)
    loaded = storage.save(BOT, MemoryDocument(note="the bot's"))
    (document.parent / "agents" / "bot" / "memory.json").unlink()

    assert storage.load(BOT).facts == KNOWN.facts
    with pytest.raises(RevisionConflictError):
        storage.save(BOT, loaded)


def test_revisions_continue_after_a_document_was_removed(storage: FileStorage, document: Path) -> None:
    """Otherwise a load of the removed document could be saved over the new one."""
    first = storage.save(ADA, KNOWN)
    second = storage.save(ADA, first)
    document.unlink()

    saved = storage.save(ADA, storage.load(ADA))

    assert saved.revision == 3
    for stale in (first, second):
        with pytest.raises(RevisionConflictError):
            storage.save(ADA, stale)


def test_restoring_a_deleted_document_does_not_allow_older_saves(storage: FileStorage, document: Path) -> None:
    loaded = storage.save(ADA, KNOWN)
    before = document.read_bytes()
    storage.delete(ADA)
    document.write_bytes(before)

    for _ in range(2):
        with pytest.raises(ForgottenError):
            storage.save(ADA, loaded)
        assert storage.load(ADA).facts == KNOWN.facts


def test_a_deletion_outdates_loads_of_an_edit(storage: FileStorage, document: Path) -> None:
    before = storage.save(ADA, KNOWN)
    edit(document, note="manual", revision=7)
    seen = storage.load(ADA)
    edit(document, note="again")
    storage.delete(ADA)

    for loaded in (before, seen):
        with pytest.raises(ForgottenError):
            storage.save(ADA, loaded)


def test_an_edit_is_loaded_even_if_it_cannot_be_recorded(
    storage: FileStorage, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be read-only, or a writer may hang."""
    storage.save(ADA, KNOWN)
    edit(document, note="manual")
    monkeypatch.setattr(file, "RECORD_TIMEOUT_SECONDS", 0)

    with locked(document, 0):
        loaded = storage.load(ADA)

    assert note(loaded) == "manual"
    with pytest.raises(RevisionConflictError):
        storage.save(ADA, loaded)
    assert note(storage.save(ADA, storage.load(ADA))) == "manual"


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b'{"facts": [', b"[]", b'{"facts": 3}', b"\xff\xfe\x00", b'{"user": "\xff"}'])
@pytest.mark.parametrize("act", ["load", "save", "delete"])
def test_a_damaged_document_is_an_error_and_left_unchanged(
    storage: FileStorage, document: Path, damage: bytes, act: str
) -> None:
    loaded = storage.save(ADA, KNOWN)
    document.write_bytes(damage)
    acts: dict[str, Callable[[], object]] = {
        "load": lambda: storage.load(ADA),
        "save": lambda: storage.save(ADA, loaded),
        "delete": lambda: storage.delete(ADA),
    }

    with pytest.raises(DamagedMemoryError) as caught:
        acts[act]()

    assert document.read_bytes() == damage
    assert caught.value.location == str(document)
    assert str(document.with_name("memory.json.last")) in str(caught.value)


def test_the_last_good_version_can_be_restored(storage: FileStorage, document: Path) -> None:
    saved = storage.save(ADA, KNOWN)
    document.write_text('{"facts": [')

    document.write_bytes(document.with_name("memory.json.last").read_bytes())

    assert storage.load(ADA) == saved


def test_a_loaded_edit_becomes_the_last_good_version(storage: FileStorage, document: Path) -> None:
    storage.save(ADA, KNOWN)
    edit(document, note="manual")
    storage.load(ADA)

    document.write_text("oops")

    assert note(MemoryDocument.model_validate_json(document.with_name("memory.json.last").read_bytes())) == "manual"


def test_a_damaged_agent_document_does_not_fall_back_to_the_shared_one(storage: FileStorage, document: Path) -> None:
    storage.save(ADA, KNOWN)
    storage.save(BOT, KNOWN)
    (document.parent / "agents" / "bot" / "memory.json").write_text("oops")

    with pytest.raises(DamagedMemoryError):
        storage.load(BOT)


def test_a_damaged_last_good_version_is_ignored(storage: FileStorage, document: Path) -> None:
    """It is not synced, so a power cut may empty it."""
    loaded = storage.save(ADA, KNOWN)
    document.with_name("memory.json.last").write_bytes(b"")

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, loaded)
    assert storage.save(ADA, storage.load(ADA)).facts == KNOWN.facts


# -- when things break ----------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "open"])
def test_a_full_disk_leaves_the_old_document(
    storage: FileStorage, document: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    saved = storage.save(ADA, KNOWN)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, refuse)
        with pytest.raises(StorageError, match=r"(memory\.json|history\.jsonl).*: No space left on device"):
            storage.save(ADA, saved.model_copy(update={"note": "lost"}))

    assert storage.load(ADA) == saved
    assert len(list(document.parent.iterdir())) == 4
    assert storage.save(ADA, saved).revision == 2


def test_a_check_for_writability_finds_a_full_disk(storage: FileStorage) -> None:
    """A limit of the process stands in for the disk. The folder itself could still be created."""
    storage.save(ADA, KNOWN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(StorageError, match="users/ada: File too large"):
            storage.check_writable(ADA)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    storage.check_writable(ADA)


def test_a_rename_that_fails_leaves_the_old_document(
    storage: FileStorage, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = storage.save(ADA, KNOWN)

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.EIO, "Input/output error", str(target))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        with pytest.raises(StorageError, match="Input/output error"):
            storage.save(ADA, saved)

    assert storage.load(ADA) == saved
    assert len(list(document.parent.iterdir())) == 4


def refuse_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no last good version be replaced."""
    replace = Path.replace

    def refuse_copy(self: Path, target: Path) -> Path:
        if target.suffix == ".last":
            raise OSError(errno.EIO, "Input/output error")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse_copy)


def test_a_save_without_its_last_good_version_still_counts(
    storage: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no edit: it has one revision, also while the last good version cannot be replaced."""
    saved = storage.save(ADA, KNOWN)

    with monkeypatch.context() as patched:
        refuse_copies(patched)
        for text in ("first", "kept"):
            saved = storage.save(ADA, saved.model_copy(update={"note": text}))
            assert storage.load(ADA) == saved

    loaded = storage.load(ADA)
    assert (note(loaded), loaded.revision) == ("kept", 3)
    assert [entry.revision for entry in storage.revisions(ADA)] == [3, 2, 1]
    assert storage.save(ADA, loaded).revision == 4


KILLED = """
import os, sys
from pathlib import Path
from memgraph.models import Scope
from memgraph.storage import open_storage

def replace(self, target, replace=Path.replace):
    replace(self, target)
    if target.name == "memory.json":
        os.kill(os.getpid(), 9)

storage, scope = open_storage(sys.argv[1]), Scope("ada")
Path.replace = replace
memory = storage.load(scope)
storage.delete(scope) if sys.argv[2] == "delete" else storage.save(scope, memory.with_facts(()))
"""
"""Ends between the document and its last good version."""


def kill_during(act: str, document: Path) -> None:
    url = f"file:{document.parents[2]}"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, url, act], check=False, cwd=Path(memgraph.__file__).parents[1]
    )
    assert killed.returncode == -signal.SIGKILL


def test_a_save_that_is_killed_before_the_last_good_version_is_one_revision(
    storage: FileStorage, document: Path
) -> None:
    with recorded_as(ChangeOrigin(by="update", thread="t1"), Policy()):
        storage.save(ADA, KNOWN)
    kill_during("save", document)

    loaded = storage.load(ADA)

    assert (loaded.revision, loaded.facts, len(storage.revisions(ADA))) == (2, (), 2)
    assert document.read_bytes() == document.with_name("memory.json.last").read_bytes()
    assert storage.save(ADA, loaded).revision == 3


def test_a_deletion_that_is_killed_before_the_last_good_version_leaves_no_text(
    storage: FileStorage, document: Path
) -> None:
    storage.save(ADA, KNOWN)
    kill_during("delete", document)

    history = [(entry.revision, entry.by) for entry in storage.revisions(ADA)]

    assert (storage.load(ADA).is_empty, history) == (True, [(2, "delete")])
    assert not [path for path in document.parent.iterdir() if b"engines" in path.read_bytes()]


def test_a_deletion_that_was_killed_can_be_repeated(storage: FileStorage, document: Path) -> None:
    """Before anything has read the document: the text is still in its last good version."""
    storage.save(ADA, KNOWN)
    kill_during("delete", document)

    left = storage.scopes_of("ada")
    for scope in left:
        storage.delete(scope)

    assert (left, storage.scopes_of("ada")) == ([ADA], [])
    assert not [path for path in document.parent.iterdir() if b"engines" in path.read_bytes()]


def test_an_edit_after_a_killed_deletion_records_no_deleted_text(storage: FileStorage, document: Path) -> None:
    storage.save(ADA, KNOWN)
    kill_during("delete", document)
    edit(document, note="manual")

    loaded = storage.load(ADA)

    assert (note(loaded), loaded.revision, len(storage.revisions(ADA))) == ("manual", 3, 2)
    assert not [path for path in document.parent.iterdir() if b"engines" in path.read_bytes()]


@pytest.mark.parametrize("act", ["load", "check_writable", "save", "delete"])
def test_a_base_that_is_a_file_is_an_error(tmp_path: Path, act: str) -> None:
    (tmp_path / "base").write_text("not a folder")
    storage = FileStorage(tmp_path / "base" / "below")
    acts: dict[str, Callable[[], object]] = {
        "load": lambda: storage.load(ADA),
        "check_writable": lambda: storage.check_writable(ADA),
        "save": lambda: storage.save(ADA, KNOWN),
        "delete": lambda: storage.delete(ADA),
    }

    with pytest.raises(StorageError, match="base"):
        acts[act]()


def test_a_document_that_is_a_folder_is_an_error(storage: FileStorage, document: Path) -> None:
    document.mkdir(parents=True)

    with pytest.raises(StorageError, match="Is a directory"):
        storage.load(ADA)


def test_a_lock_timeout_names_the_lock(document: Path) -> None:
    storage = FileStorage(document.parents[2], lock_timeout=0.05)
    storage.save(ADA, KNOWN)

    with locked(document, 0), pytest.raises(StorageError, match=r"memory\.json\.lock was held by another writer"):
        storage.save(ADA, storage.load(ADA))


def test_readers_do_not_wait_for_writers(storage: FileStorage, document: Path) -> None:
    saved = storage.save(ADA, KNOWN)

    with locked(document, 0):
        assert storage.load(ADA) == saved


def test_temporary_files_of_a_killed_writer_are_replaced(storage: FileStorage, document: Path) -> None:
    storage.save(ADA, KNOWN)
    for name in ("memory.json.tmp", "memory.json.last.tmp"):
        document.with_name(name).write_text("half a docu")

    storage.save(ADA, storage.load(ADA))

    assert len(list(document.parent.iterdir())) == 4


def test_a_writer_killed_at_any_moment_leaves_a_complete_document(
    tmp_path: Path, document: Path, start_learner: Callable[..., subprocess.Popen[str]]
) -> None:
    """Every save it reported is there."""
    facts = 0
    for kill in range(6):
        learner = start_learner(f"file:{tmp_path}", f"k{kill}", 10_000)
        assert learner.stdout
        done = int(learner.stdout.readline()) + 1
        time.sleep(0.05 + kill * 0.017)
        learner.send_signal(signal.SIGKILL)
        done += learner.communicate()[0].count("\n")

        json.loads(document.read_bytes())
        memory = open_storage(f"file:{tmp_path}").load(ADA)
        assert facts + done <= len(memory.facts) <= facts + done + 1
        facts = len(memory.facts)


def test_a_link_in_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    """A user with write access to the folder could have another file of this user overwritten."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = tmp_path / "memory.json"
    path.with_name("memory.json.tmp").symlink_to(victim)

    replace(path, b"{}")

    assert (victim.read_text(), path.read_bytes(), path.is_symlink()) == ("precious", b"{}", False)


def test_a_save_between_the_two_files_that_a_reader_opens_is_no_edit(
    storage: FileStorage, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would get the content of one revision under the number of the next, if the lock is busy."""
    first = storage.save(ADA, KNOWN)
    reading = file.read_file
    busy = ExitStack()

    def save_meanwhile(path: Path) -> bytes | None:
        data = reading(path)
        if path == document:
            monkeypatch.setattr(file, "read_file", reading)
            FileStorage(document.parents[2]).save(ADA, first.with_facts(()))
            busy.enter_context(locked(document, 1))
        return data

    monkeypatch.setattr(file, "read_file", save_meanwhile)
    monkeypatch.setattr(file, "RECORD_TIMEOUT_SECONDS", 0)

    with busy:
        loaded = storage.load(ADA)

    assert (loaded.revision, loaded.facts) == (2, ())
