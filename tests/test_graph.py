"""The memory update, end to end, with a scripted model."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, get_type_hints

import pytest
from faulty_storage import MeddlingStorage, adding
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from update_values import contents

from memgraph import (
    ConfigError,
    Context,
    Fact,
    IdentityError,
    MemoryDocument,
    MemoryStorage,
    Policy,
    RevisionConflictError,
    Scope,
    StorageError,
    UnreadableAnswerError,
    WrongStorageError,
    build_graph,
    open_storage,
)
from memgraph.models import Section, Watermark
from memgraph.prompts.update_prompt import read_turns
from memgraph.state import State
from memgraph.storage.file import FileStorage
from memgraph.testing import ScriptedModel, update_answer
from memgraph.update.build_prompt import build_prompt
from memgraph.update.call_model import call_model
from memgraph.update.nodes import (
    apply_update,
    detect_signals,
    filter_messages,
    load_memory,
    review_changes,
    save_memory,
    scrub_uploads,
)
from memgraph.update.parse_update import parse_update

ADA = Scope("ada")
CONTEXT = Context(user_id="ada", thread_id="t1")
TRUSTING = Policy(grounding="off")
"""For tests of what is shown and saved, whatever the model makes of it."""
NODES = (
    filter_messages, detect_signals, load_memory, build_prompt, call_model, parse_update, apply_update,
    scrub_uploads, review_changes, save_memory,
)  # fmt: skip


def talk(*texts: str, start: int = 0) -> list[BaseMessage]:
    """A conversation in which the user begins, with ids."""
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](text, id=f"m{start + n}") for n, text in enumerate(texts)]


# -- the shape ------------------------------------------------------------------------------------


def test_the_graph_is_the_ten_nodes_and_their_routes() -> None:
    """What is drawn is what runs."""
    drawn = build_graph(model="offline", storage="memory:").get_graph()

    assert list(drawn.nodes) == ["__start__", *(node.__name__ for node in NODES), "__end__"]
    assert {(edge.source, edge.target) for edge in drawn.edges if edge.conditional} == {
        ("filter_messages", "detect_signals"),
        ("filter_messages", "__end__"),
        ("load_memory", "build_prompt"),
        ("load_memory", "apply_update"),
        ("load_memory", "__end__"),
        ("parse_update", "call_model"),
        ("parse_update", "apply_update"),
        ("scrub_uploads", "review_changes"),
        ("scrub_uploads", "save_memory"),
        ("review_changes", "apply_update"),
        ("review_changes", "save_memory"),
        ("save_memory", "load_memory"),
        ("save_memory", "build_prompt"),
        ("save_memory", "__end__"),
    }


@pytest.mark.parametrize("node", NODES)
def test_no_node_takes_the_whole_state(node: Callable[..., Any]) -> None:
    """A signature that names everything says nothing."""
    (taken, *_) = get_type_hints(node).values()

    assert set(get_type_hints(taken)) < set(get_type_hints(State))


def test_what_the_nodes_return_is_the_state_without_its_input() -> None:
    """Every key is written by a node, and none is written that is not declared."""
    returned = [set(get_type_hints(get_type_hints(node)["return"])) for node in NODES]

    assert set().union(*returned) == set(get_type_hints(State)) - {"messages"}


# -- the straight line ----------------------------------------------------------------------------


def test_what_the_user_said_is_learned_and_saved() -> None:
    """The main job."""
    storage = open_storage("memory:")
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage)

    state = graph.invoke({"messages": talk("My name is Ada.", "Hello!")}, context=CONTEXT)

    assert state["outcome"] == "learned"
    assert contents(state["saved"]) == ["Name is Ada."]
    assert storage.load(ADA) == state["saved"]
    assert state["report"].counts == {
        "added": 1,
        "confirmed": 0,
        "removed": 0,
        "rewritten": 0,
        "refused": 0,
        "as_said": 0,
    }


async def _ainvoke(graph: Any, messages: Sequence[BaseMessage]) -> dict[str, Any]:
    return await graph.ainvoke({"messages": messages}, context=CONTEXT)


def test_the_same_in_an_event_loop() -> None:
    """One graph, invoked either way."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")

    state = asyncio.run(_ainvoke(graph, talk("My name is Ada.", "Hello!")))

    assert contents(state["saved"]) == ["Name is Ada."]


class WaitingModel(ScriptedModel):
    """A model that can only be awaited."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        return super()._generate(*args, **kwargs)

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("called in a thread")


def test_in_an_event_loop_the_model_is_awaited() -> None:
    """Waiting for it holds up no thread."""
    graph = build_graph(model=WaitingModel(update_answer("Name is Ada.")), storage="memory:")

    state = asyncio.run(_ainvoke(graph, talk("My name is Ada.")))

    assert contents(state["saved"]) == ["Name is Ada."]


def test_every_stage_can_be_watched() -> None:
    """In order, one at a time."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")

    steps = list(graph.stream({"messages": talk("My name is Ada.")}, context=CONTEXT, stream_mode="updates"))

    assert [name for step in steps for name in step] == [node.__name__ for node in NODES if node is not review_changes]


