"""The memory is saved, and the report says what changed."""

from __future__ import annotations

from typing import Any

import pytest
from faulty_storage import MeddlingStorage, adding
from update_values import ADA, AT, addition, fact, origin, runtime, turn, update

from memgraph import MemoryDocument, MemoryStorage, Policy, RevisionConflictError, WrongStorageError, open_storage
from memgraph.models import PersonDecision, Refusal, Watermark
from memgraph.report import REJECTED, RemovedFact, Report, Usage
from memgraph.update.nodes import save_memory

TURNS = (turn("m1"), turn("m2", role="ai"))
USED = Usage(calls=1, input_tokens=700, output_tokens=50)
LEARNED = {"t1": Watermark(last_message_id="m2", at=AT, message_ids=("m1", "m2"))}
DOG = fact("Has a dog.", id="n1")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """The bounds of every random wait, and its length; nothing sleeps."""
    drawn: list[tuple[float, float]] = []
    slept: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        drawn.append((low, high))
        return high

    monkeypatch.setattr("memgraph.storage.base.random.uniform", uniform)
    monkeypatch.setattr("memgraph.storage.base.time.sleep", lambda seconds: slept.append((drawn[-1][0], seconds)))
    return slept


def save(storage: MemoryStorage, policy: Policy | None = None, events: list[Any] | None = None, **state: Any) -> Any:
    given: dict[str, Any] = {
        "turns": TURNS,
        "origin": origin(storage),
        "memory": MemoryDocument(),
        "pending_turns": 2,
        "changes": update(additions=(addition("Has a dog."),)),
        "removed": (),
        "refused": (),
        "scrubbed": MemoryDocument(facts=(DOG,), threads=LEARNED),
        "uploads": (),
        "usage": USED,
        "report": Report(),
    }
    return save_memory({**given, **state}, runtime(storage, events, policy=policy))  # type: ignore[typeddict-item]


def test_what_was_learned_is_saved_and_reported() -> None:
    """The saved document is also the one that the next batch starts from."""
    storage, events = open_storage("memory:"), list[Any]()

    output = save(storage, events=events)

    saved = storage.load(ADA)
    assert (saved.revision, saved.facts, saved.threads) == (1, (DOG,), LEARNED)
    assert output == {
        "saved": saved,
        "memory": saved,
        "pending_turns": 0,
        "report": Report(added=(DOG,), usage=USED),
        "conflicts": 0,
        "outcome": "learned",
    }
    assert events == [{"graph": "memory_update", "node": "save_memory", "facts": 1, "left": 0}]


def test_a_run_with_turns_left_has_no_outcome_yet() -> None:
    """It goes on with the next batch."""
    output = save(open_storage("memory:"), scrubbed=MemoryDocument(), turns=(*TURNS, turn("m3")))

    assert output["pending_turns"] == 3
    assert "outcome" not in output


def test_the_report_adds_up_over_the_passes() -> None:
    """Earlier passes first; a refusal is reported once, with those of uploads at the end."""
    refusals = tuple(Refusal(item=item, reason="why") for item in "abc")
    removed = RemovedFact(fact=fact("Lives in Oslo.", id="f1"), why="moved")
    memory = MemoryDocument(facts=(removed.fact,))

    report = save(
        open_storage("memory:"),
        memory=memory,
        removed=(removed,),
        refused=(refusals[0], refusals[1], refusals[0]),
        uploads=(refusals[1], refusals[2]),
        report=Report(refused=(refusals[2],), usage=USED),
    )["report"]

    assert report == Report(added=(DOG,), removed=(removed,), refused=(refusals[2], *refusals), usage=USED + USED)


@pytest.mark.parametrize(
    ("refused", "outcome"),
    [
        ((), "nothing_new"),
        ((Refusal(item="x", reason="it is a question"),), "nothing_new"),
        ((Refusal(item="x", reason=REJECTED),), "rejected"),
    ],
)
def test_a_run_that_changed_nothing_says_whether_a_reviewer_rejected_it(refused: Any, outcome: str) -> None:
    """The watermark is saved in any case."""
    storage = open_storage("memory:")

    output = save(storage, scrubbed=MemoryDocument(threads=LEARNED), refused=refused)

    assert output["outcome"] == outcome
    assert storage.load(ADA).threads == LEARNED


