"""A Stepper runs the update node by node, and saves nothing that the update would not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memgraph import Context, EditError, Fact, MemoryStorage, ModelError, Policy, Scope, build_graph, open_storage
from memgraph.stepper import Stepper, as_json
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
CONTEXT = Context(user_id="ada", thread_id="t1")
TALK = (HumanMessage("I'm Ada.", id="h1"), AIMessage("Hello.", id="a1"))
NODES = [
    *("filter_messages", "detect_signals", "load_memory", "build_prompt", "call_model"),
    *("parse_update", "apply_update", "scrub_uploads", "save_memory"),
]


@pytest.fixture
def storage() -> MemoryStorage:
    return open_storage("memory:")


def stepper_of(
    storage: MemoryStorage, *answers: Any, talk: Sequence[BaseMessage] = TALK, **policy: Any
) -> tuple[Stepper, ScriptedModel]:
    model = ScriptedModel(*(answers or (update_answer("Name is Ada."),)))
    return Stepper(build_graph(model=model, storage=storage, policy=Policy(**policy)), talk, CONTEXT), model


def run_before(stepper: Stepper, node: str) -> None:
    while stepper.next_node != node:
        stepper.next()


def contents(storage: MemoryStorage) -> list[str]:
    return [fact.content for fact in storage.load(ADA).facts]


def test_a_step_is_a_node(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)

    ran = [step.node for step in stepper.run_to_end()]

    assert ran == NODES
    assert stepper.next_node is None


def test_a_step_tells_what_the_node_reads_and_wrote_and_what_was_before(storage: MemoryStorage) -> None:
    storage.save(ADA, storage.load(ADA).with_facts((Fact(id="fact_1", content="Likes tea."),)))
    stepper, _ = stepper_of(storage)
    run_before(stepper, "apply_update")

    step = stepper.next()

    assert step.reads == ("memory", "pending_turns", "changes")
    assert [fact.content for fact in step.before["memory"].facts] == ["Likes tea."]
    assert "applied" not in step.before
    assert [fact.content for fact in step.wrote["applied"].facts] == ["Likes tea.", "Name is Ada."]


def test_nothing_is_saved_before_save_memory_runs(storage: MemoryStorage) -> None:
    """Whoever stops here leaves the memory as it was."""
    stepper, _ = stepper_of(storage)

    run_before(stepper, "save_memory")

    assert storage.load(ADA).revision == 0
    assert stepper.saved is None


def test_stepping_to_the_end_is_running_it(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)

    steps = list(stepper.run_to_end())

    assert steps[-1].wrote["outcome"] == "learned"
    assert stepper.saved == storage.load(ADA) == stepper.stages["saved"]
    assert contents(storage) == ["Name is Ada."]


def test_a_thread_without_a_name_stays_without(storage: MemoryStorage) -> None:
    """The name that a checkpoint needs must not become the conversation's."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage)

    list(Stepper(graph, TALK, Context(user_id="ada")).run_to_end())

    assert list(storage.load(ADA).threads) == ["unknown"]


# -- editing --


def test_an_edited_stage_is_what_the_next_node_reads(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)
    run_before(stepper, "apply_update")
    changes = as_json(stepper.stages["changes"])
    changes["additions"][0]["content"] = "Name is Ada Lovelace."

    stepper.edit("changes", changes)

    list(stepper.run_to_end())
    assert contents(storage) == ["Name is Ada Lovelace."]


def test_messages_can_be_edited(storage: MemoryStorage) -> None:
    stepper, model = stepper_of(storage)

    stepper.edit("messages", [{"role": "user", "content": "I'm Eve.", "id": "h1"}])

    list(stepper.run_to_end())
    assert "I'm Eve." in str(model.asked[0][-1].content)