def test_tokens_are_counted() -> None:
    """Whoever pays wants to know."""
    answer = AIMessage(update_answer(), usage_metadata={"input_tokens": 700, "output_tokens": 50, "total_tokens": 750})

    state = build_graph(model=ScriptedModel(answer), storage="memory:").invoke(
        {"messages": talk("My name is Ada.")}, context=CONTEXT
    )

    usage = state["report"].usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 700, 50)


@pytest.mark.parametrize(
    "messages", ["My name is Ada.", HumanMessage("My name is Ada."), {"role": "user", "content": "My name is Ada."}]
)
def test_one_message_is_a_conversation(messages: object) -> None:
    """As everywhere in LangGraph."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")

    assert graph.invoke({"messages": messages}, context=CONTEXT)["outcome"] == "learned"


# -- the ways off it ------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", [[], [SystemMessage("Be kind.")], talk("ok"), [AIMessage("Hello?")]])
def test_nothing_said_costs_nothing(messages: list[BaseMessage]) -> None:
    """No model is asked, nothing is saved."""
    model = ScriptedModel(update_answer("Junk."))

    state = build_graph(model=model, storage="memory:").invoke({"messages": messages}, context=CONTEXT)

    assert (state["outcome"], "saved" in state, len(model.asked)) == ("nothing_new", False, 0)


def test_a_memory_that_is_switched_off_does_nothing() -> None:
    """By config, per agent or per run."""
    model = ScriptedModel(update_answer("Name is Ada."))
    graph = build_graph(model=model, storage="memory:")

    state = graph.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT.model_copy(update={"enabled": False}))

    assert (state["outcome"], len(model.asked)) == ("nothing_new", 0)


def test_the_same_conversation_again_costs_nothing_and_changes_nothing() -> None:
    """With ids or without."""
    storage = open_storage("memory:")
    model = ScriptedModel(update_answer("Name is Ada."))
    graph = build_graph(model=model, storage=storage)
    for _ in range(2):
        state = graph.invoke({"messages": [HumanMessage("My name is Ada."), AIMessage("Hello!")]}, context=CONTEXT)

    assert (state["outcome"], len(model.asked), storage.load(ADA).revision) == ("nothing_new", 1, 1)


def test_turns_that_taught_nothing_are_not_paid_for_twice() -> None:
    """Progress is saved also when nothing was kept."""
    model = ScriptedModel(update_answer())
    graph = build_graph(model=model, storage="memory:")
    for _ in range(2):
        state = graph.invoke({"messages": talk("Nice weather.")}, context=CONTEXT)

    assert (state["outcome"], len(model.asked)) == ("nothing_new", 1)


def test_an_answer_that_cannot_be_read_is_asked_for_again_with_what_was_wrong() -> None:
    """Once; both calls are paid for."""
    model = ScriptedModel("Sure!", update_answer("Name is Ada."))

    state = build_graph(model=model, storage="memory:").invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)

    assert contents(state["saved"]) == ["Name is Ada."]
    assert [message.type for message in model.asked[1]] == ["system", *["human", "ai"] * 5, "human"]
    assert "the key newFacts was expected" in str(model.asked[1][-1].content)
    assert state["report"].usage.calls == 2


def test_a_second_unreadable_answer_ends_the_run_and_marks_nothing() -> None:
    """The turns are still there to be learned."""
    storage = open_storage("memory:")
    model = ScriptedModel("Sure!")

    with pytest.raises(UnreadableAnswerError):
        build_graph(model=model, storage=storage).invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)

    assert (len(model.asked), storage.load(ADA)) == (2, MemoryDocument())


@pytest.mark.parametrize(
    ("said", "kept"), [("My name is Ada.", []), ("I moved to Quillhaven!", ["Lives in quillhaven."])]
)
def test_what_was_copied_from_the_prompts_example_is_not_learned(said: str, kept: list[str]) -> None:
    """Small models repeat the example; its names are made up, so that it shows - unless the user lives there."""
    model = ScriptedModel(
        update_answer(
            {"content": "Lives in quillhaven.", "quote": "I moved to Quillhaven"},
            personalContext="Lives in Quillhaven.",
        )
    )

    state = build_graph(model=model, storage="memory:").invoke({"messages": talk(said)}, context=CONTEXT)

    assert contents(state["saved"]) == kept
    assert len(state["report"].refused) == (0 if kept else 2)


@pytest.mark.parametrize(
    "replacement",
    [
        {"content": "Lives in Rome.", "confidence": "bad"},
        {"content": "Lives in Rome.", "confidence": 0.1},
        {"content": "Lives in Rome.", "confidence": 0.9, "durable": False},
        {"content": "User uploaded rome.pdf.", "confidence": 0.9},
        {"content": "", "confidence": 0.9},
    ],
    ids=["parse", "threshold", "quality", "scrub", "empty"],
)
@pytest.mark.parametrize("remove", [[], ["f1"]], ids=["replaces", "replaces and removes"])
@pytest.mark.parametrize("review", ["never", "always"])
def test_what_a_dropped_addition_would_replace_stays(
    replacement: dict[str, object], remove: list[str], review: Any
) -> None:
    """Whatever dropped it: nothing may be deleted if nothing is stored in its place."""
    storage = open_storage("memory:")
    storage.save(ADA, MemoryDocument(facts=(Fact(id="f1", content="Lives in Oslo.", confidence=0.9),)))
    model = ScriptedModel(update_answer(replacement | {"replaces": ["f1"]}, remove=remove))
    graph = build_graph(model=model, storage=storage, review=review, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1"}}

    state = graph.invoke({"messages": talk("I moved.")}, config, context=CONTEXT)

    assert "__interrupt__" not in state
    assert contents(storage.load(ADA)) == ["Lives in Oslo."]


def test_a_lost_race_is_re_applied_without_asking_again() -> None:
    """Both writers' facts are there."""
    storage = MeddlingStorage(adding("Has a dog."), adding("Has a cat."))
    model = ScriptedModel(update_answer("Name is Ada."))

    state = build_graph(model=model, storage=storage).invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)

    assert contents(state["saved"]) == ["Has a dog.", "Has a cat.", "Name is Ada."]
    assert len(model.asked) == 1
    assert [fact.content for fact in state["report"].added] == ["Name is Ada."]


