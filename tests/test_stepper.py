"""A Stepper runs the update node by node, with the same result as a normal run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memgraph import Context, EditError, Fact, MemoryStorage, ModelError, Policy, Scope, build_graph
from memgraph.stepper import Stepper, as_json
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
CONTEXT = Context(user_id="ada", thread_id="t1")
CONVERSATION = (HumanMessage("My name is Ada.", id="h1"), AIMessage("Hello.", id="a1"))
NODES = [
    *("filter_messages", "detect_signals", "load_memory", "build_prompt", "call_model"),
    *("parse_update", "apply_update", "scrub_uploads", "save_memory"),
]


def make_stepper(
    storage: MemoryStorage, *answers: Any, messages: Sequence[BaseMessage] = CONVERSATION, **policy: Any
) -> tuple[Stepper, ScriptedModel]:
    model = ScriptedModel(*(answers or (update_answer("Name is Ada."),)))
    return Stepper(
        build_graph(model=model, storage=storage, policy=Policy(**{"grounding": "off", **policy})), messages, CONTEXT
    ), model


def run_until(stepper: Stepper, node: str) -> None:
    while stepper.next_node != node:
        stepper.next()


def contents(storage: MemoryStorage) -> list[str]:
    return [fact.content for fact in storage.load(ADA).facts]


def test_each_step_runs_one_node(storage: MemoryStorage) -> None:
    stepper, _ = make_stepper(storage)

    ran = [step.node for step in stepper.run_to_end()]

    assert ran == NODES
    assert stepper.next_node is None


def test_a_step_has_the_stages_before_and_after(storage: MemoryStorage) -> None:
    storage.save(ADA, storage.load(ADA).with_facts((Fact(id="fact_1", content="Likes tea."),)))
    stepper, _ = make_stepper(storage)
    run_until(stepper, "apply_update")

    step = stepper.next()

    assert step.reads == (*("memory", "pending_turns", "turns", "changes", "change_digests", "prompt", "check"),)
    assert [fact.content for fact in step.before["memory"].facts] == ["Likes tea."]
    assert "applied" not in step.before
    assert [fact.content for fact in step.wrote["applied"].facts] == ["Likes tea.", "Name is Ada."]


def test_nothing_is_saved_before_save_memory_runs(storage: MemoryStorage) -> None:
    """Stopping before that node leaves the memory unchanged."""
    stepper, _ = make_stepper(storage)

    run_until(stepper, "save_memory")

    assert storage.load(ADA).revision == 0
    assert stepper.saved is None


def test_stepping_to_the_end_saves_the_memory(storage: MemoryStorage) -> None:
    stepper, _ = make_stepper(storage)

    steps = list(stepper.run_to_end())

    assert steps[-1].wrote["outcome"] == "learned"
    assert stepper.saved == storage.load(ADA) == stepper.stages["saved"]
    assert contents(storage) == ["Name is Ada."]


def test_an_unnamed_thread_stays_unnamed(storage: MemoryStorage) -> None:
    """The thread id of the checkpointer must not become the conversation's."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage)

    list(Stepper(graph, CONVERSATION, Context(user_id="ada")).run_to_end())

    assert list(storage.load(ADA).threads) == ["unknown"]


# -- editing --


def test_the_next_node_reads_an_edited_stage(storage: MemoryStorage) -> None:
    """What a person wrote needs no quote."""
    stepper, _ = make_stepper(storage, grounding="strict")
    run_until(stepper, "apply_update")
    changes = as_json(stepper.stages["changes"])
    changes["additions"][0]["content"] = "Name is Ada Lovelace."

    stepper.edit("changes", changes)

    list(stepper.run_to_end())
    assert [(fact.content, fact.source) for fact in storage.load(ADA).facts] == [("Name is Ada Lovelace.", "manual")]


def test_messages_can_be_edited(storage: MemoryStorage) -> None:
    stepper, model = make_stepper(storage)

    stepper.edit("messages", [{"role": "user", "content": "I'm Eve.", "id": "h1"}])

    list(stepper.run_to_end())
    assert "I'm Eve." in str(model.asked[0][-1].content)


def test_every_stage_survives_a_json_round_trip(storage: MemoryStorage) -> None:
    """Saving a stage unedited in the editor changes neither the value nor the next node."""
    stepper, _ = make_stepper(storage)
    while stepper.next_node:
        for stage, value in ((stage, stepper.stages[stage]) for stage in stepper.editable):
            next_node = stepper.next_node

            stepper.edit(stage, as_json(value))

            assert (stepper.stages[stage], stepper.next_node) == (value, next_node)
        stepper.next()
    assert contents(storage) == ["Name is Ada."]


@pytest.mark.parametrize(
    ("stage", "value", "problem"),
    [
        ("changes", {"additions": [{"content": 3}]}, r"changes\.at: Field required; .*; and 2 more"),
        ("changes", None, "changes: Input should be"),
        ("applied", "nonsense", "applied"),
        ("outcome", "learned", "stage 'outcome' cannot be edited here; editable stages: messages, turns"),
        ("nonsense", 1, "stage 'nonsense' cannot be edited"),
        ("origin", {"scope": {"user_id": "bob"}}, "stage 'origin' cannot be edited"),  # another user's memory
        ("messages", [3], "not a message"),
    ],
)
def test_an_invalid_edit_changes_nothing(storage: MemoryStorage, stage: str, value: object, problem: str) -> None:
    stepper, _ = make_stepper(storage)
    run_until(stepper, "scrub_uploads")
    before = dict(stepper.stages)

    with pytest.raises(ValueError, match=problem):  # an EditError or a ConversationError
        stepper.edit(stage, value)

    assert (stepper.stages, stepper.next_node) == (before, "scrub_uploads")


