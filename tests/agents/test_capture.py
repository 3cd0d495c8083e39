"""What an agent's conversations hand over to be learned from, and when."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from agent_fakes import ADA, IN_T1, SECRET, AgentModel, NotingInvoker, agent_of, calls, remembering
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from memgraph import BackgroundInvoker, Context, MemoryMiddleware, Settings, build_graph, open_storage
from memgraph._concurrency import DaemonExecutor
from memgraph.agents.capture import ConversationCapture
from memgraph.agents.identity import Identity
from memgraph.testing import ScriptedModel, update_answer

LONG: Any = [
    (HumanMessage if n % 2 == 0 else AIMessage)(f"{'Fact' if n % 2 == 0 else 'Answer'} {n}.", id=f"m{n}")
    for n in range(8)
]


def say(agent: Any, text: str = "Hi!", config: Any = IN_T1, *, is_async: bool = False, history: Any = ()) -> Any:
    given = {"messages": [*history, HumanMessage(text)]}
    return asyncio.run(agent.ainvoke(given, config)) if is_async else agent.invoke(given, config)


# -- after the agent ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_conversation_is_handed_over_after_the_agent(*, is_async: bool) -> None:
    """All of it, for its user and thread."""
    invoker = NotingInvoker()

    say(agent_of(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker), is_async=is_async)

    assert invoker.given == [(["Hi!", "Hello!"], ADA, "t1")]


def test_without_a_thread_nothing_is_learned() -> None:
    """Nobody could tell what of it was learned before."""
    invoker = NotingInvoker()
    memory = MemoryMiddleware("memory:", invoker=invoker)  # type: ignore[arg-type]

    say(create_agent(AgentModel("Hello!"), middleware=[memory]), config={"configurable": {"user_id": "ada"}})

    assert invoker.given == []


def test_an_agent_that_waits_for_its_user_hands_over_when_it_has_answered() -> None:
    """Not at the interrupt."""
    invoker = NotingInvoker()

    @tool
    def ask_back() -> str:
        """Ask the user."""
        return interrupt("Which one?")

    agent = agent_of(AgentModel(calls("ask_back"), "Done."), open_storage("memory:"), invoker=invoker, tools=[ask_back])
    say(agent)
    assert invoker.given == []

    agent.invoke(Command(resume="the second"), IN_T1)

    assert [texts for texts, *_ in invoker.given] == [["Hi!", "", "the second", "Done."]]


def test_an_answer_by_structure_is_an_answer() -> None:
    """It comes as a tool call."""

    class Weather(BaseModel):
        """The weather."""

        sunny: bool

    invoker = NotingInvoker()
    memory = MemoryMiddleware("memory:", invoker=invoker)  # type: ignore[arg-type]
    model = AgentModel(calls("Weather", sunny=True))
    say(create_agent(model, middleware=[memory], response_format=ToolStrategy(Weather)))

    assert len(invoker.given) == 1


def test_what_is_learned_is_told_in_the_next_conversation() -> None:
    """End to end, with an invoker that learns at once."""
    storage = open_storage("memory:")
    learning = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage)
    model = AgentModel("Hello!")
    with BackgroundInvoker(learning, outbox="memory:", immediate=True) as invoker:
        agent = agent_of(model, storage, invoker=invoker, wait_seconds=None)
        say(agent, "I'm Ada.")

        say(agent, "Who am I?", {"configurable": {"thread_id": "t2", "user_id": "ada"}})

    assert "Name is Ada." in model.systems[1]


def test_learning_at_once_leaks_nothing_into_the_stream() -> None:
    """Though it runs while the agent's graph does."""
    storage = open_storage("memory:")
    learning = build_graph(model=ScriptedModel(update_answer("Likes pewter.")), storage=storage)
    with BackgroundInvoker(learning, outbox="memory:", immediate=True) as invoker:
        agent = agent_of(AgentModel("Hello!"), storage, invoker=invoker, wait_seconds=None)

        modes = ["messages", "updates", "tasks", "checkpoints", "custom"]
        shown = list(agent.stream({"messages": [HumanMessage("Hi!")]}, IN_T1, stream_mode=modes, subgraphs=True))

    assert [fact.content for fact in storage.load(ADA).facts] == ["Likes pewter."]
    assert "pewter" not in repr(shown)
    assert "filter_messages" not in repr(shown)


def test_an_invoker_that_runs_the_update_itself_leaks_nothing_either() -> None:
    """Whoever wrote it need not know how LangGraph passes on what it streams."""
    learning = build_graph(model=ScriptedModel(update_answer("Likes pewter.")), storage="memory:")

    class Simple(NotingInvoker):
        def submit(self, messages: Any, scope: Any, thread_id: str | None = None) -> None:
            super().submit(messages, scope, thread_id)
            learning.invoke({"messages": messages}, context=Context(user_id=scope.user_id))

    invoker = Simple()
    agent = agent_of(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker, wait_seconds=None)

    modes = ["messages", "updates", "tasks", "checkpoints", "custom"]
    shown = list(agent.stream({"messages": [HumanMessage("Hi!")]}, IN_T1, stream_mode=modes, subgraphs=True))

    assert len(invoker.given) == 1
    assert "pewter" not in repr(shown)