def test_an_unwritable_storage_costs_no_call_of_the_model() -> None:
    """Else every retry would pay for one."""

    class ReadOnlyStorage(MeddlingStorage):
        def check_writable(self, scope: Scope) -> None:
            raise StorageError(f"the memory of {scope} is read-only")

    model = ScriptedModel(update_answer("Name is Ada."))

    with pytest.raises(StorageError, match="'ada' is read-only"):
        build_graph(model=model, storage=ReadOnlyStorage()).invoke(
            {"messages": talk("My name is Ada.")}, context=CONTEXT
        )

    assert model.asked == ()


def test_a_storage_that_becomes_unwritable_during_the_call_fails_the_save() -> None:
    def fail(storage: MemoryStorage) -> None:
        raise StorageError("the disk is full")

    model = ScriptedModel(update_answer("Name is Ada."))

    with pytest.raises(StorageError, match="the disk is full"):
        build_graph(model=model, storage=MeddlingStorage(fail)).invoke(
            {"messages": talk("My name is Ada.")}, context=CONTEXT
        )

    assert len(model.asked) == 1


def test_a_summary_rewritten_meanwhile_is_asked_for_again() -> None:
    """The model must see what it would overwrite."""

    def rewrite(storage: MemoryStorage) -> None:
        storage.save(ADA, storage.load(ADA).with_section("work_context", Section(summary="Runs a bakery.")))

    storage = MeddlingStorage(rewrite)
    model = ScriptedModel(update_answer(workContext="Engineer."), update_answer(workContext="Ada runs a bakery."))

    graph = build_graph(model=model, storage=storage, policy=Policy(summaries="update", grounding="off"))
    state = graph.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)

    assert "Runs a bakery." in str(model.asked[1][-1].content)
    assert state["saved"].user.work_context.summary == "Ada runs a bakery."
    assert state["report"].usage.calls == 2


def test_turns_that_others_learned_meanwhile_are_left_to_them() -> None:
    """Two workers, one job: it is learned once."""
    inner = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")
    other: list[MemoryStorage] = []

    def learn(storage: MemoryStorage) -> None:
        other.append(storage)
        inner.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT.model_copy(update={"storage": storage}))

    model = ScriptedModel(update_answer("Is called Ada."))
    state = build_graph(model=model, storage=MeddlingStorage(learn)).invoke(
        {"messages": talk("My name is Ada.")}, context=CONTEXT
    )

    assert (state["outcome"], "saved" in state, state["report"].usage.calls) == ("superseded", False, 1)
    assert contents(other[0].load(ADA)) == ["Name is Ada."]


def test_turns_that_others_did_not_learn_are_not_lost_with_those_they_did() -> None:
    """The other run had seen less of the conversation."""
    inner = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")
    said = talk("My name is Ada.", "Hello!", "I have a dog.", "Nice!")

    def learn(storage: MemoryStorage) -> None:
        inner.invoke({"messages": said[:2]}, context=CONTEXT.model_copy(update={"storage": storage}))

    model = ScriptedModel(update_answer("Is Ada, has a dog."), update_answer("Has a dog."))
    state = build_graph(model=model, storage=MeddlingStorage(learn), policy=TRUSTING).invoke(
        {"messages": said}, context=CONTEXT
    )

    assert contents(state["saved"]) == ["Name is Ada.", "Has a dog."]
    assert next((turn.text, turn.is_new) for turn in read_turns(model.asked[1][-1].text)) == ("My name is Ada.", False)