def test_every_stage_comes_back_from_json_as_it_was(storage: MemoryStorage) -> None:
    """What is shown for editing, and given back untouched, changes nothing: neither a value nor what is next."""
    stepper, _ = stepper_of(storage)
    while stepper.next_node:
        for stage, value in dict(stepper.stages).items():
            where = stepper.next_node

            stepper.edit(stage, as_json(value))

            assert (stepper.stages[stage], stepper.next_node) == (value, where)
        stepper.next()
    assert contents(storage) == ["Name is Ada."]


@pytest.mark.parametrize(
    ("stage", "value", "problem"),
    [
        ("changes", {"additions": [{"content": 3}]}, r"changes\.at: Field required; .*; and 2 more"),
        ("changes", None, "changes: Input should be"),
        ("applied", "nonsense", "applied"),
        ("outcome", "learned", "no stage 'outcome' can be edited here; there are messages, turns"),
        ("nonsense", 1, "no stage 'nonsense'"),
        ("messages", [3], "not a message"),
    ],
)
def test_an_edit_that_is_none_changes_nothing(storage: MemoryStorage, stage: str, value: object, problem: str) -> None:
    stepper, _ = stepper_of(storage)
    run_before(stepper, "scrub_uploads")
    before = dict(stepper.stages)

    with pytest.raises(ValueError, match=problem):  # an EditError or a ConversationError
        stepper.edit(stage, value)

    assert (stepper.stages, stepper.next_node) == (before, "scrub_uploads")


def test_an_edit_keeps_the_way_back_to_the_model(storage: MemoryStorage) -> None:
    """What sends the run there is gone one step later, and an edit is a step to LangGraph."""
    stepper, model = stepper_of(storage, "nonsense", update_answer("Name is Ada."))
    run_before(stepper, "parse_update")
    stepper.next()

    stepper.edit("signals", ["identity"])

    assert stepper.next_node == "call_model"
    list(stepper.run_to_end())
    assert "nonsense" in str(model.asked[1][-2].content)


def test_an_edit_between_two_passes_keeps_the_second(storage: MemoryStorage) -> None:
    talk = [HumanMessage(f"Turn {n}: " + "word " * 400, id=f"h{n}") for n in range(3)]
    stepper, _ = stepper_of(storage, update_answer("One."), update_answer("Two."), talk=talk, batch_tokens=500)
    run_before(stepper, "save_memory")
    stepper.next()

    stepper.edit("signals", [])

    assert stepper.next_node == "build_prompt"
    list(stepper.run_to_end())
    assert contents(storage) == ["One.", "Two."]


def test_what_has_ended_cannot_be_edited(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)
    list(stepper.run_to_end())

    with pytest.raises(EditError, match="go back first"):
        stepper.edit("changes", {})


# -- going back --


def test_back_undoes_a_step(storage: MemoryStorage) -> None:
    stepper, model = stepper_of(storage, update_answer("One."), update_answer("Two."))
    run_before(stepper, "call_model")
    stepper.next()

    stepper.back()

    assert stepper.next_node == "call_model"
    assert "response" not in stepper.stages
    list(stepper.run_to_end())
    assert (contents(storage), len(model.asked)) == (["Two."], 2)


def test_back_undoes_an_edit(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)
    run_before(stepper, "load_memory")
    signals = stepper.stages["signals"]
    stepper.edit("signals", ["goal"])

    stepper.back()

    assert (stepper.next_node, stepper.stages["signals"]) == ("load_memory", signals)


def test_back_goes_as_far_as_the_beginning(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)
    list(stepper.run_to_end())
    for _ in NODES:
        stepper.back()

    with pytest.raises(EditError, match="beginning"):
        stepper.back()

    assert stepper.next_node == "filter_messages"


def test_going_back_does_not_undo_a_save(storage: MemoryStorage) -> None:
    """The update that goes on from before it loses the race against itself, and says so; no model is asked."""
    stepper, model = stepper_of(storage)
    run_before(stepper, "save_memory")
    stepper.next()
    stepper.back()

    steps = list(stepper.run_to_end())

    assert [step.node for step in steps] == ["save_memory", "load_memory"]
    assert stepper.stages["outcome"] == "superseded"
    assert stepper.saved == storage.load(ADA)
    assert (storage.load(ADA).revision, len(model.asked)) == (1, 1)