def test_a_change_beside_a_rejected_item_is_learned() -> None:
    """Items are decided one by one."""
    assert save(open_storage("memory:"), refused=(Refusal(item="x", reason=REJECTED),))["outcome"] == "learned"


@pytest.mark.parametrize(("before", "factor"), [(None, 1), (0, 1), (1, 2), (8, 9), (9, 10), (30, 10)])
def test_a_lost_race_is_counted_after_a_random_wait(
    before: int | None, factor: int, waits: list[tuple[float, float]]
) -> None:
    """Up to 10 ms, growing with each lost race to 100 ms; nothing else is written."""
    state = {} if before is None else {"conflicts": before}

    output = save(MeddlingStorage(adding("Has a cat.")), **state)

    assert output == {"conflicts": (before or 0) + 1}
    assert waits == [(0, pytest.approx(0.01 * factor))]


def test_as_many_lost_races_as_the_policy_allows_are_retried(waits: list[tuple[float, float]]) -> None:
    """The limit is inclusive."""
    assert save(MeddlingStorage(adding("Has a cat.")), Policy(max_races=3), conflicts=2) == {"conflicts": 3}
    assert len(waits) == 1


def test_more_lost_races_than_the_policy_allows_are_an_error(waits: list[tuple[float, float]]) -> None:
    """With the revision that was lost."""
    with pytest.raises(RevisionConflictError) as error:
        save(MeddlingStorage(adding("Has a cat.")), Policy(max_races=3), conflicts=3)

    assert (error.value.scope, error.value.revision, waits) == (ADA, 0, [])


def test_another_storage_than_that_of_the_run_is_refused() -> None:
    """Nothing is saved."""
    storage = open_storage("memory:")

    with pytest.raises(WrongStorageError):
        save(storage, origin=origin("elsewhere"))

    assert storage.load(ADA).revision == 0


# -- episodes -------------------------------------------------------------------------------------


def kept(storage: MemoryStorage) -> list[tuple[str, str]]:
    return [(episode.thread_id, episode.message_id) for episode in storage.episodes(ADA)]


def test_the_turns_that_were_learned_are_kept_word_for_word() -> None:
    """Also if nothing was learned from them. The other turns are kept with the next batch."""
    storage = open_storage("memory:")

    save(storage, scrubbed=MemoryDocument(threads=LEARNED), turns=(*TURNS, turn("m3")))

    assert kept(storage) == [("t1", "m1")]


def test_a_turn_learned_in_parts_is_kept_with_its_first_part() -> None:
    storage = open_storage("memory:")

    save(storage, changes=update(message_ids=("m1#chars=1000",)))

    assert kept(storage) == [("t1", "m1")]


def test_a_later_part_of_a_turn_does_not_keep_it_again() -> None:
    """A turn of 40 batches would be split into episodes and written 40 times."""
    storage = open_storage("memory:")
    before = MemoryDocument(threads={"t1": Watermark(last_message_id="m1#chars=1000", message_ids=("m1#chars=1000",))})

    save(storage, memory=before, changes=update(message_ids=("m1#chars=2000", "m2")))

    assert kept(storage) == []


def test_a_lost_race_keeps_each_turn_once(waits: list[tuple[float, float]]) -> None:
    """The turns are appended before the save that lost, and again with the next one."""
    storage = open_storage("memory:")
    storage.save(ADA, MemoryDocument())

    save(storage)
    save(storage, scrubbed=MemoryDocument(facts=(DOG,), threads=LEARNED, revision=1))

    assert (len(waits), kept(storage)) == (1, [("t1", "m1")])


