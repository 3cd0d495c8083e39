"""The profile memory is the memory of users: reading is recall, writing is handing over to be learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attachment_fakes import Node, graph_of
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from memgraph.attachments.attach import attach
from memgraph.attachments.item import take_snapshot
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.profile import ProfileConfig, ProfileMemory
from memgraph.attachments.store import Interaction, SearchQuery
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.graph import build_graph
from memgraph.models import Fact, Memory, Scope
from memgraph.settings import Settings
from memgraph.storage.memory import InMemoryStorage
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")


@pytest.fixture
def storage() -> InMemoryStorage:
    return InMemoryStorage()


@pytest.fixture
def invoker(storage: InMemoryStorage) -> Iterator[BackgroundInvoker]:
    graph = build_graph(model=ScriptedModel(update_answer("Prefers green tea.")), storage=storage)
    with BackgroundInvoker(graph, outbox="memory:", storage=storage, immediate=True) as made:
        yield made


@pytest.fixture
def profile(storage: InMemoryStorage, invoker: BackgroundInvoker) -> ProfileMemory:
    return ProfileMemory("profile", storage=storage, invoker=invoker)


def told(profile: ProfileMemory, scope: Scope | None = ADA) -> str:
    found = profile.retrieve(SearchQuery("Tea?", [HumanMessage("Tea?")], scope), top_k=3, threshold=-1)
    return "\n".join(item.item.content_summary for item in found)


def exchange(*messages: AnyMessage, scope: Scope | None = ADA, thread_id: str | None = "t") -> Interaction:
    return Interaction(take_snapshot("Tea?"), take_snapshot("Green."), "writer", messages, scope, thread_id)


def test_reading_is_recall(profile: ProfileMemory, storage: InMemoryStorage) -> None:
    """Without its tags, which the block around it replaces, and without their escapes, which the block makes."""
    storage.save(ADA, Memory(facts=(Fact(content="Likes <b>tea</b> & jam.", category="preference", confidence=0.9),)))

    assert told(profile) == "Facts:\n- [preference | 0.90] Likes <b>tea</b> & jam."


def test_who_is_not_known_is_told_nothing(profile: ProfileMemory) -> None:
    """No item, so that there is no block."""
    assert told(profile) == ""


def test_what_is_told_fits_its_tokens(storage: InMemoryStorage) -> None:
    """As much as its own configuration says."""
    facts = tuple(Fact(content=f"Knows {number} kinds of tea by their taste and smell.") for number in range(100))
    storage.save(ADA, Memory(facts=facts))

    short = told(ProfileMemory("profile", ProfileConfig(max_tokens=100), storage=storage))
    long = told(ProfileMemory("profile", storage=storage))

    assert 1 < len(short.splitlines()) < 10 < len(long.splitlines())


def test_writing_is_handing_over(profile: ProfileMemory, storage: InMemoryStorage) -> None:
    """The update graph learns, by its own rules."""
    profile.update(exchange(HumanMessage("I prefer green tea."), AIMessage("Noted.")))

    assert [fact.content for fact in storage.load(ADA).facts] == ["Prefers green tea."]


@pytest.mark.parametrize(
    "given",
    [
        exchange(HumanMessage("I prefer green tea."), AIMessage("Noted."), thread_id=None),
        exchange(HumanMessage("I prefer green tea.")),
        exchange(AIMessage("A draft.")),
        exchange(HumanMessage("I prefer green tea."), AIMessage("Noted."), scope=None),
    ],
    ids=["no thread", "no answer", "no user message", "no user"],
)
def test_what_is_no_conversation_of_a_user_is_not_learned_from(
    profile: ProfileMemory, storage: InMemoryStorage, given: Interaction
) -> None:
    """Without a thread it would be learned again at each turn."""
    profile.update(given)

    assert list(storage.scopes()) == []


def test_a_run_without_a_user_is_told_of_once(profile: ProfileMemory, caplog: pytest.LogCaptureFixture) -> None:
    """Not at each step of an agent."""
    for _ in range(3):
        assert told(profile, None) == ""

    assert len(caplog.messages) == 1
    assert "the run has no user" in caplog.text


def test_an_agent_has_a_memory_of_its_own_where_it_is_named(storage: InMemoryStorage) -> None:
    """By the configuration, unless the run says another."""
    storage.save(Scope("ada", "tutor"), Memory(facts=(Fact(content="Learns chess."),)))
    profile = ProfileMemory("profile", ProfileConfig(agent_name="tutor"), storage=storage)

    assert "Learns chess." in told(profile)
    assert told(profile, Scope("ada", "cook")) == ""


@pytest.mark.parametrize("is_async", [False, True])
def test_an_attached_profile_remembers_its_user(profile: ProfileMemory, is_async: Any) -> None:
    """What was said in one run is told in the next."""
    node = Node()
    graph = graph_of(attach(node.answered, [profile]))

    def say(text: str) -> None:
        given = {"messages": [HumanMessage(text)]}
        config: Any = {"configurable": {"user_id": "ada", "thread_id": text}}
        _ = asyncio.run(graph.ainvoke(given, config)) if is_async else graph.invoke(given, config)

    say("I prefer green tea.")
    assert len(node.contents) == 1

    say("Tea?")

    assert "Prefers green tea." in node.contents[0]


def test_configured_it_uses_what_the_settings_say(tmp_path: Path) -> None:
    """One storage and one outbox for all who remember users."""
    settings = Settings(storage_path=str(tmp_path), outbox=str(tmp_path / "outbox.db"), model_name="offline")

    with MemoryManager([{"name": "me", "type": "profile"}], settings=settings) as manager:
        manager.update("me", exchange(HumanMessage("My name is Ada."), AIMessage("Noted.")))

    with BackgroundInvoker(settings=settings) as invoker:
        assert len(invoker.pending()) == 1