# -- what happens meanwhile --


def test_a_race_that_is_lost_between_two_steps_costs_no_second_answer(storage: MemoryStorage) -> None:
    """The changes in hand, which a person may have edited, are applied again."""
    stepper, model = stepper_of(storage)
    run_before(stepper, "save_memory")
    storage.save(ADA, storage.load(ADA).with_facts((Fact(content="Likes tea."),)))

    steps = list(stepper.run_to_end())

    assert [step.node for step in steps] == ["save_memory", "load_memory", *NODES[-3:]]
    assert (contents(storage), len(model.asked)) == (["Likes tea.", "Name is Ada."], 1)


def test_a_node_that_failed_can_be_tried_again(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage, ConnectionError("down"), update_answer("Name is Ada."), model_tries=1)
    run_before(stepper, "call_model")

    with pytest.raises(ModelError):
        stepper.next()

    assert stepper.next_node == "call_model"
    list(stepper.run_to_end())
    assert contents(storage) == ["Name is Ada."]


def test_a_run_that_has_ended_has_no_next_step(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)
    list(stepper.run_to_end())

    with pytest.raises(EditError, match="ended"):
        stepper.next()


def test_nothing_is_answered_that_was_not_asked(storage: MemoryStorage) -> None:
    stepper, _ = stepper_of(storage)

    with pytest.raises(EditError, match="nothing is asked"):
        stepper.answer("accept")


# -- questions --


@pytest.fixture
def asked(storage: MemoryStorage) -> Stepper:
    """A stepper whose update asks whether the changes are right."""
    model = ScriptedModel(update_answer("Name is Ada.", "Likes tea."))
    stepper = Stepper(build_graph(model=model, storage=storage, review="always"), TALK, CONTEXT)
    list(stepper.run_to_end())
    return stepper


def test_a_question_is_waited_at(asked: Stepper, storage: MemoryStorage) -> None:
    assert asked.next_node == "review_changes"
    assert [item["after"] for item in asked.question["items"]] == ["Name is Ada.", "Likes tea."]

    with pytest.raises(EditError, match="waits for an answer"):
        asked.next()

    assert contents(storage) == []


def test_an_answer_decides_item_by_item(asked: Stepper, storage: MemoryStorage) -> None:
    first, second = (item["key"] for item in asked.question["items"])

    asked.answer({"items": {first: "accept", second: "reject"}})

    list(asked.run_to_end())
    assert contents(storage) == ["Name is Ada."]


def test_an_answer_that_is_none_is_asked_for_again(asked: Stepper, storage: MemoryStorage) -> None:
    step = asked.answer("perhaps")

    assert (step.wrote, asked.next_node) == ({}, "review_changes")
    assert asked.question["problem"]
    asked.answer("accept")
    list(asked.run_to_end())
    assert contents(storage) == ["Name is Ada.", "Likes tea."]


def test_a_question_can_be_gone_back_on(asked: Stepper, storage: MemoryStorage) -> None:
    """And what was changed there is asked about anew."""
    asked.back()
    asked.back()
    assert (asked.next_node, asked.question) == ("apply_update", None)
    changes = as_json(asked.stages["changes"])
    asked.edit("changes", {**changes, "additions": changes["additions"][:1]})

    list(asked.run_to_end())

    assert [item["after"] for item in asked.question["items"]] == ["Name is Ada."]
    asked.answer("accept")
    list(asked.run_to_end())
    assert contents(storage) == ["Name is Ada."]


def test_a_stage_can_be_edited_at_a_question(asked: Stepper, storage: MemoryStorage) -> None:
    asked.edit("signals", ["goal"])

    assert (asked.next_node, asked.question) == ("review_changes", None)
    asked.next()
    asked.answer("accept")
    list(asked.run_to_end())
    assert len(contents(storage)) == 2