def test_a_crash_before_the_save_loses_no_episode() -> None:
    """The run is repeated after a restart."""
    storage = open_storage("memory:")
    crashing = MeddlingStorage(lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    crashing.append_episodes = storage.append_episodes  # type: ignore[method-assign]

    with pytest.raises(KeyboardInterrupt):
        save(crashing)

    assert kept(storage) == [("t1", "m1")]


def test_nothing_is_kept_if_episodes_are_off() -> None:
    storage = open_storage("memory:")

    output = save(storage, Policy(episodes="off"))

    assert (kept(storage), output["outcome"]) == ([], "learned")


def test_what_is_kept_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Before it is kept: with the storage, the limits, and how to switch it off."""
    caplog.set_level("INFO", "memgraph")
    storage = open_storage("memory:")

    for revision in range(2):
        save(storage, Policy(episode_days=30), scrubbed=MemoryDocument(revision=revision))

    (line,) = [record.message for record in caplog.records]
    assert line.startswith(f"{storage.name}: the user's own words are kept, for 30 days, at most 10,000 episodes")
    assert "episodes: off keeps none" in line


def test_a_run_from_before_a_deletion_keeps_no_episode() -> None:
    """What its user deleted does not come back word for word."""
    storage = open_storage("memory:")
    storage.save(ADA, MemoryDocument())
    storage.delete(ADA)

    assert save(storage)["outcome"] == "forgotten"
    assert kept(storage) == []


# -- a memory that was deleted meanwhile ----------------------------------------------------------


def test_a_memory_deleted_meanwhile_stays_deleted() -> None:
    """Its turns are marked as learned, so that they never come back; what was paid is reported."""
    storage = MeddlingStorage(lambda inner: inner.delete(ADA))

    output = save(storage, turns=(*TURNS, turn("m3")), report=Report(added=(DOG,)))

    stored = storage.load(ADA)
    assert output == {"outcome": "forgotten", "report": Report(added=(DOG,), usage=USED)}
    assert stored.facts == ()
    assert stored.threads == {"t1": Watermark(last_message_id="m3", at=AT, message_ids=("m1", "m2", "m3"))}


def test_a_memory_deleted_before_it_was_loaded_is_an_ordinary_conflict(waits: list[tuple[float, float]]) -> None:
    """The deletion is known to the document that this run has changed."""
    storage = MeddlingStorage(adding("Has a cat."))
    storage.inner.save(ADA, MemoryDocument())
    forgotten = storage.inner.delete(ADA)

    output = save(storage, scrubbed=forgotten.with_facts((DOG,)))

    assert output == {"conflicts": 1}
    assert len(waits) == 1


def test_the_mark_after_a_deletion_is_tried_again() -> None:
    """Other writers may be busy too; their facts stay."""
    storage = MeddlingStorage(lambda inner: inner.delete(ADA), adding("Has a cat."))

    assert save(storage)["outcome"] == "forgotten"

    stored = storage.load(ADA)
    assert [known.content for known in stored.facts] == ["Has a cat."]
    assert stored.threads["t1"].message_ids == ("m1", "m2")


def test_the_mark_after_a_deletion_is_given_up_after_as_many_races_as_allowed() -> None:
    """The deletion counts all the same."""
    acts = [adding(f"Fact {n}.") for n in range(5)]
    storage = MeddlingStorage(lambda inner: inner.delete(ADA), *acts)

    assert save(storage, Policy(max_races=3))["outcome"] == "forgotten"
    assert "t1" not in storage.load(ADA).threads
    assert len(storage.acts) == 2


def test_an_update_is_in_the_history_with_its_thread() -> None:
    storage = open_storage("memory:")

    save(storage)

    (entry,) = storage.revisions(ADA)
    assert (entry.by, entry.thread, [change.key for change in entry.changes.facts]) == ("update", "t1", ["n1"])


def test_the_decisions_of_a_reviewer_are_in_the_history() -> None:
    storage = open_storage("memory:")
    decision = PersonDecision(item="add:n2", verdict="reject", text="Has a cat.")

    save(storage, changes=update(additions=(addition("Has a dog."),)).model_copy(update={"decisions": (decision,)}))

    (entry,) = storage.revisions(ADA)
    assert entry.decisions == (decision,)


def test_an_upkeep_which_has_no_turns_is_in_the_history() -> None:
    storage = open_storage("memory:")

    save(storage, turns=(), memory=MemoryDocument(), pending_turns=0)

    assert [entry.by for entry in storage.revisions(ADA)] == ["upkeep"]


def test_an_update_keeps_as_much_history_as_the_policy_allows() -> None:
    storage = open_storage("memory:")

    save(storage, Policy(max_revisions=0))

    assert list(storage.revisions(ADA)) == []
