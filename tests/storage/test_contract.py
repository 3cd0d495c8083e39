"""The contract of every storage. To test a new one, add a line to URLS in conftest.py."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from update_values import contents

from memgraph.errors import ForgottenError, RevisionConflictError
from memgraph.models import CATEGORIES, AsSaid, Deletion, Evidence, Fact, MemoryDocument, Scope, Section, Watermark
from memgraph.storage import MemoryStorage, open_storage

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

SHARED_BY_PROCESSES = ("file", "sqlite", "postgresql")

ADA = Scope("ada")
BOT = Scope("ada", "bot")
KNOWN = MemoryDocument(facts=(Fact(content="Works on engines."),), threads={"t1": Watermark(last_message_id="m1")})


def learn(storage: MemoryStorage, content: str, scope: Scope = ADA) -> None:
    """Add a fact; retry after conflicts."""
    while True:
        memory = storage.load(scope)
        try:
            storage.save(scope, memory.with_facts((*memory.facts, Fact(content=content))))
        except RevisionConflictError:
            continue
        return


# -- load and save --------------------------------------------------------------------------------


def test_what_is_kept_as_said_is_read_as_it_was(storage: MemoryStorage) -> None:
    claim = AsSaid(content="Is a US resident.", evidence=(Evidence(quote="Got my green card!"),), reason="in doubt")

    saved = storage.save(ADA, MemoryDocument(as_said=(claim,)))

    assert storage.load(ADA) == saved
    assert storage.reload(ADA).as_said == (claim,)


def test_a_missing_memory_is_empty_and_at_revision_0(storage: MemoryStorage) -> None:
    assert storage.load(ADA) == MemoryDocument()


def test_loading_writes_nothing(storage: MemoryStorage, tmp_path: Path) -> None:
    storage.load(ADA)
    list(storage.scopes())

    assert list(tmp_path.iterdir()) == []


def test_a_check_for_writability_stores_nothing(storage: MemoryStorage, tmp_path: Path) -> None:
    """Neither for a new user nor for a known one: it may run before the only call of an update that then fails."""
    storage.check_writable(ADA)
    assert list(tmp_path.iterdir()) == []
    saved = storage.save(ADA, KNOWN)
    files = sorted(tmp_path.rglob("*"))

    storage.check_writable(ADA)
    storage.check_writable(Scope("bob", "bot"))

    assert sorted(tmp_path.rglob("*")) == files
    assert (storage.load(ADA), list(storage.scopes())) == (saved, [ADA])


def test_a_saved_memory_is_loaded_unchanged(storage: MemoryStorage) -> None:
    saved = storage.save(ADA, KNOWN)

    assert storage.load(ADA) == saved == KNOWN.model_copy(update={"revision": 1})


def test_each_save_raises_the_revision_by_one(storage: MemoryStorage) -> None:
    assert storage.save(ADA, storage.save(ADA, MemoryDocument())).revision == 2


def test_any_text_survives(storage: MemoryStorage) -> None:
    text = "喜欢 Python，😀👩‍👩‍👧 \0 \x1b \u2028 \ufeff </memory> \"'\\ \r\n"

    storage.save(
        ADA, MemoryDocument(facts=(Fact(id="f", content=text),)).with_section("top_of_mind", Section(summary=text))
    )

    loaded = storage.load(ADA)
    assert (contents(loaded), loaded.user.top_of_mind.summary) == ([text], text)


def test_unknown_keys_survive(storage: MemoryStorage) -> None:
    """Another program, or a later version, may store its own keys in the document."""
    given = MemoryDocument.model_validate(
        {
            "mood": {"now": ["fine", 1, None]},
            "user": {"hat": "red", "workContext": {"summary": "x", "weight": 2}},
            "facts": [{"id": "x", "content": "y", "pinned": True}],
            "threads": {"t": {"lastMessageId": "m", "note": "z"}},
        }
    )

    storage.save(ADA, given)

    assert storage.load(ADA) == given.model_copy(update={"revision": 1})


def test_an_unpaired_surrogate_does_not_prevent_a_save(storage: MemoryStorage) -> None:
    """Models sometimes truncate emoji; UTF-8 cannot encode half of one."""
    saved = storage.save(ADA, MemoryDocument(facts=(Fact(id="f", content="cut \ud83d"),), note=["\udc00"]))

    assert contents(storage.load(ADA)) == ["cut \ufffd"]
    assert storage.load(ADA) == saved


def test_scopes_do_not_mix(storage: MemoryStorage) -> None:
    for scope in (ADA, BOT, Scope("bob"), Scope("default"), Scope("default", "bot")):
        storage.save(scope, MemoryDocument(facts=(Fact(content=str(scope)),)))

    assert contents(storage.load(BOT)) == [str(BOT)]
    assert contents(storage.load(Scope("default"))) == ["'default'"]


@pytest.mark.parametrize(
    "user_id",
    [
        *("..", ".", "a/b", "../../x", "a\\b", "users", "agents", "memory.json", "default ", "CON", "C:", "~", " "),
        *("A", "=41", "%41", "' OR 1=1 --", "e\u0301", "\u00e9", "\U0001f600"),
        *("a" * 256, "A" * 256, "\U0001f600" * 256),
    ],
)
def test_any_valid_user_id_works(storage: MemoryStorage, user_id: str) -> None:
    storage.save(Scope("a"), MemoryDocument(facts=(Fact(content="of a"),)))
    storage.save(Scope(user_id), MemoryDocument(facts=(Fact(content="odd"),)))

    assert contents(storage.load(Scope(user_id))) == ["odd"]
    assert contents(storage.load(Scope("a"))) == ["of a"]
    assert set(storage.scopes()) == {Scope("a"), Scope(user_id)}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(st.none() | st.booleans() | st.integers(-(10**9), 10**9) | texts, st.lists, max_leaves=4)
facts = st.builds(
    Fact,
    id=texts.filter(bool),
    content=texts,
    category=st.sampled_from([*CATEGORIES, "odd"]),
    confidence=st.floats(0, 1),
    source_error=st.none() | texts.filter(bool),
    confirmations=st.integers(0, 9),
    own_key=values,
)
memories = st.builds(
    MemoryDocument,
    facts=st.lists(facts, max_size=4, unique_by=lambda fact: fact.id).map(tuple),
    threads=st.dictionaries(texts, st.builds(Watermark, last_message_id=texts, message_ids=st.tuples(texts))),
    revision=st.just(0),
    own_key=values,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(memory=memories)
def test_any_memory_survives(storage: MemoryStorage, memory: MemoryDocument) -> None:
    current = storage.load(ADA)
    saved = storage.save(ADA, memory.model_copy(update={"revision": current.revision}))

    assert storage.load(ADA) == saved == memory.model_copy(update={"revision": current.revision + 1})


@pytest.mark.parametrize("scheme", SHARED_BY_PROCESSES)
def test_another_instance_reads_the_same(scheme: str, url_for: Callable[[str], Any]) -> None:
    """The cached document equals the stored one."""
    url = url_for(scheme)

    saved = open_storage(url).save(ADA, KNOWN)

    assert open_storage(url).load(ADA) == saved


# -- compare and set ------------------------------------------------------------------------------


def test_the_second_of_two_writers_loses(storage: MemoryStorage) -> None:
    """Two runs that loaded the same revision cannot both save."""
    first = second = storage.load(ADA)
    storage.save(ADA, first)

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, second)


def test_an_unknown_revision_is_a_conflict(storage: MemoryStorage) -> None:
    storage.save(ADA, KNOWN)

    for revision in (2, 10**30):
        with pytest.raises(RevisionConflictError):
            storage.save(ADA, KNOWN.model_copy(update={"revision": revision}))


def test_a_revision_of_a_missing_memory_is_a_conflict(storage: MemoryStorage) -> None:
    with pytest.raises(RevisionConflictError):
        storage.save(ADA, KNOWN.model_copy(update={"revision": 3}))

    assert storage.load(ADA) == MemoryDocument()


def test_a_lost_save_changes_nothing(storage: MemoryStorage) -> None:
    saved = storage.save(ADA, KNOWN)

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, MemoryDocument())

    assert storage.load(ADA) == saved


def after_the_next_read(storage: MemoryStorage, act: Callable[[], object]) -> None:
    """Let *act* happen after the next read of the document, as another writer would act."""
    backend = storage._backend  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    read = backend.read

    def read_then_act(scope: Scope) -> object:
        found = read(scope)
        backend.read = read
        act()
        return found

    backend.read = read_then_act


def test_a_save_between_read_and_write_is_a_conflict(storage: MemoryStorage) -> None:
    after_the_next_read(storage, lambda: storage.save(ADA, KNOWN))

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, MemoryDocument())

    assert storage.load(ADA).facts == KNOWN.facts


def test_a_deletion_between_read_and_write_is_a_deletion(storage: MemoryStorage) -> None:
    loaded = storage.save(ADA, KNOWN)
    after_the_next_read(storage, lambda: storage.delete(ADA))

    with pytest.raises(ForgottenError):
        storage.save(ADA, loaded)


def test_a_save_between_read_and_deletion_is_deleted_too(storage: MemoryStorage) -> None:
    loaded = storage.save(ADA, KNOWN)
    after_the_next_read(storage, lambda: storage.save(ADA, loaded.with_facts((Fact(content="Likes tea."),))))

    deleted = storage.delete(ADA)

    assert (deleted.revision, storage.load(ADA)) == (3, deleted)


@pytest.mark.usefixtures("eager_threads")
def test_4_threads_lose_no_update(storage: MemoryStorage) -> None:
    def learn_25(who: int) -> None:
        for number in range(25):
            learn(storage, f"{who}-{number}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(learn_25, range(4)))

    assert len(set(contents(storage.load(ADA)))) == 100
    assert storage.load(ADA).revision == 100


@pytest.mark.parametrize("scheme", SHARED_BY_PROCESSES)
def test_8_processes_lose_none_of_50_updates_each(
    scheme: str, url_for: Callable[[str], Any], start_learner: Callable[..., subprocess.Popen[str]]
) -> None:
    url = url_for(scheme)

    learners = [start_learner(url, f"p{number}", 50) for number in range(8)]
    for learner in learners:
        learner.communicate()

    learned = contents(open_storage(url).load(ADA))
    assert [learner.returncode for learner in learners] == [0] * 8
    assert len(learned) == len(set(learned)) == 400


def test_a_reader_never_sees_a_partial_save(storage: MemoryStorage) -> None:
    """Readers do not wait, and see complete revisions in order."""
    storage.save(ADA, MemoryDocument(note=0))
    stop = threading.Event()

    def read() -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []
        while not stop.is_set():
            memory = storage.load(ADA)
            assert memory.model_extra
            seen.append((memory.revision, memory.model_extra["note"]))
        return seen

    with ThreadPoolExecutor(2) as readers:
        reading = [readers.submit(read) for _ in range(2)]
        try:
            for number in range(1, 60):
                memory = storage.load(ADA)
                storage.save(ADA, memory.model_copy(update={"note": number}))
        finally:
            stop.set()
        seen = [reader.result() for reader in reading]

    assert all(pairs == sorted(pairs) and all(revision == note + 1 for revision, note in pairs) for pairs in seen)


# -- deletion -------------------------------------------------------------------------------------


def test_a_deleted_memory_is_empty_at_the_next_revision(storage: MemoryStorage) -> None:
    storage.save(ADA, KNOWN.model_copy(update={"diary": "private"}))

    deleted = storage.delete(ADA)

    assert storage.load(ADA) == deleted
    assert (deleted.is_empty, deleted.revision, deleted.model_extra) == (True, 2, {})
    assert deleted.forgotten
    assert (deleted.forgotten.revision, deleted.forgotten.at[-1:]) == (2, "Z")


def test_deleted_text_does_not_remain_on_disk(storage: MemoryStorage, tmp_path: Path) -> None:
    """Neither in a copy nor in a free page of a database."""
    storage.save(ADA, storage.save(ADA, KNOWN.with_facts((*KNOWN.facts, Fact(content="engine " * 5_000)))))

    storage.delete(ADA)

    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"engine" in path.read_bytes()]


def test_a_deletion_keeps_the_watermarks(storage: MemoryStorage) -> None:
    """So messages from before the deletion are not learned again."""
    storage.save(ADA, KNOWN)

    assert storage.delete(ADA).threads == KNOWN.threads


def test_a_memory_from_before_the_deletion_cannot_be_saved(storage: MemoryStorage) -> None:
    loaded = storage.save(ADA, KNOWN)
    deleted = storage.delete(ADA)

    with pytest.raises(ForgottenError):
        storage.save(ADA, loaded)

    assert storage.load(ADA) == deleted


def test_nor_can_it_be_saved_after_later_saves(storage: MemoryStorage) -> None:
    """A run may wait for review for days."""
    loaded = storage.save(ADA, KNOWN)
    deleted = storage.delete(ADA)
    storage.save(ADA, storage.save(ADA, deleted))

    with pytest.raises(ForgottenError):
        storage.save(ADA, loaded)


def test_nor_after_a_save_that_lost_the_deletion(storage: MemoryStorage) -> None:
    loaded = storage.save(ADA, KNOWN)
    deleted = storage.delete(ADA)

    saved = storage.save(ADA, MemoryDocument(revision=deleted.revision))

    assert saved.forgotten == storage.load(ADA).forgotten == deleted.forgotten
    with pytest.raises(ForgottenError):
        storage.save(ADA, loaded)


def test_a_memory_from_after_the_deletion_can_be_saved(storage: MemoryStorage) -> None:
    storage.save(ADA, KNOWN)

    saved = storage.save(ADA, storage.delete(ADA).with_facts(KNOWN.facts))

    assert saved.revision == 3


def test_a_later_conflict_is_not_a_forgotten_error(storage: MemoryStorage) -> None:
    deleted = storage.delete(ADA)
    storage.save(ADA, deleted)

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, deleted)


def test_deleting_a_missing_memory_outdates_earlier_loads(storage: MemoryStorage) -> None:
    nothing = storage.load(ADA)

    assert storage.delete(ADA).revision == 1
    with pytest.raises(ForgottenError):
        storage.save(ADA, nothing)


def test_deleting_twice_makes_two_revisions(storage: MemoryStorage) -> None:
    first = storage.delete(ADA)

    second = storage.delete(ADA)

    assert second.forgotten
    assert (first.revision, second.revision, second.forgotten.revision) == (1, 2, 2)
    with pytest.raises(ForgottenError):
        storage.save(ADA, first)


def test_an_imported_deletion_does_not_prevent_later_saves(storage: MemoryStorage) -> None:
    """An imported document may contain a deletion at a revision that this one has not reached."""
    imported = KNOWN.model_copy(update={"forgotten": Deletion(revision=900, at="")})

    saved = storage.save(ADA, imported)

    assert storage.save(ADA, saved).revision == 2


def test_the_default_delete_does_the_same(storage: MemoryStorage) -> None:
    """A custom storage implements only load and save."""
    loaded = storage.save(ADA, KNOWN)

    deleted = MemoryStorage.delete(storage, ADA)

    assert (deleted.revision, deleted.threads, deleted.is_empty) == (2, KNOWN.threads, True)
    with pytest.raises(ForgottenError):
        storage.save(ADA, loaded)


@pytest.mark.usefixtures("eager_threads")
def test_a_deletion_always_succeeds(storage: MemoryStorage) -> None:
    """No matter how many others save or delete."""

    def learn_and_delete(_: int) -> set[int]:
        for number in range(5):
            with suppress(ForgottenError):
                learn(storage, f"fact {number}")
        return {storage.delete(ADA).revision for _ in range(5)}

    with ThreadPoolExecutor(4) as threads:
        revisions = list(threads.map(learn_and_delete, range(4)))

    assert len(set().union(*revisions)) == 20
    assert storage.load(ADA).is_empty


# -- agents ---------------------------------------------------------------------------------------


def test_an_agent_without_a_memory_reads_the_shared_one(storage: MemoryStorage) -> None:
    storage.save(ADA, KNOWN)

    assert storage.load(BOT).facts == KNOWN.facts


def test_an_agent_starts_at_revision_0_without_watermarks(storage: MemoryStorage) -> None:
    """It has learned from no thread, and had no memory to delete."""
    storage.save(ADA, storage.delete(ADA).model_copy(update={"threads": KNOWN.threads}))

    loaded = storage.load(BOT)

    assert (loaded.revision, loaded.threads, loaded.forgotten) == (0, {}, None)


def test_learning_writes_the_agents_own_memory(storage: MemoryStorage) -> None:
    storage.save(ADA, KNOWN)

    learn(storage, "Likes bots.", BOT)

    assert contents(storage.load(BOT)) == ["Works on engines.", "Likes bots."]
    assert contents(storage.load(ADA)) == ["Works on engines."]


def test_an_agent_with_a_memory_reads_no_other(storage: MemoryStorage) -> None:
    storage.save(BOT, MemoryDocument())
    storage.save(ADA, KNOWN)

    assert storage.load(BOT).is_empty


def test_a_deleted_agent_memory_is_empty_not_shared(storage: MemoryStorage) -> None:
    storage.save(ADA, KNOWN)
    loaded = storage.load(BOT)

    storage.delete(BOT)

    assert storage.load(BOT).is_empty
    with pytest.raises(ForgottenError):
        storage.save(BOT, loaded)
    assert storage.load(ADA).facts == KNOWN.facts


# -- the rest -------------------------------------------------------------------------------------


def test_every_scope_with_a_memory_is_listed(storage: MemoryStorage) -> None:
    scopes = {ADA, BOT, Scope("default"), Scope("default", "bot"), Scope("Zoë 😀"), Scope("x" * 250, "bot")}
    for scope in scopes:
        storage.save(scope, KNOWN)

    assert set(storage.scopes()) == scopes


def test_a_deleted_memory_is_not_listed_until_it_is_used_again(storage: MemoryStorage) -> None:
    storage.save(ADA, KNOWN)

    deleted = storage.delete(ADA)
    assert list(storage.scopes()) == []

    storage.save(ADA, deleted)
    assert list(storage.scopes()) == [ADA]


@pytest.mark.parametrize("scheme", ["file", "sqlite", "memory", "postgresql"])
def test_the_name_starts_with_the_url(scheme: str, url_for: Callable[[str], Any]) -> None:
    place = url_for(scheme)

    assert open_storage(place).name.startswith(place)


def test_reload_reads_what_is_stored(storage: MemoryStorage) -> None:
    saved = storage.save(ADA, KNOWN)

    assert storage.reload(ADA) == saved
