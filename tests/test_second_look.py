"""The second look: one extra call of the model about likely conflicts, over the drawn edge."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from faulty_storage import MeddlingStorage, adding
from langchain_core.messages import HumanMessage

from memgraph import Context, Fact, MemoryDocument, MemoryStorage, ModelError, Policy, Scope, build_graph, open_storage
from memgraph.graph import in_memory_saver
from memgraph.stepper import Stepper
from memgraph.testing import Answer, ScriptedModel, update_answer

ADA = Scope("ada")
CONTEXT = Context(user_id="ada", thread_id="t1")
CHESS = Fact(
    id="chess", content="Plays chess with Dana on Fridays.", said_at="2026-01-05T08:00:00Z", source="t0", confidence=0.9
)
SAID = "I play chess with Dana on Sundays now."
NEW = "Plays chess with Dana on Sundays."
ANSWER = update_answer({"content": NEW, "quote": SAID})


def stored(*facts: Fact) -> MemoryStorage:
    storage = open_storage("memory:")
    storage.save(ADA, MemoryDocument(facts=facts))
    return storage


def talk(text: str = SAID, message_id: str = "m1") -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=message_id)]}


def learn(*answers: Answer, storage: MemoryStorage, policy: Policy | None = None) -> tuple[ScriptedModel, Any]:
    """Learn SAID from a model that gives *answers*."""
    model = ScriptedModel(*answers)
    graph = build_graph(model=model, storage=storage, policy=policy or Policy())
    return model, graph.invoke(talk(), context=CONTEXT)


def current(storage: MemoryStorage) -> list[str]:
    return [fact.content for fact in storage.load(ADA).facts]


def test_a_likely_conflict_costs_one_short_call() -> None:
    """It has both sentences side by side, and counts."""
    model, result = learn(ANSWER, '{"1": "replaces"}', storage=stored(CHESS))

    _, second = model.asked
    assert [message.type for message in second] == ["human"]
    assert "known (2026-01-05): Plays chess with Dana on Fridays.\nnew (" in second[0].text
    assert f"{NEW}\nsaid: {SAID[:-1]}" in second[0].text
    assert result["report"].usage.calls == 2


def test_what_the_model_says_is_replaced_goes_to_the_past() -> None:
    """With the id of the fact that replaced it."""
    storage = stored(CHESS)

    learn(ANSWER, '{"1": "replaces"}', storage=storage)

    memory = storage.load(ADA)
    (new,), (past,) = memory.facts, memory.past
    assert new.replaces == ("chess",)
    assert (past.id, past.reason, past.ended_by) == ("chess", "superseded", new.id)


def test_what_the_model_says_is_the_same_is_confirmed() -> None:
    """It is not added in other words."""
    storage = stored(CHESS)

    learn(ANSWER, '{"1": "same"}', storage=storage)

    (fact,) = storage.load(ADA).facts
    assert (fact.id, fact.content, fact.confirmations) == ("chess", CHESS.content, 1)


TEA = Fact(id="tea", content="Drinks green tea.", source="t0", confidence=0.9)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ('{"1": "both", "2": "replaces"}', [TEA.content, NEW]),
        ('{"1": "replaces", "2": "both"}', [CHESS.content, TEA.content, NEW]),
    ],
)
def test_a_control_is_asked_about_too_and_never_replaced(answer: str, kept: list[str]) -> None:
    """Small models say of every pair that the new fact replaces the known one."""
    storage = stored(CHESS, TEA)

    model, _ = learn(ANSWER, answer, storage=storage)

    assert model.asked[1][0].text.index(TEA.content) < model.asked[1][0].text.index(CHESS.content)
    assert current(storage) == kept


@pytest.mark.parametrize("reconcile", ["auto", "off"])
def test_what_the_model_replaces_ends_without_a_second_look(reconcile: str) -> None:
    """Also if the two have no word in common: the model read both, and what ended is in the past."""
    storage = stored(CHESS, TEA)
    answer = update_answer({"content": NEW, "quote": SAID, "replaces": ["chess", "tea"]})

    model, result = learn(answer, storage=storage, policy=Policy.model_validate({"reconcile": reconcile}))

    assert (len(model.asked), current(storage)) == (1, [NEW])
    assert [past.id for past in storage.load(ADA).past] == ["chess", "tea"]
    assert result["report"].refused == ()


@pytest.mark.parametrize("answer", ['{"1": "both"}', "Hm.", "", '{"newFacts": []}', ModelError("down")])
def test_without_a_clear_answer_both_stay(answer: Answer) -> None:
    """A second look that fails costs no update, and is not repeated."""
    storage = stored(CHESS)

    model, result = learn(ANSWER, answer, storage=storage, policy=Policy(model_tries=1))

    assert len(model.asked) == 2
    assert result["outcome"] == "learned"
    assert current(storage) == [CHESS.content, NEW]


def test_a_second_look_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Without the user's words."""
    learn(ANSWER, ModelError("down"), storage=stored(CHESS), policy=Policy(model_tries=1))

    assert "likely conflicts with known facts are left undecided: down" in caplog.text
    assert "Dana" not in caplog.text