def test_what_waits_in_line_is_handed_over_though_the_agent_went_on() -> None:
    """A slow invoker is a slow invoker, not a reason to forget."""
    release = threading.Event()

    class Slow(NotingInvoker):
        def submit(self, messages: Any, scope: Any, thread_id: str | None = None) -> None:
            release.wait(10)
            super().submit(messages, scope, thread_id)

    invoker: Any = Slow()
    learner = ConversationCapture(invoker, wait_seconds=0.02)
    learner._hands = DaemonExecutor(max_workers=1)
    caller = Identity(ADA, "t1")

    learner.capture(caller, [HumanMessage("One.")])
    asyncio.run(learner.acapture(caller, [HumanMessage("Two.")]))

    assert invoker.given == []
    release.set()
    learner._hands.run(10, lambda: None)
    assert [texts for texts, *_ in invoker.given] == [["One."], ["Two."]]


def test_by_default_learning_is_in_the_background(tmp_path: Any) -> None:
    """With a durable queue, and the model that was named."""
    settings = Settings(outbox=str(tmp_path / "outbox.db"))
    storage = open_storage("memory:")
    model = ScriptedModel(update_answer("Name is Ada."))
    memory = MemoryMiddleware(storage, model=model, settings=settings)
    say(create_agent(AgentModel("Hello!"), middleware=[memory], checkpointer=InMemorySaver()), "I'm Ada.")
    assert memory.invoker is not None

    assert memory.invoker.flush(20)

    memory.invoker.close()
    assert [fact.content for fact in storage.load(ADA).facts] == ["Name is Ada."]


# -- before a summarization -----------------------------------------------------------------------


def summarizing(**options: Any) -> Any:
    return SummarizationMiddleware(ScriptedModel("They talked."), **({"trigger": ("messages", 6)} | options))


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("place", ["before", "after"])
def test_what_a_summary_takes_away_is_learned_from(place: str, *, is_async: bool) -> None:
    """In either order of the middlewares; the history came with the call, so no earlier turn handed it over."""
    invoker = NotingInvoker()
    model = AgentModel("Hello!")
    options: Any = {place: [summarizing(keep=("messages", 2))]}
    agent = agent_of(model, open_storage("memory:"), invoker=invoker, **options)

    state = say(agent, "And now?", history=LONG, is_async=is_async)

    assert len(state["messages"]) == 4  # the summary, the last two, the answer
    before, after = [texts for texts, *_ in invoker.given]
    assert before == [message.text for message in LONG]
    assert after[-2:] == ["And now?", "Hello!"]


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_turn_that_is_taken_away_while_it_runs_is_learned_from(place: str) -> None:
    """A long turn of many tools; a human turn is enough."""
    storage = remembering(SECRET)

    @tool
    def work() -> str:
        """Work, while somebody else changes the memory."""
        remembering("Plays chess.", storage=storage)
        return "worked"

    invoker = NotingInvoker()
    model = AgentModel(calls("work"), calls("work"), calls("work"), "Done.")
    options: Any = {place: [summarizing(keep=("messages", 2))]}
    agent = agent_of(model, storage, invoker=invoker, tools=[work], **options)

    state = say(agent, "I live in Ghent.")

    assert not any(message.text == "I live in Ghent." for message in state["messages"])
    assert invoker.given[0][0][0] == "I live in Ghent."
    assert len(model.systems) == 4
    assert all(SECRET in system for system in model.systems)


def test_each_message_is_handed_over_though_summaries_come_again_and_again() -> None:
    """Over a conversation of many turns."""
    invoker = NotingInvoker()
    agent = agent_of(
        AgentModel("Hello!"), open_storage("memory:"), invoker=invoker, after=[summarizing(keep=("messages", 3))]
    )

    for n in range(12):
        say(agent, f"Fact {n}.")

    handed = {text for texts, *_ in invoker.given for text in texts}
    assert {f"Fact {n}." for n in range(12)} <= handed


def test_nothing_is_learned_twice_because_of_a_summary() -> None:
    """What was learned before it was taken away costs no model."""
    storage = open_storage("memory:")
    learner = ScriptedModel(update_answer())
    with BackgroundInvoker(build_graph(model=learner, storage=storage), outbox="memory:", immediate=True) as invoker:
        agent = agent_of(
            AgentModel("Hello!"),
            storage,
            invoker=invoker,
            wait_seconds=None,
            before=[summarizing(trigger=("messages", 20), keep=("messages", 18))],
        )

        for n in range(14):
            say(agent, f"Fact {n}.")

    assert len(learner.asked) == 14


def test_what_is_deleted_in_a_turn_without_a_summary_is_let_go() -> None:
    """A guard takes it away so that nobody keeps it."""

    class Guard(AgentMiddleware):  # type: ignore[type-arg]
        def before_model(self, state: Any, runtime: Any) -> Any:
            return {"messages": [RemoveMessage(id=m.id) for m in state["messages"] if "swordfish" in m.text]}

    invoker = NotingInvoker()
    agent = agent_of(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker, before=[Guard()])

    say(agent, "Hi!", history=[HumanMessage("My password is swordfish."), AIMessage("I see.")])

    assert len(invoker.given) == 1
    assert "swordfish" not in repr(invoker.given)


def test_what_is_deleted_without_a_summary_is_let_go() -> None:
    """A user who deletes a message does not want it learned."""
    invoker = NotingInvoker()
    agent = agent_of(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker)
    say(agent, "My password is swordfish.")
    invoker.given.clear()
    agent.update_state(IN_T1, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})

    say(agent, "Hi!")

    assert "swordfish" not in repr(invoker.given)
