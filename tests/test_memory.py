"""Memory: the object that an application opens."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage

from memgraph import Context, MemgraphError, Memory, Settings, UserContext, open_storage
from memgraph.testing import ScriptedModel

THREAD = {"configurable": {"thread_id": "t1"}}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory that learns offline, at the first demand."""
    settings = Settings(debounce_seconds=3_600, max_wait_seconds=3_600, outbox=f"sqlite:{tmp_path}/outbox.db")
    return Memory(f"file:{tmp_path}/memory", model="offline", settings=settings)


class SlowEmbeddings(Embeddings):
    """Its call for a text about Lisbon waits until it is released."""

    def __init__(self) -> None:
        self.called, self.released = threading.Event(), threading.Event()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        if any("Lisbon" in text for text in texts):
            self.called.set()
            self.released.wait(60)
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.embed_documents([text])[0]


def ask(memory: Memory, text: str, user_id: str = "ada", **options: bool) -> ScriptedModel:
    """Run an agent with the memory's middleware once, and return its model."""
    model = ScriptedModel("Fine.")
    agent = create_agent(model, middleware=[memory.middleware(**options)], context_schema=UserContext)
    agent.invoke({"messages": text}, THREAD, context=UserContext(user_id=user_id))
    return model


@pytest.mark.parametrize("storage", ["sqlite:memory.db", "memory:"])
def test_a_closed_memory_refuses_what_needs_its_storage(
    storage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = Memory(storage, settings=Settings(model_name="offline", outbox="memory:"))
    client = memory.client("ada")
    memory.close()
    memory.close()

    for call in (client.facts, client.users, lambda: client.add("I like tea."), memory.middleware, memory.recall_graph):
        with pytest.raises(MemgraphError, match=r"this memory is closed: .* open another one"):
            call()


def test_what_is_said_to_an_agent_is_known_to_the_client_of_its_user(memory: Memory) -> None:
    with memory:
        ask(memory, "I'm allergic to penicillin.")

        assert "penicillin" in memory.client("ada").context("What may I take?")
        assert memory.client("bob").context("What may I take?") == ""


def test_what_was_learned_is_injected_for_its_user_alone(memory: Memory) -> None:
    with memory:
        memory.client("ada").add("I live in Lisbon.")

        assert "Lisbon" in ask(memory, "Where do I live?").asked[0][0].text
        assert "Lisbon" not in ask(memory, "Where do I live?", "bob").asked[0][0].text


def test_a_middleware_brings_the_tools_on_request(memory: Memory) -> None:
    with memory:
        assert [tool.name for tool in memory.middleware(tools=True).tools] == [tool.name for tool in memory.tools()]
        assert list(memory.middleware().tools) == []


def test_closing_a_client_does_not_close_the_memory(memory: Memory) -> None:
    with memory:
        memory.client("ada").close()

        memory.client("ada").add("I live in Lisbon.")

        assert memory.client("ada").facts()


def test_closing_learns_from_what_an_agent_has_heard(memory: Memory) -> None:
    with memory:
        ask(memory, "I live in Lisbon.")

    with open_storage(memory.storage.name) as storage:
        assert [fact.content for scope in storage.scopes() for fact in storage.load(scope).facts] == [
            "Lives in Lisbon."
        ]


def test_closing_without_waiting_does_not_wait_for_the_embedding_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a model takes for its batch."""
    monkeypatch.setattr("memgraph.retrieval.embeddings.CLOSE_SECONDS", 60)
    embeddings = SlowEmbeddings()
    settings = Settings(outbox=f"sqlite:{tmp_path}/outbox.db")
    memory = Memory(f"file:{tmp_path}/memory", model="offline", settings=settings, embeddings=embeddings)
    memory.client("ada").remember("Lives in Lisbon.")
    memory.client("ada").context("Where do I live?")
    assert embeddings.called.wait(60)
    closing = threading.Thread(target=lambda: memory.close(wait=False), daemon=True)

    closing.start()
    closing.join(20)

    assert not closing.is_alive()
    embeddings.released.set()


def test_without_a_named_model_an_agents_own_model_learns(tmp_path: Path) -> None:
    model = ScriptedModel("Fine.", '{"newFacts": [{"content": "Lives in Lisbon.", "quote": "I live in Lisbon."}]}')
    settings = Settings(outbox=f"sqlite:{tmp_path}/outbox.db")
    with Memory(f"file:{tmp_path}/memory", settings=settings) as memory:
        agent = create_agent(model, middleware=[memory.middleware()], context_schema=UserContext)
        agent.invoke({"messages": "I live in Lisbon."}, THREAD, context=UserContext(user_id="ada"))

        memory.client("ada").flush()

        assert len(model.asked) == 2


def test_its_graphs_learn_and_recall_on_its_storage(memory: Memory) -> None:
    with memory:
        context, said = Context(user_id="ada", thread_id="t1"), HumanMessage("I live in Lisbon.", id="m1")

        memory.update_graph().invoke({"messages": [said]}, context=context)

        question = {"messages": [HumanMessage("Where do I live?")]}
        assert "Lisbon" in memory.recall_graph().invoke(question, context=context)["recalled"].text
        assert memory.upkeep_graph().invoke({}, context=context)["outcome"]


def test_it_works_in_an_event_loop(memory: Memory) -> None:
    async def main() -> str:
        async with memory:
            client = memory.async_client("ada")
            await client.add("I live in Lisbon.")
            return await client.context("Where do I live?")

    assert "Lisbon" in asyncio.run(main())