def learn_other_turns(*texts: str, start: int = 100) -> Callable[[MemoryStorage], object]:
    """Return an act that learns turns of its own on the same thread."""

    def act(storage: MemoryStorage) -> object:
        graph = build_graph(model=ScriptedModel(update_answer(f"Said: {texts[0]}")), storage=storage, policy=TRUSTING)
        return graph.invoke({"messages": talk(*texts, start=start)}, context=CONTEXT)

    return act


def test_a_lost_race_against_other_turns_of_the_thread_loses_none() -> None:
    """Two runs of one thread with turns of their own: both are learned, and the whole conversation is not new."""
    storage = MeddlingStorage(learn_other_turns("I like tea.", "Noted."))
    model = ScriptedModel(update_answer({"content": "Plays jazz.", "quote": "I play jazz", "confidence": 0.9}))
    graph = build_graph(model=model, storage=storage)

    state = graph.invoke({"messages": talk("I play jazz.", "Nice!")}, context=CONTEXT)
    again = graph.invoke(
        {"messages": [*talk("I like tea.", "Noted.", start=100), *talk("I play jazz.", "Nice!")]}, context=CONTEXT
    )

    assert (state["outcome"], len(model.asked)) == ("learned", 1)
    assert contents(state["saved"]) == ["Said: I like tea.", "Plays jazz."]
    assert (again["outcome"], len(model.asked)) == ("nothing_new", 1)


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None)
def test_four_writers_of_one_thread_lose_no_turn(order: Sequence[int], meddlers: Sequence[int]) -> None:
    """Each learns its own six turns while the others interfere; the full history afterwards is not new."""
    said = {writer: talk(*(f"{writer}.{n}" for n in range(6)), start=10 * writer) for writer in range(4)}

    def learn(writer: int, storage: MemoryStorage) -> object:
        graph = build_graph(model=ScriptedModel(_repeat_new_turns), storage=storage, policy=TRUSTING)
        return graph.invoke({"messages": said[writer]}, context=CONTEXT)

    storage = MeddlingStorage(*(partial(learn, writer) for writer in meddlers))
    for writer in order:
        learn(writer, storage)
    stored = storage.load(ADA)
    history = [message for writer in range(4) for message in said[writer]]
    again = build_graph(model=ScriptedModel("?"), storage=storage).invoke({"messages": history}, context=CONTEXT)

    assert sorted(contents(stored)) == sorted(message.text for message in history)
    assert again["outcome"] == "nothing_new"


def _repeat_new_turns(prompt: Sequence[BaseMessage]) -> str:
    return update_answer(*(shown.text for shown in read_turns(prompt[-1].text) if shown.is_new))


@pytest.mark.parametrize("copy", [MemoryDocument(), MemoryDocument(threads={"t1": Watermark(last_message_id="old")})])
def test_a_memory_that_was_removed_or_restored_meanwhile_learns_the_job(copy: MemoryDocument) -> None:
    """The stored watermark knows none of its turns, so no other run has learned them."""
    storage = MeddlingStorage(lambda inner: _put(inner, copy))
    storage.inner.save(ADA, MemoryDocument(threads={"t1": Watermark(last_message_id="m0")}))
    model = ScriptedModel(update_answer("Likes tea."), update_answer("Is Ada.", "Likes tea."))

    state = build_graph(model=model, storage=storage, policy=TRUSTING).invoke(
        {"messages": talk("My name is Ada.", "Hello!", "I like tea.")}, context=CONTEXT
    )

    assert state["outcome"] == "learned"
    assert contents(state["saved"]) == ["Is Ada.", "Likes tea."]


def _put(storage: MemoryStorage, copy: MemoryDocument) -> None:
    """Replace the document, as a restored backup does."""
    storage.save(ADA, copy.model_copy(update={"revision": storage.load(ADA).revision}))


def test_a_memory_deleted_meanwhile_stays_deleted() -> None:
    """Neither what was known nor what this run learned comes back; what is said later is learned."""
    storage = MeddlingStorage(lambda inner: inner.delete(ADA))
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage)

    state = graph.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)
    again = graph.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)
    later = graph.invoke({"messages": talk("My name is Ada.", "Hello!", "My name is Ada.")}, context=CONTEXT)

    assert (state["outcome"], "saved" in state) == ("forgotten", False)
    assert again["outcome"] == "nothing_new"
    assert contents(later["saved"]) == ["Name is Ada."]


def test_a_run_that_loses_too_many_races_says_so() -> None:
    """Rather than spinning for ever."""
    storage = MeddlingStorage(*[adding(f"Fact {n}.") for n in range(9)])
    graph = build_graph(model=ScriptedModel(update_answer("X.")), storage=storage, policy=Policy(max_races=3))

    with pytest.raises(RevisionConflictError):
        graph.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)


