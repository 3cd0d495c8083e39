"""Several agents of one application: under a supervisor, and as a swarm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import Memory, Settings, UserContext
from memgraph.testing import ScriptedModel

ADA = UserContext(user_id="ada")
SAID = "I moved to Ghent. Suggest a snack."


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory("memory:", model="offline", settings=Settings(model_name="offline", outbox="memory:")) as opened:
        opened.client("ada").remember("Is allergic to peanuts.")
        yield opened


def hands_over_to(name: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": f"transfer_to_{name}", "args": {}, "id": "call_1"}])


def agent(memory: Memory, name: str, model: ScriptedModel, *tools: Any) -> Any:
    return create_agent(model, tools=[*tools], name=name, middleware=[memory.middleware()], context_schema=UserContext)


def invoke(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage(SAID, id="m1")]}, {"configurable": {"thread_id": "t1"}}, context=ADA)


def knows(model: ScriptedModel) -> list[bool]:
    return [any("peanuts" in message.text for message in asked) for asked in model.asked]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own imports
def test_an_agent_under_a_supervisor_knows_and_learns_what_the_user_said_once(memory: Memory) -> None:
    supervisor: Any = pytest.importorskip("langgraph_supervisor")
    model = ScriptedModel("A fruit salad.")
    cook, head = agent(memory, "cook", model), ScriptedModel(hands_over_to("cook"), "A fruit salad it is.")

    invoke(supervisor.create_supervisor([cook], model=head, context_schema=UserContext).compile())

    assert knows(model) == [True]
    assert [episode.text for episode in memory.client("ada").episodes()] == [SAID]


def test_the_agents_of_a_swarm_share_what_they_know_and_learn_it_once(memory: Memory) -> None:
    swarm: Any = pytest.importorskip("langgraph_swarm")
    models = ScriptedModel(hands_over_to("bob")), ScriptedModel("A fruit salad.")
    alice = agent(memory, "alice", models[0], swarm.create_handoff_tool(agent_name="bob"))
    bob = agent(memory, "bob", models[1], swarm.create_handoff_tool(agent_name="alice"))

    invoke(swarm.create_swarm([alice, bob], default_active_agent="alice", context_schema=UserContext).compile())

    assert [*map(knows, models)] == [[True], [True]]
    assert [episode.text for episode in memory.client("ada").episodes()] == [SAID]