@pytest.mark.parametrize(
    ("facts", "policy", "answer"),
    [
        ((CHESS,), Policy(reconcile="off"), ANSWER),
        ((CHESS,), Policy(), update_answer({"content": NEW, "quote": SAID, "replaces": ["chess"]})),
        ((CHESS,), Policy(), update_answer({"content": NEW, "quote": SAID, "confidence": 0.1})),
        ((CHESS,), Policy(), update_answer()),
        ((), Policy(), ANSWER),
        ((Fact(id="tea", content="Drinks green tea.", said_at="2026-01-05T08:00:00Z"),), Policy(), ANSWER),
    ],
    ids=["off", "linked", "refused", "nothing new", "nothing known", "something else"],
)
def test_without_a_likely_conflict_there_is_one_call(facts: tuple[Fact, ...], policy: Policy, answer: str) -> None:
    """A second look is for what the model left open."""
    model, _ = learn(answer, storage=stored(*facts), policy=policy)

    assert len(model.asked) == 1


def test_the_same_in_an_event_loop() -> None:
    """A failure, too."""
    for answer, left in (('{"1": "replaces"}', 1), (ModelError("down"), 2)):
        storage = stored(CHESS)
        graph = build_graph(model=ScriptedModel(ANSWER, answer), storage=storage, policy=Policy(model_tries=1))

        asyncio.run(graph.ainvoke(talk(), context=CONTEXT))

        assert len(current(storage)) == left


def test_an_unreadable_update_is_still_asked_for_again() -> None:
    """The second look neither uses up an attempt nor has one of its own."""
    storage = stored(CHESS)

    model, result = learn("What?", ANSWER, "What?", storage=storage)

    assert len(model.asked) == result["report"].usage.calls == 3
    assert len(current(storage)) == 2


def test_a_lost_race_does_not_repeat_it() -> None:
    """What was decided applies to the newer document."""
    storage = MeddlingStorage(adding("Has a dog."))
    storage.inner.save(ADA, MemoryDocument(facts=(CHESS,)))

    model, _ = learn(ANSWER, '{"1": "replaces"}', storage=storage)

    assert len(model.asked) == 2
    assert current(storage) == ["Has a dog.", NEW]


def test_a_restart_before_the_second_call_repeats_neither_call() -> None:
    """The change set and the question are in the checkpoint."""
    storage, saver, config = stored(CHESS), in_memory_saver(), {"configurable": {"thread_id": "run"}}
    model = ScriptedModel(ANSWER, '{"1": "replaces"}')

    def graph() -> Any:
        return build_graph(model=model, storage=storage, checkpointer=saver, interrupt_before=["call_model"])

    graph().invoke(talk(), config, context=CONTEXT)
    graph().invoke(None, config, context=CONTEXT)
    assert len(model.asked) == 1
    assert graph().get_state(config).next == ("call_model",)
    graph().invoke(None, config, context=CONTEXT)

    assert len(model.asked) == 2
    assert current(storage) == [NEW]


def test_the_next_run_on_the_thread_starts_afresh() -> None:
    """It has kept what the last run was asked."""
    storage, saver, config = stored(CHESS), in_memory_saver(), {"configurable": {"thread_id": "run"}}
    model = ScriptedModel(ANSWER, '{"1": "both"}', update_answer("I have a dog"))
    graph = build_graph(model=model, storage=storage, checkpointer=saver)

    graph.invoke(talk(), config, context=CONTEXT)
    graph.invoke(talk("I have a dog", "m2"), config, context=CONTEXT)

    assert len(model.asked) == 3
    assert graph.get_state(config).values["likely_conflicts"] == ()
    assert current(storage)[-1] == "I have a dog"


def test_it_can_be_stepped_through_and_its_changes_edited() -> None:
    """As in Studio: edited state arrives as JSON."""
    storage = stored(CHESS)
    graph = build_graph(model=ScriptedModel(ANSWER, '{"1": "replaces"}'), storage=storage)
    stepper = Stepper(graph, talk()["messages"], CONTEXT)

    ran = [stepper.next().node for _ in range(8)]
    changes = stepper.stages["changes"]
    stepper.edit("changes", json.loads(changes.model_dump_json()))
    ran += [step.node for step in stepper.run_to_end()]

    assert ran[4:9] == ["call_model", "parse_update", "call_model", "parse_update", "apply_update"]
    assert current(storage) == [NEW]