def test_a_long_conversation_is_learned_in_order_a_batch_a_pass() -> None:
    """Each pass shows the model its own turns, with the last of the pass before as context."""
    storage = open_storage("memory:")
    model = ScriptedModel(*(update_answer(f"Fact {n}.") for n in range(20)))
    said = talk(*(f"Turn {n}: " + "word " * 200 for n in range(12)))

    state = build_graph(model=model, storage=storage, policy=Policy(batch_tokens=1_000, grounding="off")).invoke(
        {"messages": said}, context=CONTEXT
    )

    asked = [[*read_turns(prompt[-1].text)] for prompt in model.asked]
    new = [turn.text[:7] for shown in asked for turn in shown if turn.is_new]
    assert [new.count(f"Turn {n}:"[:7]) for n in range(10)] == [1] * 10
    assert [turn.text[:7] for turn in asked[1] if not turn.is_new] == ["[...] w", "[...] w"]
    assert contents(state["saved"]) == [f"Fact {n}." for n in range(len(asked))]
    assert (len(asked), state["saved"].revision, len(state["report"].added)) == (3, 3, 3)


def test_nothing_of_a_long_turn_is_left_out() -> None:
    """It takes several passes; afterwards it is not new."""
    storage = open_storage("memory:")
    model = ScriptedModel(_repeat_new_turns)
    text = " ".join(f"Sentence {n} of a long log." for n in range(300))
    graph = build_graph(model=model, storage=storage, policy=Policy(batch_tokens=500, max_calls=None))
    said = talk("Look:", "Yes?", text, "I see.")

    graph.invoke({"messages": said}, context=CONTEXT)
    again = graph.invoke({"messages": said}, context=CONTEXT)

    learned = " ".join(contents(storage.load(ADA)))
    assert all(f"Sentence {n} of a long log." in learned for n in range(300))
    assert storage.load(ADA).threads["t1"].message_ids == ("m0", "m1", "m2", "m3")
    assert again["outcome"] == "nothing_new"


@pytest.mark.parametrize(
    "answer",
    [
        update_answer(),
        lambda messages: update_answer() if messages[-2].text == "Hm." else "Hm.",
        AIMessage(update_answer(), response_metadata={"finish_reason": "length"}),
    ],
    ids=["readable", "readable at the second try", "cut off"],
)
def test_the_calls_for_one_message_are_bounded(answer: Any) -> None:
    """A message of a megabyte must not cost hundreds of calls: what they do not reach stays in the episodes."""
    storage, model = open_storage("memory:"), ScriptedModel(answer)
    text = "".join(f"我在第{n}天喝了茶。" for n in range(30_000))[:300_000]
    graph = build_graph(model=model, storage=storage)

    state = graph.invoke({"messages": talk(text)}, context=CONTEXT)
    asked = len(model.asked)
    again = graph.invoke({"messages": talk(text)}, context=CONTEXT)

    assert 4 <= asked <= Policy().max_calls == 8
    assert "max_calls" in state["report"].refused[-1].reason
    assert "".join(episode.text for episode in storage.episodes(ADA)) == text
    assert (again["outcome"], len(model.asked)) == ("nothing_new", asked)


def test_what_follows_a_message_that_was_too_long_is_learned() -> None:
    """The bound is that of one message, not of the conversation."""
    storage, model = open_storage("memory:"), ScriptedModel(_repeat_new_turns)
    graph = build_graph(model=model, storage=storage, policy=Policy(max_calls=2, batch_tokens=500, verify="off"))

    graph.invoke({"messages": talk("I live in Oslo. " * 1_000, "Nice.", "My name is Ada.")}, context=CONTEXT)

    assert "My name is Ada." in contents(storage.load(ADA))


@pytest.mark.parametrize("reason", ["length", "stop", None])
def test_turns_whose_answer_is_cut_off_are_learned_in_smaller_batches(reason: str | None) -> None:
    """Here the model has room for the facts of two turns; all of them are learned, and none in half.

    Not every server says that it reached a limit.
    """
    storage = open_storage("memory:")

    def answer(prompt: Sequence[BaseMessage]) -> AIMessage:
        shown = [turn.text for turn in read_turns(prompt[-1].text) if turn.is_new]
        text = update_answer(*shown)
        third = text.find(shown[2]) + 3 if len(shown) > 2 else None
        return AIMessage(text[:third], response_metadata={"finish_reason": reason if third else "stop"})

    model = ScriptedModel(answer)
    said = talk(*(f"Fact {n} of mine." for n in range(9)))
    graph = build_graph(model=model, storage=storage, policy=TRUSTING)

    state = graph.invoke({"messages": said}, context=CONTEXT)
    again = graph.invoke({"messages": said}, context=CONTEXT)

    assert sorted(contents(storage.load(ADA))) == [f"Fact {n} of mine." for n in range(9)]
    assert (state["outcome"], state["report"].refused[0].reason) == ("learned", "already known")
    assert state["report"].usage.calls == len(model.asked) == 7
    assert again["outcome"] == "nothing_new"


