"""The stored document, and the turns that are new to it."""

from __future__ import annotations

from typing import Any

import pytest
from update_values import ADA, AT, fact, origin, runtime, turn, update

from memgraph import (
    MemoryDocument,
    MemoryStorage,
    ModelSetupError,
    Section,
    StorageError,
    WrongStorageError,
    open_storage,
)
from memgraph.models import Rewrite, Watermark
from memgraph.report import Report, Usage
from memgraph.update.nodes import load_memory

TURNS = (turn("m1"), turn("m2", role="ai"), turn("m3"), turn("m4", role="ai"))
USED = Usage(calls=1, input_tokens=700, output_tokens=50)


def learned(*ids: str, summary: str = "") -> MemoryDocument:
    """A memory that has learned these messages of thread t1."""
    memory = MemoryDocument().with_section("work_context", Section(summary=summary))
    marks = {"t1": Watermark(last_message_id=ids[-1], at=AT, message_ids=ids)} if ids else {}
    return memory.model_copy(update={"threads": marks})


def stored(memory: MemoryDocument) -> MemoryStorage:
    storage = open_storage("memory:")
    storage.save(ADA, memory)
    return storage


class Recording(MemoryStorage):
    """A storage that notes which of its methods are called."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.memory = MemoryDocument()

    def load(self, scope: object) -> MemoryDocument:
        self.calls.append("load")
        return self.memory

    def reload(self, scope: object) -> MemoryDocument:
        self.calls.append("reload")
        return self.memory

    def save(self, scope: object, memory: MemoryDocument) -> MemoryDocument:
        return memory

    def delete(self, scope: object) -> MemoryDocument:
        return MemoryDocument()


def load(storage: MemoryStorage, **state: Any) -> Any:
    return load_memory({"turns": TURNS, "origin": origin(storage), **state}, runtime(storage))  # type: ignore[typeddict-item]


@pytest.mark.parametrize(("ids", "pending"), [((), 4), (("m2",), 2), (("m1",), 3)])
def test_the_turns_after_the_watermark_are_pending(ids: tuple[str, ...], pending: int) -> None:
    """Of this thread."""
    storage = stored(learned(*ids))

    assert load(storage) == {"memory": storage.load(ADA), "pending_turns": pending}


@pytest.mark.parametrize("last", ["m3", "m4"])
def test_a_run_without_new_turns_ends(last: str) -> None:
    """Also if only the assistant's are new."""
    assert load(stored(learned(last)))["outcome"] == "nothing_new"


def test_another_threads_watermark_does_not_count() -> None:
    """Message ids are unique within a thread only."""
    storage = stored(MemoryDocument(threads={"t2": Watermark(last_message_id="m4")}))

    assert load(storage)["pending_turns"] == 4


def test_another_storage_than_that_of_the_run_is_refused() -> None:
    """Otherwise one storage's memory would be written over the other's."""
    with pytest.raises(WrongStorageError, match="loaded its memory from elsewhere but was resumed with memory:"):
        load(open_storage("memory:"), origin=origin("elsewhere"))


# -- before the model is called -------------------------------------------------------------------


class ReadOnlyStorage(Recording):
    def check_writable(self, scope: object) -> None:
        raise StorageError(f"the memory of {scope} is read-only")


def test_an_unwritable_storage_fails_the_run_before_the_model_is_called() -> None:
    """A call whose result cannot be saved would be paid for again at every retry."""
    with pytest.raises(StorageError, match="the memory of 'ada' is read-only"):
        load(ReadOnlyStorage())


def test_a_model_that_cannot_be_created_fails_the_run_here() -> None:
    """Not after a prompt was rendered."""
    storage = open_storage("memory:")

    with pytest.raises(ModelSetupError, match="'gpt' is not a model name"):
        load_memory({"turns": TURNS, "origin": origin(storage)}, runtime(storage, model="gpt"))


def test_a_run_without_new_turns_needs_neither_a_model_nor_a_writable_storage() -> None:
    """It calls no model, and saves nothing."""
    storage = ReadOnlyStorage()
    storage.memory = learned("m4")

    output = load_memory({"turns": TURNS, "origin": origin(storage)}, runtime(storage, model="gpt"))

    assert output["outcome"] == "nothing_new"


