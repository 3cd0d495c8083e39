"""The update graph with a review by interrupt: interrupts, answers, conflicts and checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from faulty_storage import MeddlingStorage, adding
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from memgraph import Context, Fact, MemoryDocument, MemoryStorage, Policy, Scope, build_graph, open_storage
from memgraph.models import MANUAL, PendingChange, Section
from memgraph.review import AcceptedText, Decision, Review, ReviewRequest
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
CONTEXT = Context(user_id="ada", thread_id="t1")
CONFIG: Any = {"configurable": {"thread_id": "t1"}}
BERLIN = Fact(id="fact_0000000a", content="Lives in Berlin.", confidence=0.9)
TEA = Fact(id="fact_0000000b", content="Likes tea.", confidence=0.9)


def talk(*texts: str) -> list[BaseMessage]:
    """Return a conversation that the user begins, with message ids."""
    kinds = (HumanMessage, AIMessage)
    return [kinds[place % 2](text, id=f"m{place}") for place, text in enumerate(texts)]


class Bench:
    """A graph with review, and one thread to run it on."""

    def __init__(
        self, *answers: str, review: Review = "always", storage: MemoryStorage | None = None, **given: Any
    ) -> None:
        self.model = ScriptedModel(*(answers or (update_answer("Name is Ada."),)))
        self.storage = storage or open_storage("memory:")
        self.graph = build_graph(
            model=self.model,
            storage=self.storage,
            review=review,
            checkpointer=InMemorySaver(),
            **{"policy": Policy(grounding="off"), "review_by": "interrupt", **given},
        )

    def say(self, *texts: str, context: Context = CONTEXT) -> Any:
        return self.graph.invoke({"messages": talk(*texts)}, CONFIG, context=context)

    def answer(self, answer: object) -> Any:
        return self.graph.invoke(Command(resume=answer), CONFIG, context=CONTEXT)

    def keep(self, *facts: Fact) -> None:
        self.storage.save(ADA, self.storage.load(ADA).with_facts(facts))

    @property
    def contents(self) -> list[str]:
        return [fact.content for fact in self.storage.load(ADA).facts]


def asked(state: Any) -> ReviewRequest:
    """Return what the interrupt of the run asks."""
    (interrupt,) = state["__interrupt__"]
    return ReviewRequest.model_validate(interrupt.value)


def texts(changes: Sequence[PendingChange]) -> list[str | None]:
    return [change.text for change in changes]


# -- the shape ------------------------------------------------------------------------------------


def test_a_run_without_review_skips_the_review_node() -> None:
    """It costs no step and no checkpoint."""
    graph = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage="memory:")

    steps = [*graph.stream({"messages": talk("My name is Ada.")}, context=CONTEXT, stream_mode="updates")]

    assert [node for step in steps for node in step][-2:] == ["scrub_uploads", "save_memory"]


@pytest.mark.parametrize("review", ["corrections", "always"])
def test_review_happens_between_scrubbing_and_saving(review: Review) -> None:
    """Accepted changes are applied again."""
    drawn = build_graph(storage="memory:", review=review).get_graph()

    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert {edge for edge in edges if "review_changes" in edge} == {
        ("scrub_uploads", "review_changes"),
        ("review_changes", "apply_update"),
        ("review_changes", "save_memory"),
    }
    assert ("scrub_uploads", "save_memory") not in edges


# -- requests ----------------------------------------------------------------------------------------


def test_a_request_lists_every_change_before_anything_is_saved() -> None:
    """Additions, confirmations, removals, rewrites and replacements, as the entries that would be pending."""
    bench = Bench(
        update_answer(
            {"content": "Lives in Paris.", "confidence": 0.9, "replaces": [BERLIN.id]},
            {"content": "likes TEA.", "confidence": 0.95},
            {"content": "May like jazz.", "confidence": 0.3},
            remove=["fact_0000000c"],
            workContext="Engineer.",
        )
    )
    bench.keep(BERLIN, TEA, Fact(id="fact_0000000c", content="Is a student.", confidence=0.9))

    request = asked(bench.say("I moved to Paris."))
    paris, tea, student, _ = request.changes

    assert texts(request.changes) == ["Lives in Paris.", "Likes tea.", None, "Engineer."]
    assert [change.replaced for change in (paris, tea, student)] == [
        (BERLIN.id,),
        (TEA.id,),
        ("fact_0000000c",),
    ]
    assert (request.user_id, request.thread_id, bench.storage.load(ADA).revision) == ("ada", "t1", 1)


def test_a_request_has_the_entries_that_would_be_pending() -> None:
    """Of one update, by either way of review."""
    answer = update_answer("Name is Ada.", remove=[TEA.id])
    asking, pending = Bench(answer), Bench(answer, review_by="pending")
    asking.keep(TEA)
    pending.keep(TEA)

    request = asked(asking.say("My name is Ada."))
    pending.say("My name is Ada.")

    assert [one.id for one in request.changes] == [one.id for one in pending.storage.load(ADA).pending]


def test_an_update_without_effect_is_not_reviewed() -> None:
    """Changes that the rules reject need no decision."""
    bench = Bench(update_answer({"content": "May like jazz.", "confidence": 0.3}))

    state = bench.say("Nice weather.")

    assert (state["outcome"], "__interrupt__" in state) == ("nothing_new", False)


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        (update_answer("Name is Ada.", workContext="Engineer."), False),
        (update_answer({"content": "Use uv, not pip.", "category": "correction", "confidence": 0.95}), True),
        (update_answer(remove=[BERLIN.id]), True),
        (update_answer({"content": "Lives in Paris.", "confidence": 0.9, "replaces": [BERLIN.id]}), True),
    ],
)
def test_corrections_reviews_changes_to_known_facts(answer: str, asks: bool) -> None:  # noqa: FBT001
    """New facts alone are learned without review."""
    bench = Bench(answer, review="corrections")
    bench.keep(BERLIN)

    assert ("__interrupt__" in bench.say("News.")) is asks


def test_a_run_may_be_stricter_than_its_graph() -> None:
    """As for a user who wants to review everything."""
    bench = Bench(review="corrections")

    state = bench.say("My name is Ada.", context=CONTEXT.model_copy(update={"review": "always"}))

    assert asked(state).changes


def test_a_run_may_not_be_less_strict() -> None:
    """Otherwise a caller could switch review off."""
    bench = Bench(review="always")

    state = bench.say("My name is Ada.", context=CONTEXT.model_copy(update={"review": "never"}))

    assert asked(state).changes


def test_a_run_resumed_without_its_context_stays_strict() -> None:
    """Context is not checkpointed, but the review mode is."""
    bench = Bench(review="corrections")
    bench.say("My name is Ada.", context=CONTEXT.model_copy(update={"review": "always"}))

    state = bench.graph.invoke(Command(resume="nonsense"), CONFIG)

    assert "nonsense" in (asked(state).problem or "")
    assert bench.contents == []


@pytest.mark.parametrize("defaults", [{}, {"review": "never"}])
def test_a_run_may_ask_for_a_review_of_any_graph(defaults: dict[str, Any]) -> None:
    """Every graph has the node: `review` is a field of the form of every server."""
    model = ScriptedModel(update_answer("Name is Ada."))
    storage = open_storage("memory:")
    graph = build_graph(model=model, storage=storage, review_by="interrupt", checkpointer=InMemorySaver(), **defaults)

    state = graph.invoke(
        {"messages": talk("My name is Ada.")}, CONFIG, context=CONTEXT.model_copy(update={"review": "always"})
    )
    unsaved = storage.load(ADA)
    graph.invoke(Command(resume="accept"), CONFIG)  # without the context, which is not checkpointed

    assert (asked(state).changes[0].text, unsaved) == ("Name is Ada.", MemoryDocument())
    assert [fact.content for fact in storage.load(ADA).facts] == ["Name is Ada."]


def test_a_review_of_one_run_does_not_hold_for_the_next() -> None:
    """The thread still has the state of the first."""
    bench = Bench(update_answer("Name is Ada."), update_answer("Has a dog."), review="never")
    bench.say("My name is Ada.", context=CONTEXT.model_copy(update={"review": "always"}))
    bench.answer("accept")

    state = bench.say("My name is Ada.", "Hello!", "I have a dog.")

    assert (state["outcome"], bench.contents) == ("learned", ["Name is Ada.", "Has a dog."])


def test_without_a_checkpointer_the_run_ends_at_the_review() -> None:
    """Nothing is saved, no watermark moves, and the result contains the request."""
    storage = open_storage("memory:")
    graph = build_graph(
        model=ScriptedModel(update_answer("Name is Ada.")), storage=storage, review="always", review_by="interrupt"
    )

    state = graph.invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)

    assert asked(state).changes[0].text == "Name is Ada."
    assert ("outcome" in state, storage.load(ADA)) == (False, MemoryDocument())


# -- decisions ------------------------------------------------------------------------------------


def test_accepted_changes_are_learned() -> None:
    """As proposed, without another model call."""
    bench = Bench()
    bench.say("My name is Ada.")

    state = bench.answer("accept")

    assert (state["outcome"], bench.contents, len(bench.model.asked)) == ("learned", ["Name is Ada."], 1)
    assert [fact.source for fact in state["saved"].facts] == ["t1"]


def test_rejected_changes_are_not_proposed_again() -> None:
    """The watermark moves, so the same turns need no model call and no review."""
    bench = Bench()
    bench.say("My name is Ada.")

    state = bench.answer("reject")
    again = bench.say("My name is Ada.")

    assert (state["outcome"], bench.contents) == ("rejected", [])
    assert [(refusal.item, refusal.reason) for refusal in state["report"].refused] == [
        ("Name is Ada.", "rejected in review")
    ]
    assert (again["outcome"], len(bench.model.asked)) == ("nothing_new", 1)


def test_changes_are_decided_one_by_one() -> None:
    """Rejected ones only appear in the report."""
    bench = Bench(update_answer("Name is Ada.", "Has a dog.", remove=[BERLIN.id], workContext="Engineer."))
    bench.keep(BERLIN)
    name, dog, berlin, work = asked(bench.say("My name is Ada.")).changes

    state = bench.answer({"changes": {name.id: "accept", dog.id: "reject", berlin.id: "reject", work.id: "accept"}})

    assert bench.contents == ["Lives in Berlin.", "Name is Ada."]
    assert state["saved"].user.work_context.summary == "Engineer."
    assert state["outcome"] == "learned"
    assert {refusal.item for refusal in state["report"].refused} == {"Has a dog.", "Lives in Berlin."}


def test_edited_changes_are_manual() -> None:
    """No later update removes the fact, and neither the policy nor scrubbing applies to it."""
    bench = Bench(update_answer("Name is Ada.", workContext="Engineer."))
    name, work = asked(bench.say("My name is Ada.")).changes
    uploads = "Uploaded the file report.pdf."

    edits = {name.id: AcceptedText(text=uploads), work.id: AcceptedText(text=f"Engineer. {uploads}")}
    bench.answer(Decision(changes=edits))

    memory = bench.storage.load(ADA)
    (fact,) = memory.facts
    assert (fact.content, fact.source) == (uploads, MANUAL)
    assert memory.user.work_context.summary == f"Engineer. {uploads}"


def test_what_was_rejected_is_not_asked_again_when_it_is_said_again() -> None:
    """As a rejected pending change."""
    bench = Bench(update_answer("Name is Ada."), update_answer("Name is Ada."))
    bench.say("My name is Ada.")
    bench.answer("reject")

    state = bench.say("My name is Ada.", "Hello!", "My name is Ada!")

    assert ("__interrupt__" in state, bench.contents) == (False, [])


def test_what_is_always_accepted_is_not_asked_again() -> None:
    """As by any other door."""
    bench = Bench(update_answer("Name is Ada."), update_answer("Has a dog."))
    (name,) = asked(bench.say("My name is Ada.")).changes
    bench.answer({"changes": {name.id: "always"}})

    state = bench.say("My name is Ada.", "Hello!", "I have a dog.")

    assert (state["outcome"], bench.contents) == ("learned", ["Name is Ada.", "Has a dog."])
    assert [kind.category for kind in bench.storage.load(ADA).accepted_kinds] == ["context"]


def test_rejecting_a_replacement_keeps_the_fact() -> None:
    """Even if the model also listed it as a removal."""
    moved = {"content": "Lives in Paris.", "confidence": 0.9, "replaces": [BERLIN.id]}
    bench = Bench(update_answer(moved, remove=[BERLIN.id]))
    bench.keep(BERLIN)
    bench.say("I moved.")

    bench.answer("reject")

    assert bench.contents == ["Lives in Berlin."]


@pytest.mark.parametrize(
    "answer",
    [
        "ok",
        "",
        0,
        True,
        [],
        [[["accept"]]],
        {"changes": {}},
        {"changes": {"change_x": "accept"}},
        {"accept": True},
        {"others": None},
    ],
)
def test_an_invalid_answer_interrupts_the_run_again(answer: object) -> None:
    """With the problem in the request; the change set is kept."""
    bench = Bench()
    bench.say("My name is Ada.")

    second = bench.answer(answer)
    third = bench.answer({"others": "perhaps"})
    last = bench.answer("accept")

    assert asked(second).problem
    assert "others" in (asked(third).problem or "")
    assert (last["outcome"], bench.contents, len(bench.model.asked)) == ("learned", ["Name is Ada."], 1)


# -- concurrent writers -----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["accept", {"others": "accept"}])
def test_a_decision_survives_conflicts(answer: object) -> None:
    """A person decides once."""
    bench = Bench(storage=MeddlingStorage(adding("Has a dog."), adding("Has a cat.")))
    bench.say("My name is Ada.")

    state = bench.answer(answer)

    assert (state["outcome"], len(bench.model.asked)) == ("learned", 1)
    assert bench.contents == ["Has a dog.", "Has a cat.", "Name is Ada."]


def test_rejected_changes_stay_rejected_after_a_conflict() -> None:
    """Even a change that has an effect only on the reloaded memory."""
    bench = Bench(
        update_answer("Name is Ada.", "Has a dog.", "Likes tea."),
        storage=MeddlingStorage(lambda storage: storage.save(ADA, storage.load(ADA).with_facts(()))),
    )
    bench.storage.acts, acts = [], bench.storage.acts  # type: ignore[attr-defined]
    bench.keep(TEA.model_copy(update={"source": MANUAL}))
    bench.storage.acts = acts  # type: ignore[attr-defined]
    name, dog = asked(bench.say("My name is Ada.")).changes

    bench.answer({"changes": {name.id: "accept", dog.id: "reject"}})

    assert bench.contents == ["Name is Ada."]


def test_changes_during_the_review_are_kept() -> None:
    """A review may take days."""
    bench = Bench()
    bench.say("My name is Ada.")
    bench.keep(TEA)

    state = bench.answer("accept")

    assert (state["outcome"], bench.contents) == ("learned", ["Likes tea.", "Name is Ada."])


def test_a_summary_changed_during_the_review_is_proposed_again() -> None:
    """The model sees the new text, and its new proposal is reviewed."""
    bench = Bench(update_answer(workContext="Engineer."), update_answer(workContext="Runs a bakery, and builds."))
    bench.say("My name is Ada.")
    memory = bench.storage.load(ADA)
    bench.storage.save(ADA, memory.with_section("work_context", Section(summary="Runs a bakery.")))

    again = bench.answer("accept")
    state = bench.answer("accept")

    assert texts(asked(again).changes) == ["Runs a bakery, and builds."]
    assert state["saved"].user.work_context.summary == "Runs a bakery, and builds."


def test_turns_learned_elsewhere_during_the_review_are_skipped() -> None:
    """Another process learned the same conversation."""
    bench = Bench()
    bench.say("My name is Ada.")
    build_graph(
        model=ScriptedModel(update_answer("Is Ada.")), storage=bench.storage, policy=Policy(grounding="off")
    ).invoke({"messages": talk("My name is Ada.")}, context=CONTEXT)

    state = bench.answer("accept")

    assert (state["outcome"], bench.contents) == ("superseded", ["Is Ada."])


def test_a_memory_deleted_during_the_review_stays_deleted() -> None:
    """Accepting later does not restore it."""
    bench = Bench()
    bench.say("My name is Ada.")
    bench.storage.delete(ADA)

    state = bench.answer("accept")

    assert (state["outcome"], bench.contents) == ("forgotten", [])


# -- more than one change set ---------------------------------------------------------------------


def test_each_batch_is_reviewed() -> None:
    """A decision about one batch does not apply to the next."""
    bench = Bench(update_answer("Fact 0."), update_answer("Fact 1."), policy=Policy(batch_tokens=500, grounding="off"))
    said = [f"Turn {place}: " + "word " * 200 for place in range(4)]

    first = bench.say(*said)
    second = bench.answer("reject")
    last = bench.answer("accept")

    assert [asked(state).changes[0].text for state in (first, second)] == ["Fact 0.", "Fact 1."]
    assert (last["outcome"], bench.contents) == ("learned", ["Fact 1."])


def test_a_later_run_on_the_same_thread_is_reviewed() -> None:
    """Decisions that an earlier run left in the state do not apply."""
    bench = Bench(update_answer("Name is Ada."), update_answer("Has a dog."))
    bench.say("My name is Ada.")
    bench.answer("accept")

    state = bench.say("My name is Ada.", "Hello!", "I have a dog.")

    assert asked(state).changes[0].text == "Has a dog."


def test_new_turns_replace_an_unanswered_request() -> None:
    """The complete conversation is learned again, so nothing is lost."""
    bench = Bench(update_answer("Name is Ada."), update_answer("Name is Ada.", "Has a dog."))
    bench.say("My name is Ada.")

    asked_anew = bench.say("My name is Ada.", "Hello!", "I have a dog.")
    bench.answer("accept")

    assert texts(asked(asked_anew).changes) == ["Name is Ada.", "Has a dog."]
    assert bench.contents == ["Name is Ada.", "Has a dog."]


# -- elsewhere ------------------------------------------------------------------------------------


def test_another_process_can_resume_the_run(tmp_path: Path) -> None:
    """The checkpoint contains everything as plain data."""

    def graph_of(model: ScriptedModel, saver: SqliteSaver) -> Any:
        return build_graph(
            model=model,
            storage=f"sqlite:{tmp_path / 'm.db'}",
            review="always",
            review_by="interrupt",
            checkpointer=saver,
        )

    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
        request = asked(
            graph_of(ScriptedModel(update_answer("Name is Ada.", "Has a dog.")), saver).invoke(
                {"messages": talk("My name is Ada.")}, CONFIG, context=CONTEXT
            )
        )
    later = ScriptedModel("never asked")

    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
        edited = {"changes": {request.changes[0].id: {"text": "Name is Ada Lovelace."}}, "others": "reject"}
        state = graph_of(later, saver).invoke(Command(resume=edited), CONFIG)

    assert [fact.content for fact in state["saved"].facts] == ["Name is Ada Lovelace."]
    assert not later.asked


def test_review_works_in_async_runs() -> None:
    """The same graph supports both."""
    bench = Bench()

    async def run() -> Any:
        await bench.graph.ainvoke({"messages": talk("My name is Ada.")}, CONFIG, context=CONTEXT)
        return await bench.graph.ainvoke(Command(resume="accept"), CONFIG, context=CONTEXT)

    assert asyncio.run(run())["outcome"] == "learned"


@pytest.fixture
def lead() -> tuple[Any, MemoryStorage]:
    """A lead agent whose memory update is reviewed."""
    storage = open_storage("memory:")
    builder = StateGraph(MessagesState, context_schema=Context)
    model = ScriptedModel(update_answer("Name is Ada."))
    builder.add_node("remember", build_graph(model=model, storage=storage, review="always", review_by="interrupt"))
    builder.add_node("answer", lambda _: {"messages": AIMessage("Hello Ada!")})
    builder.add_edge(START, "remember")
    builder.add_edge("remember", "answer")
    return builder.compile(checkpointer=InMemorySaver()), storage


def test_an_interrupt_of_a_subgraph_reaches_the_caller(lead: Any, caplog: Any) -> None:
    """An interrupt is not a failure: it is neither logged nor ignored."""
    graph, storage = lead

    waiting = graph.invoke({"messages": talk("My name is Ada.")}, CONFIG, context=CONTEXT)
    state = graph.invoke(Command(resume="accept"), CONFIG, context=CONTEXT)

    assert asked(waiting).changes[0].text == "Name is Ada."
    assert [fact.content for fact in storage.load(ADA).facts] == ["Name is Ada."]
    assert state["messages"][-1].text == "Hello Ada!"
    assert caplog.text == ""