def test_no_turn_is_marked_whose_answer_was_cut_off() -> None:
    """If the model fails afterwards, the turns are still there to be learned."""
    storage = open_storage("memory:")
    cut = AIMessage(update_answer("Has a dog.", "Has a cat.")[:-40], response_metadata={"finish_reason": "length"})

    with pytest.raises(UnreadableAnswerError):
        build_graph(model=ScriptedModel(cut, "?"), storage=storage, policy=TRUSTING).invoke(
            {"messages": talk("I have a dog.", "Nice!", "And a cat.")}, context=CONTEXT
        )

    assert contents(storage.load(ADA)) == ["Has a dog."]
    assert storage.load(ADA).threads == {}


def test_what_an_earlier_pass_learned_stays_when_a_later_one_fails() -> None:
    """And the next run goes on from there."""
    storage = open_storage("memory:")
    said = talk(*(f"Turn {n}: " + "word " * 200 for n in range(6)))
    policy = Policy(batch_tokens=500, grounding="off")
    failing = build_graph(model=ScriptedModel(update_answer("Fact 0."), "?"), storage=storage, policy=policy)
    with pytest.raises(UnreadableAnswerError):
        failing.invoke({"messages": said}, context=CONTEXT)

    model = ScriptedModel(update_answer("Fact 1."), update_answer("Fact 2."))
    state = build_graph(model=model, storage=storage, policy=policy).invoke({"messages": said}, context=CONTEXT)

    assert contents(state["saved"]) == ["Fact 0.", "Fact 1.", "Fact 2."]


# -- whose memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "named"),
    [
        ({}, "no user_id"),
        ({"user_id": ""}, "no user_id"),
        ({"user_id": "x" * 257}, "user_id"),
        ({"user_id": "a\x00b"}, "user_id"),
        ({"user_id": "ada", "agent_name": "../evil"}, "agent_name"),
        ({"user_id": "ada", "agent_name": "a" * 65}, "agent_name"),
        ({"user_id": "ada", "thread_id": "t\n1"}, "thread_id"),
        ({"user_id": "ada", "thread_id": "t" * 257}, "thread_id"),
    ],
)
def test_an_id_that_may_not_be_used_is_named_and_nothing_is_written(context: dict[str, str], named: str) -> None:
    """Whoever calls must learn which."""
    storage = open_storage("memory:")
    model = ScriptedModel(update_answer("Junk."))

    with pytest.raises(IdentityError, match=named):
        build_graph(model=model, storage=storage).invoke({"messages": "Hi."}, context=Context(**context))

    assert not list(storage.scopes())
    assert not model.asked


class Foreign:
    """A lead agent's context, of a type of its own."""

    user_id = "ada"
    model = "not ours"
    storage = 7
    policy = "strict"


@pytest.mark.parametrize("context", [Foreign(), {"user_id": "ada", "storage": "not ours"}])
def test_a_foreign_context_gives_identity_and_nothing_else(context: object) -> None:
    """A field that happens to have the name is not ours."""
    storage = open_storage("memory:")
    lead = _lead(build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage), type(context))

    lead.invoke({"messages": [HumanMessage("My name is Ada.")], "memory": "mine", "prompt": "mine"}, context=context)

    assert contents(storage.load(ADA)) == ["Name is Ada."]


def test_configurable_names_the_user_where_no_context_does() -> None:
    """As older agents do; its thread_id is the thread."""
    storage = open_storage("memory:")
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage)

    graph.invoke({"messages": "My name is Ada."}, {"configurable": {"user_id": "ada", "thread_id": "t9"}})

    (fact,) = storage.load(ADA).facts
    assert fact.source == "t9"


def test_agents_learn_apart() -> None:
    """An agent's memory is its own; before it has one it reads the user's."""
    storage = open_storage("memory:")
    graph = build_graph(model=ScriptedModel(update_answer("A."), update_answer("B.")), storage=storage, policy=TRUSTING)

    graph.invoke({"messages": "Hi there."}, context=Context(user_id="ada"))
    graph.invoke({"messages": "Hi you."}, context=Context(user_id="ada", agent_name="Coder"))

    assert contents(storage.load(ADA)) == ["A."]
    assert contents(storage.load(Scope("ada", "coder"))) == ["A.", "B."]


def test_instructions_of_ones_own_take_the_place_of_ours() -> None:
    """For one run; the frame with memory and turns stays."""
    model = ScriptedModel(update_answer("Name is Ada."))
    prompt = 'Only pets matter. Answer {"user": {}, "history": {}, "newFacts": []}.'

    build_graph(model=model, storage="memory:").invoke(
        {"messages": talk("My name is Ada.")}, context=CONTEXT.model_copy(update={"prompt": prompt})
    )

    assert model.asked[0][0].text == prompt
    assert "My name is Ada." in model.asked[0][1].text


def test_instructions_that_no_answer_could_follow_are_refused_before_anything_runs() -> None:
    """The context itself says what is wrong."""
    with pytest.raises(ConfigError, match="newFacts"):
        Context(user_id="ada", prompt="Be brief.")