def test_an_edit_keeps_the_retry_of_the_model(storage: MemoryStorage) -> None:
    """The value that routes the run there lasts one step, and an edit is a step for LangGraph."""
    stepper, model = make_stepper(storage, "nonsense", update_answer("Name is Ada."))
    run_until(stepper, "parse_update")
    stepper.next()

    stepper.edit("signals", ["identity"])

    assert stepper.next_node == "call_model"
    list(stepper.run_to_end())
    assert "nonsense" in str(model.asked[1][-2].content)


def test_an_edit_between_two_batches_keeps_the_second(storage: MemoryStorage) -> None:
    messages = [HumanMessage(f"Turn {n}: " + "word " * 400, id=f"h{n}") for n in range(3)]
    stepper, _ = make_stepper(
        storage, update_answer("One."), update_answer("Two."), messages=messages, batch_tokens=500
    )
    run_until(stepper, "save_memory")
    stepper.next()

    stepper.edit("signals", [])

    assert stepper.next_node == "build_prompt"
    list(stepper.run_to_end())
    assert contents(storage) == ["One.", "Two."]


@pytest.mark.parametrize(
    ("node", "stage"), [("build_prompt", "turns"), ("call_model", "batch"), ("parse_update", "batch")]
)
def test_a_run_whose_turns_were_taken_out_ends(storage: MemoryStorage, node: str, stage: str) -> None:
    stepper, _ = make_stepper(storage)
    run_until(stepper, node)

    stepper.edit(stage, [])

    list(stepper.run_to_end())
    assert stepper.next_node is None


def test_an_ended_run_cannot_be_edited(storage: MemoryStorage) -> None:
    stepper, _ = make_stepper(storage)
    list(stepper.run_to_end())

    with pytest.raises(EditError, match="go back before editing"):
        stepper.edit("changes", {})


# -- going back --


def test_back_undoes_a_step(storage: MemoryStorage) -> None:
    stepper, model = make_stepper(storage, update_answer("One."), update_answer("Two."))
    run_until(stepper, "call_model")
    stepper.next()

    stepper.back()

    assert stepper.next_node == "call_model"
    assert "response" not in stepper.stages
    list(stepper.run_to_end())
    assert (contents(storage), len(model.asked)) == (["Two."], 2)


def test_back_undoes_an_edit(storage: MemoryStorage) -> None:
    stepper, _ = make_stepper(storage)
    run_until(stepper, "load_memory")
    signals = stepper.stages["signals"]
    stepper.edit("signals", ["goal"])

    stepper.back()

    assert (stepper.next_node, stepper.stages["signals"]) == ("load_memory", signals)


def test_back_stops_at_the_beginning(storage: MemoryStorage) -> None:
    stepper, _ = make_stepper(storage)
    list(stepper.run_to_end())
    for _ in NODES:
        stepper.back()

    with pytest.raises(EditError, match="beginning"):
        stepper.back()

    assert stepper.next_node == "filter_messages"


def test_going_back_does_not_undo_a_save(storage: MemoryStorage) -> None:
    """Continuing from before the save conflicts with it: the outcome is superseded, without a model call."""
    stepper, model = make_stepper(storage)
    run_until(stepper, "save_memory")
    stepper.next()
    stepper.back()

    steps = list(stepper.run_to_end())

    assert [step.node for step in steps] == ["save_memory", "load_memory"]
    assert stepper.stages["outcome"] == "superseded"
    assert stepper.saved == storage.load(ADA)
    assert (storage.load(ADA).revision, len(model.asked)) == (1, 1)


# -- conflicts and errors --


def test_a_save_conflict_between_steps_needs_no_second_model_call(storage: MemoryStorage) -> None:
    """The current changes, which the user may have edited, are applied again."""
    stepper, model = make_stepper(storage)
    run_until(stepper, "save_memory")
    storage.save(ADA, storage.load(ADA).with_facts((Fact(content="Likes tea."),)))

    steps = list(stepper.run_to_end())

    assert [step.node for step in steps] == ["save_memory", "load_memory", *NODES[-3:]]
    assert (contents(storage), len(model.asked)) == (["Likes tea.", "Name is Ada."], 1)


def test_a_failed_node_can_be_retried(storage: MemoryStorage) -> None:
    stepper, _ = make_stepper(storage, ConnectionError("down"), update_answer("Name is Ada."), model_tries=1)
    run_until(stepper, "call_model")

    with pytest.raises(ModelError):
        stepper.next()

    assert stepper.next_node == "call_model"
    list(stepper.run_to_end())
    assert contents(storage) == ["Name is Ada."]


def test_an_ended_run_has_no_next_step(storage: MemoryStorage) -> None:
    stepper, _ = make_stepper(storage)
    list(stepper.run_to_end())

    with pytest.raises(EditError, match="ended"):
        stepper.next()


def test_what_needs_a_review_is_pending(storage: MemoryStorage) -> None:
    """Also if the graph would be interrupted for it."""
    model = ScriptedModel(update_answer("Name is Ada.", "Likes tea."))
    policy = Policy(grounding="off")
    graph = build_graph(model=model, storage=storage, review="always", review_by="interrupt", policy=policy)
    stepper = Stepper(graph, CONVERSATION, CONTEXT)

    list(stepper.run_to_end())

    assert (stepper.next_node, contents(storage)) == (None, [])
    assert stepper.saved
    assert [change.text for change in stepper.saved.pending] == ["Name is Ada.", "Likes tea."]
