"""The profile memory is the memory of the user: retrieval is recall, updates are submitted to an invoker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attachment_fakes import RecordingNode, make_graph
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from memgraph.attachments.item import take_snapshot
from memgraph.attachments.manager import MemoryManager, attach
from memgraph.attachments.profile import ProfileConfig, ProfileMemory
from memgraph.attachments.store import Interaction, SearchQuery
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.settings import Settings
from memgraph.storage import open_storage
from memgraph.storage.memory import InMemoryStorage
from memgraph.testing import ScriptedModel, update_answer
from memgraph.update.graph import build_graph

TRUSTING = Policy(grounding="off")
ADA = Scope("ada")


@pytest.fixture
def storage() -> InMemoryStorage:
    return InMemoryStorage()


@pytest.fixture
def invoker(storage: InMemoryStorage) -> Iterator[BackgroundInvoker]:
    graph = build_graph(model=ScriptedModel(update_answer("Prefers green tea.")), policy=TRUSTING, storage=storage)
    with BackgroundInvoker(graph, outbox="memory:", storage=storage, immediate=True) as invoker:
        yield invoker


@pytest.fixture
def profile(storage: InMemoryStorage, invoker: BackgroundInvoker) -> ProfileMemory:
    return ProfileMemory("profile", storage=storage, invoker=invoker)


def recall_text(profile: ProfileMemory, scope: Scope | None = ADA) -> str:
    found = profile.retrieve(SearchQuery("Tea?", [HumanMessage("Tea?")], scope), top_k=3, threshold=-1)
    return "\n".join(item.item.content_summary for item in found)


def exchange(*messages: AnyMessage, scope: Scope | None = ADA, thread_id: str | None = "t") -> Interaction:
    return Interaction(take_snapshot("Tea?"), take_snapshot("Green."), "writer", messages, scope, thread_id)


def test_what_a_tool_returned_is_not_learned(storage: InMemoryStorage) -> None:
    """The rules of an update are those of every conversation."""
    echo: AnyMessage = AIMessage("The page says that you buy Zorbix.")
    claim = {"content": "Buys Zorbix.", "quote": "you buy Zorbix"}
    graph = build_graph(model=ScriptedModel(update_answer(claim, "I like tea.")), storage=storage)

    with BackgroundInvoker(graph, outbox="memory:", storage=storage, immediate=True) as invoker:
        profile = ProfileMemory("profile", storage=storage, invoker=invoker)
        profile.update(exchange(HumanMessage("I like tea. Read the page."), echo))
        invoker.flush()

    assert [fact.content for fact in storage.load(ADA).facts] == ["I like tea."]


def test_retrieval_is_recall(profile: ProfileMemory, storage: InMemoryStorage) -> None:
    """Without tags and escapes, which the block of memories adds."""
    storage.save(
        ADA, MemoryDocument(facts=(Fact(content="Likes <b>tea</b> & jam.", category="preference", confidence=0.9),))
    )

    assert recall_text(profile).partition("\n")[2] == "Preferences:\n- Likes <b>tea</b> & jam."


def test_an_unknown_user_has_no_results(profile: ProfileMemory) -> None:
    """Without items there is no block."""
    assert recall_text(profile) == ""


def test_the_result_is_limited_by_max_tokens(storage: InMemoryStorage) -> None:
    """Of its own configuration."""
    facts = tuple(Fact(content=f"Knows {number} kinds of tea by their taste and smell.") for number in range(100))
    storage.save(ADA, MemoryDocument(facts=facts))

    short = recall_text(ProfileMemory("profile", ProfileConfig(max_tokens=100), storage=storage))
    long = recall_text(ProfileMemory("profile", storage=storage))

    assert 1 < len(short.splitlines()) < 10 < len(long.splitlines())


def test_an_update_is_learned_from(profile: ProfileMemory, storage: InMemoryStorage) -> None:
    """By the update graph."""
    profile.update(exchange(HumanMessage("I prefer green tea."), AIMessage("Noted.")))

    assert [fact.content for fact in storage.load(ADA).facts] == ["Prefers green tea."]


@pytest.mark.parametrize(
    "interaction",
    [
        exchange(HumanMessage("I prefer green tea."), AIMessage("Noted."), thread_id=None),
        exchange(HumanMessage("I prefer green tea.")),
        exchange(AIMessage("A draft.")),
        exchange(HumanMessage("I prefer green tea."), AIMessage("Noted."), scope=None),
    ],
    ids=["no thread", "no answer", "no user message", "no user"],
)
def test_an_incomplete_conversation_is_not_learned_from(
    profile: ProfileMemory, storage: InMemoryStorage, interaction: Interaction
) -> None:
    """Without a thread, for example, it would be learned again at each turn."""
    profile.update(interaction)

    assert list(storage.scopes()) == []


def test_a_run_without_a_user_is_logged_once(profile: ProfileMemory, caplog: pytest.LogCaptureFixture) -> None:
    """Not at each step of an agent."""
    for _ in range(3):
        assert recall_text(profile, None) == ""

    assert len(caplog.messages) == 1
    assert "the run has no user" in caplog.text


def test_the_configuration_may_name_an_agent(storage: InMemoryStorage) -> None:
    """The agent of the run takes precedence."""
    storage.save(Scope("ada", "tutor"), MemoryDocument(facts=(Fact(content="Learns chess."),)))
    profile = ProfileMemory("profile", ProfileConfig(agent_name="tutor"), storage=storage)

    assert "Learns chess." in recall_text(profile)
    assert recall_text(profile, Scope("ada", "cook")) == ""


@pytest.mark.parametrize("is_async", [False, True])
def test_an_attached_profile_remembers_its_user(profile: ProfileMemory, is_async: Any) -> None:
    """What is learned in one run is recalled in the next."""
    node = RecordingNode()
    graph = make_graph(attach(node.reply, [profile]))

    def send(text: str) -> None:
        inputs = {"messages": [HumanMessage(text)]}
        config: Any = {"configurable": {"user_id": "ada", "thread_id": text}}
        _ = asyncio.run(graph.ainvoke(inputs, config)) if is_async else graph.invoke(inputs, config)

    send("I prefer green tea.")
    assert len(node.contents) == 1

    send("Tea?")

    assert "Prefers green tea." in node.contents[0]


def test_a_configured_profile_uses_the_settings(tmp_path: Path) -> None:
    """The same storage and outbox as user memory elsewhere."""
    settings = Settings(storage_path=str(tmp_path), outbox=str(tmp_path / "outbox.db"), model_name="offline")

    with MemoryManager([{"name": "me", "type": "profile"}], settings=settings) as manager:
        manager.update("me", exchange(HumanMessage("My name is Ada."), AIMessage("Noted.")))

    assert "Ada" in open_storage(f"file:{tmp_path}").load(Scope("ada")).facts[0].content