# -- inside a lead agent --------------------------------------------------------------------------


class LeadState(MessagesState):
    """A lead agent's state, with keys that we use ourselves."""

    memory: str
    prompt: str


def _lead(graph: Any, context: type[Any], **compiled: Any) -> Any:
    lead = StateGraph(LeadState, context_schema=context)
    lead.add_node("remember", graph)
    lead.add_edge(START, "remember")
    lead.add_edge("remember", END)
    return lead.compile(**compiled)


def test_a_lead_agent_keeps_its_own_keys() -> None:
    """Ours are named as anybody would name theirs."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")
    said = [HumanMessage("My name is Ada.", id="m1")]

    state = _lead(graph, Foreign).invoke({"messages": said, "memory": "mine", "prompt": "mine"}, context=Foreign())

    assert state == {"messages": said, "memory": "mine", "prompt": "mine"}


def test_the_words_of_the_memory_are_not_in_a_lead_agents_stream() -> None:
    """A user must not watch the assistant take notes."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")

    streamed = list(
        _lead(graph, Foreign).stream(
            {"messages": [HumanMessage("My name is Ada.")]}, context=Foreign(), stream_mode="messages", subgraphs=True
        )
    )

    assert not [chunk for chunk in streamed if "newFacts" in str(chunk)]


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver()])
def test_a_memory_that_fails_costs_a_lead_agent_nothing(
    checkpointer: InMemorySaver | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The error is logged, no mark moves, and the agent's own nodes go on."""
    storage = open_storage("memory:")
    lead = StateGraph(MessagesState, context_schema=Context)
    lead.add_node("remember", build_graph(model=ScriptedModel("?"), storage=storage))
    lead.add_node("answer", lambda _: {"messages": AIMessage("Hello Ada!")})
    lead.add_edge(START, "remember")
    lead.add_edge("remember", "answer")
    config: Any = {"configurable": {"thread_id": "t1"}}

    state = lead.compile(checkpointer=checkpointer).invoke(
        {"messages": talk("My name is Ada.")}, config, context=CONTEXT
    )

    assert state["messages"][-1].text == "Hello Ada!"
    assert storage.load(ADA) == MemoryDocument()
    assert f"memory of {ADA.log_name} was not updated" in caplog.text


# -- on a checkpointed thread ---------------------------------------------------------------------


def test_runs_on_one_thread_start_afresh() -> None:
    """News, then nothing new, then news: nothing an earlier run left in the state steers a later one."""
    model = ScriptedModel(
        update_answer("Name is Ada."), "Sure!", update_answer({"content": "Has a dog.", "quote": "I have a dog"})
    )
    graph = build_graph(model=model, storage="memory:", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1"}}
    said = talk("My name is Ada.", "Hello!", "I have a dog.")

    first = graph.invoke({"messages": said[:2]}, config, context=CONTEXT)
    second = graph.invoke({"messages": said[:2]}, config, context=CONTEXT)
    third = graph.invoke({"messages": said}, config, context=CONTEXT)
    fourth = graph.invoke({"messages": talk("ok")}, config, context=CONTEXT)

    assert [state["outcome"] for state in (first, second, third, fourth)] == [
        "learned", "nothing_new", "learned", "nothing_new",
    ]  # fmt: skip
    assert ("saved" in second, "saved" in fourth) == (False, False)
    assert contents(third["saved"]) == ["Name is Ada.", "Has a dog."]
    assert (len(third["report"].added), third["report"].usage.calls) == (1, 2)


def test_a_proposal_can_be_edited_before_it_is_saved() -> None:
    """A client sends plain JSON; the run is resumed with the edited value."""
    graph = build_graph(
        model=ScriptedModel(update_answer("Name is Ada.")),
        storage="memory:",
        checkpointer=InMemorySaver(),
        interrupt_before=["save_memory"],
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke({"messages": talk("My name is Ada.")}, config, context=CONTEXT)
    proposed = graph.get_state(config).values["scrubbed"].model_dump(mode="json", by_alias=True)
    proposed["facts"][0]["content"] = "Name is Ada Lovelace."

    graph.update_state(config, {"scrubbed": proposed})
    state = graph.invoke(None, config, context=CONTEXT)

    assert contents(state["saved"]) == ["Name is Ada Lovelace."]


def test_a_run_resumed_without_its_context_keeps_its_user() -> None:
    """Context is not checkpointed; whose memory it is, is."""
    storage = open_storage("memory:")
    graph = build_graph(
        model=ScriptedModel(update_answer("Name is Ada.")),
        storage=storage,
        checkpointer=InMemorySaver(),
        interrupt_before=["save_memory"],
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke({"messages": talk("My name is Ada.")}, config, context=CONTEXT)

    graph.invoke(None, config)

    assert contents(storage.load(ADA)) == ["Name is Ada."]


def test_a_run_resumed_with_another_storage_is_refused() -> None:
    """Else one storage's memory would be written over the other's."""
    graph = build_graph(
        model=ScriptedModel(update_answer("Name is Ada.")),
        storage="memory:",
        checkpointer=InMemorySaver(),
        interrupt_before=["save_memory"],
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke(
        {"messages": talk("Hi.")}, config, context=CONTEXT.model_copy(update={"storage": open_storage("memory:")})
    )

    with pytest.raises(WrongStorageError):
        graph.invoke(None, config)


def test_all_stages_come_out_where_they_are_asked_for() -> None:
    """As on the server, whose clients show them side by side."""
    model = ScriptedModel(update_answer("Name is Ada."))
    graph = build_graph(model=model, storage="memory:", output="stages")

    state = graph.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)

    assert {"turns", "signals", "memory", "prompt", "response", "changes", "applied", "scrubbed"} <= set(state)


def test_a_choice_that_is_not_allowed_costs_a_lead_agent_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """On the server, the parent's context may be a Context that came over HTTP; the agent's own nodes go on."""
    lead = StateGraph(MessagesState, context_schema=Context)
    lead.add_node("remember", build_graph(model=ScriptedModel("?"), storage="memory:"))
    lead.add_node("answer", lambda _: {"messages": AIMessage("Hello Ada!")})
    lead.add_edge(START, "remember")
    lead.add_edge("remember", "answer")
    config: Any = {"configurable": {"thread_id": "t1", "assistant_id": "a", "graph_id": "g"}}  # as the server sets them

    state = lead.compile().invoke(
        {"messages": talk("My name is Ada.")}, config, context=Context(user_id="ada", model="x:y")
    )

    assert state["messages"][-1].text == "Hello Ada!"
    assert "model 'x:y' is not allowed in a run over HTTP" in caplog.text


def test_words_that_the_user_pastes_are_neither_learned_nor_kept() -> None:
    """With the offline model, from the message to the storage; what is the user's own is both."""
    storage = open_storage("memory:")
    said = "I live in Porto.\n\nFrom: Bob\nSubject: Hi\n\nI live in Rome. I am allergic to nuts."

    build_graph(model="offline", storage=storage).invoke({"messages": [HumanMessage(said, id="m1")]}, context=CONTEXT)

    assert [fact.content for fact in storage.load(Scope("ada")).facts] == ["Lives in Porto."]
    assert [episode.text for episode in storage.episodes(Scope("ada"))] == ["I live in Porto."]


def run_inside(state: type[Any], graph: Any, values: dict[str, Any], *, is_async: bool, limit: int = 5) -> Any:
    """Run *graph* as a node of another graph, and then an agent."""
    lead = StateGraph(state)
    lead.add_node("remember", graph)
    lead.add_node("answer", lambda _: {"answer": "Hello Ada!"})
    lead.add_edge(START, "remember").add_edge("remember", "answer")
    agent, config = lead.compile(), {"recursion_limit": limit, "configurable": {"user_id": "ada", "thread_id": "t1"}}
    return asyncio.run(agent.ainvoke(values, config)) if is_async else agent.invoke(values, config)


class AnswerState(MessagesState):
    """A state with messages."""

    answer: str


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_called", [False, True])
def test_a_small_recursion_limit_of_an_agent_is_not_that_of_its_memory(is_async: bool, is_called: bool) -> None:  # noqa: FBT001
    """The agent's limit bounds its own loop; an update has nine steps."""
    storage = open_storage("memory:")
    graph = build_graph(model=ScriptedModel(update_answer("Lives in Lisbon.")), storage=storage, policy=TRUSTING)

    def call(state: AnswerState) -> dict[str, str]:
        graph.invoke({"messages": state["messages"]})
        return {}

    said: dict[str, Any] = {"messages": talk("I live in Lisbon.")}
    result = run_inside(AnswerState, call if is_called else graph, said, is_async=is_async)

    assert (result["answer"], contents(storage.load(ADA))) == ("Hello Ada!", ["Lives in Lisbon."])


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_without_messages_is_warned_of_once_and_goes_on(
    is_async: bool,  # noqa: FBT001
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Memory has nothing to learn from there, which would go unnoticed."""
    graph = build_graph(model=ScriptedModel("?"), storage="memory:")
    state = TypedDict("state", {"question": str, "answer": str})  # noqa: UP013

    results = [run_inside(state, graph, {"question": "Hm?"}, is_async=is_async) for _ in range(2)]

    assert [result["answer"] for result in results] == ["Hello Ada!"] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "memory_update does nothing: the state of its parent graph has no messages; add it, or call it in your own node"
    ]


def test_a_dropped_graph_frees_its_storage(tmp_path: Path) -> None:
    """One may be built for each request."""
    storage = FileStorage(tmp_path)
    graph = build_graph(storage=storage)
    graph.invoke({"messages": [HumanMessage("I live in Lisbon.")]}, context=Context(user_id="ada"))
    reference = weakref.ref(storage)

    del graph, storage
    gc.collect()

    assert reference() is None