# -- after a lost race ----------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "call"), [(None, "load"), (0, "load"), (1, "reload")])
def test_a_lost_race_reloads_past_the_cache(count: int | None, call: str) -> None:
    """A cached document would lose again, and again."""
    storage = Recording()

    load(storage, **({} if count is None else {"conflicts": count}))

    assert storage.calls == [call]


def test_a_change_set_whose_summaries_are_as_the_model_saw_them_is_reused() -> None:
    """Another writer added a fact, say: no second call of the model."""
    storage = stored(learned(summary="Old."))
    changes = update(rewrites=(Rewrite(section="work_context", summary="New.", base="Old."),))

    output = load(storage, conflicts=1, memory=learned(), changes=changes)

    assert output == {"memory": storage.load(ADA), "pending_turns": 4, "reusable": True}


def test_a_change_set_without_rewrites_is_reused() -> None:
    """Facts are compared again when it is applied."""
    assert load(stored(learned(summary="Old.")), conflicts=1, changes=update())["reusable"] is True


def test_a_change_set_with_one_outdated_summary_is_not_reused() -> None:
    """The model must see what it would overwrite."""
    rewrites = (
        Rewrite(section="top_of_mind", summary="Tea.", base=""),
        Rewrite(section="work_context", summary="New.", base="Old."),
    )

    output = load(stored(learned(summary="Newer.")), conflicts=1, changes=update(rewrites=rewrites))

    assert output["reusable"] is False
    assert "outcome" not in output


def test_what_memory_gave_gives_no_signals() -> None:
    """Its preference is known; the user states none."""
    said = "- I always prefer green tea.\n- I hate short answers.\nWhat do these say?"
    known = MemoryDocument(facts=(fact("I always prefer green tea."), fact("I hate short answers.", id="f2")))

    output = load(stored(known), turns=(turn("m1", said),), signals=("preference",))

    assert output["signals"] == ()


def test_without_a_change_set_there_is_nothing_to_reuse() -> None:
    """An edited state may lack it."""
    assert load(stored(learned()), conflicts=1)["reusable"] is False


@pytest.mark.parametrize("ids", [("m4",), ("m3",)])
def test_turns_that_another_run_learned_are_left_to_it(ids: tuple[str, ...]) -> None:
    """All of them, or all but the assistant's. What was paid is reported."""
    report = Report(usage=Usage(calls=2))

    output = load(stored(learned(*ids)), conflicts=1, memory=learned("m1"), changes=update(), usage=USED, report=report)

    assert output["outcome"] == "superseded"
    assert output["report"] == Report(usage=Usage(calls=3, input_tokens=700, output_tokens=50))
    assert "reusable" not in output


def test_turns_that_no_other_run_learned_are_learned() -> None:
    """Another writer of the thread learned turns of its own: the change set still applies."""
    output = load(stored(learned("x1")), conflicts=1, memory=learned(), changes=update(), usage=USED)

    assert (output["pending_turns"], output["reusable"]) == (4, True)
    assert "outcome" not in output


def test_an_older_copy_of_the_memory_makes_turns_new_again() -> None:
    """Those of this run's earlier batches too, so the model is asked from there."""
    output = load(stored(learned()), conflicts=1, memory=learned("m1", "m2"), changes=update(message_ids=("m3", "m4")))

    assert (output["pending_turns"], output["reusable"]) == (4, False)
    assert "outcome" not in output


def test_a_superseded_run_without_usage_has_an_empty_report() -> None:
    """An edited state may lack both."""
    assert load(stored(learned("m4")), conflicts=1)["report"] == Report()


def test_the_rest_of_partly_learned_turns_goes_to_the_model() -> None:
    """The change set is about all of them, so it cannot be reused."""
    output = load(stored(learned("m1", "m2")), conflicts=1, memory=learned(), changes=update())

    assert (output["pending_turns"], output["reusable"]) == (2, False)
    assert "outcome" not in output


def test_turns_name_what_they_repeat_of_the_document() -> None:
    """Prompt, rules and episodes of this run see the same turns."""
    repeating = (turn("m1", "Lives in Oslo.\nI like rain."),)

    turns = load(stored(MemoryDocument(facts=(fact("Lives in Oslo."),))), turns=repeating)["turns"]

    assert turns[0].own_words == "I like rain."
