"""Stores run in threads, report their calls without text, and never stop the agent."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attachment_fakes import FailingStore, FakeStore, RecordingNode, make_graph
from blockbuster import blockbuster_ctx
from langchain_core.messages import HumanMessage
from langgraph.graph import MessagesState

from memgraph.attachments.manager import MemoryManager, attach
from memgraph.attachments.store import SearchQuery, SearchResult
from memgraph.models import Scope
from memgraph.settings import Settings

TEA = {"messages": [HumanMessage("Tea?", id="1")]}


def attached_by_name(node: Any, *, manager: MemoryManager, name: str) -> Any:
    """Attach by name, as a subgraph does."""
    return attach(make_graph(attach(node, manager.attachments[name], name=name)), manager=manager)


def invoke(graph: Any, *, is_async: bool, **configurable: Any) -> Any:
    config = {"configurable": configurable}
    return asyncio.run(graph.ainvoke(TEA, config)) if is_async else graph.invoke(TEA, config)


# -- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_failing_memory_does_not_stop_the_agent(caplog: pytest.LogCaptureFixture, is_async: Any) -> None:
    """A store may raise any error; other memories are read and written all the same."""
    node, notes = RecordingNode(), FakeStore("notes", "Likes tea.")
    graph = make_graph(attach(node.reply, [FailingStore("broken"), notes], name="writer"))

    result = invoke(graph, is_async=is_async)

    assert result["messages"][-1].content == "Noted."
    assert (len(node.contents), len(notes.updates)) == (2, 1)
    failures = [(record.getMessage(), record.exc_info) for record in caplog.records]
    assert [message for message, _ in failures] == [
        "broken at writer (gen): retrieve failed; the agent goes on",
        "broken at writer (gen): update failed; the agent goes on",
    ]
    assert all(raised and raised[0] is ZeroDivisionError for _, raised in failures)


class Unloadable(FakeStore):
    """A store that fails to load the first time."""

    def load(self) -> None:
        super().load()
        if self.calls == ["load"]:
            raise OSError("no such disk")


def test_loading_a_memory_is_retried() -> None:
    """The next use of the memory tries again."""
    node, notes = RecordingNode(), Unloadable("notes", "Likes tea.")
    graph = make_graph(attach(node.reply, [notes]))

    graph.invoke(TEA)
    assert len(node.contents) == 1

    graph.invoke(TEA)

    assert len(node.contents) == 2


@pytest.mark.parametrize("answer", [None, "text", ["text"], [None], 5])
def test_invalid_results_of_a_memory_are_ignored(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Stores of the application may be untyped."""

    class InvalidStore(FakeStore):
        def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
            return answer

    node = RecordingNode()

    make_graph(attach(node.reply, [InvalidStore("invalid")])).invoke(TEA)

    assert len(node.contents) == 1
    assert "retrieve failed" in caplog.text


class SlowStore(FakeStore):
    """A store that returns only after `release` is set."""

    def __init__(self, name: str, *contents: str) -> None:
        super().__init__(name, *contents)
        self.release = threading.Event()

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        self.release.wait()
        return super().retrieve(query, top_k=top_k, threshold=threshold)


@pytest.fixture
def slow() -> Iterator[SlowStore]:
    memory = SlowStore("slow", "Likes tea.")
    yield memory
    memory.release.set()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_hanging_memory_times_out(slow: SlowStore, caplog: pytest.LogCaptureFixture, is_async: Any) -> None:
    """Results of other memories are used."""
    node = RecordingNode()
    manager = MemoryManager([slow, FakeStore("quick", "Likes jam.")], wait_seconds=2)

    invoke(make_graph(attach(node.reply, ["slow", "quick"], manager=manager)), is_async=is_async)

    assert "Likes jam." in node.contents[0]
    assert "slow at reply (gen): retrieve takes longer than 2000 ms; the agent goes on" in caplog.messages


def test_memories_are_searched_concurrently() -> None:
    """Each store here waits for the other, so they could not run one after the other."""
    both = threading.Barrier(2)

    class MeetingStore(FakeStore):
        def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
            both.wait(timeout=60)
            return super().retrieve(query, top_k=top_k, threshold=threshold)

    node = RecordingNode()

    stores = [MeetingStore("one", "Likes tea."), MeetingStore("two", "Likes jam.")]

    make_graph(attach(node.reply, stores)).invoke(TEA)

    assert all(text in node.contents[0] for text in ("Likes tea.", "Likes jam."))


def test_the_event_loop_is_not_blocked() -> None:
    """Stores read disks and call models, so they run in other threads."""
    threads: list[threading.Thread] = []

    class ThreadStore(FakeStore):
        def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
            threads.append(threading.current_thread())
            return ()

    async def node(_: MessagesState) -> None: ...

    asyncio.run(make_graph(attach(node, [ThreadStore("store")])).ainvoke(TEA))

    assert threads != [threading.main_thread()]


@pytest.mark.parametrize("way", [attach, attached_by_name])
def test_nothing_blocks_the_event_loop(tmp_path: Path, way: Callable[..., Any]) -> None:
    """With stores of the package on disk, from the first use, which opens them."""
    settings = Settings(storage_path=str(tmp_path), outbox=str(tmp_path / "outbox.db"), model_name="offline")
    on_disk = {"config": {"memory_path": "auto"}}
    memories = [
        {"name": "notes", "type": "simple", **on_disk},
        {"name": "board", "type": "blackboard", **on_disk},
        {"name": "me", "type": "profile"},
    ]
    manager = MemoryManager(memories, {"writer": ["notes", "board", "me"]}, settings=settings, folder=tmp_path)
    node = RecordingNode("You asked for tea, as far as I can see.")
    graph = make_graph(way(node.reply, manager=manager, name="writer"))

    async def run() -> None:
        with blockbuster_ctx():
            for thread in "ab":
                await graph.ainvoke(TEA, {"configurable": {"user_id": "ada", "thread_id": thread}})

    asyncio.run(run())
    manager.close()

    assert all(f"--- {name} ---" in node.contents[0] for name in ("notes", "board"))


# -- logs and events ------------------------------------------------------------------------------


def test_each_call_is_an_event_of_the_stream_without_text() -> None:
    """Events have the memory, the action, the node, and the duration."""
    graph = make_graph(
        attach(RecordingNode().reply, [FakeStore("notes", "Likes tea."), FailingStore("broken")], stage="plan"),
        name="n",
    )

    events = list(graph.stream(TEA, stream_mode="custom"))

    assert all(event.pop("ms") >= 0 for event in events)
    common = {"node": "reply", "stage": "plan"}
    assert events == [
        {"memory": "notes", "action": "retrieve", "hits": 1, **common},
        {"memory": "broken", "action": "retrieve", "hits": 0, "error": "ZeroDivisionError", **common},
        {"memory": "notes", "action": "update", "hits": 0, **common},
        {"memory": "broken", "action": "update", "hits": 0, "error": "ZeroDivisionError", **common},
    ]


def test_each_call_is_a_line_of_the_log_without_text(caplog: pytest.LogCaptureFixture) -> None:
    """Readers of logs may not be allowed to read memories."""
    caplog.set_level(logging.INFO, "memgraph.attachments")

    attach(RecordingNode().reply, [FakeStore("notes", "Likes tea.")], name="writer")(TEA)

    assert [message.rsplit(",", 1)[0] for message in caplog.messages] == [
        "notes at writer (gen): retrieve, 1 found",
        "notes at writer (gen): update",
    ]


# -- identity ------------------------------------------------------------------------------------


def test_a_run_without_a_user_has_anonymous_memories() -> None:
    """The board of a team does not need a user."""
    notes = FakeStore("notes")

    make_graph(attach(RecordingNode().reply, [notes])).invoke(TEA, {"configurable": {"thread_id": "t"}})

    assert [(exchange.scope, exchange.thread_id) for exchange in notes.updates] == [(None, "t")]


def test_a_user_comes_from_any_context() -> None:
    """As for the middleware."""
    notes = FakeStore("notes")
    graph = make_graph(attach(RecordingNode().reply, [notes]))

    graph.invoke(TEA, context={"user_id": "ada", "agent_name": "tutor"})

    assert notes.queries[0][0].scope == Scope("ada", "tutor")


def test_an_invalid_id_turns_the_memories_off(caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise the exchange would enter the memory of anonymous runs."""
    notes, node = FakeStore("notes"), RecordingNode()

    make_graph(attach(node.reply, [notes])).invoke(TEA, {"configurable": {"user_id": "a\x00b"}})

    assert (len(node.inputs), notes.queries, notes.updates) == (1, [], [])
    assert "IdentityError" in caplog.text


@pytest.mark.parametrize(
    ("settings", "configurable", "queries", "updates"),
    [
        ({}, {}, 1, 1),
        ({"enabled": False}, {}, 0, 0),
        ({}, {"memory_enabled": False}, 0, 0),
        ({"injection_enabled": False}, {}, 0, 1),
        ({}, {"memory_injection_enabled": "off"}, 0, 1),
    ],
)
def test_memory_can_be_turned_off(
    settings: dict[str, bool], configurable: dict[str, Any], queries: int, updates: int
) -> None:
    """For all runs, or for one."""
    notes = FakeStore("notes", "Likes tea.")
    manager = MemoryManager([notes], settings=Settings(**settings))

    invoke(
        make_graph(attach(RecordingNode().reply, ["notes"], manager=manager)),
        is_async=False,
        user_id="ada",
        **configurable,
    )

    assert (len(notes.queries), len(notes.updates)) == (queries, updates)


@pytest.mark.parametrize("user", [{}, {"user_id": "ada"}])
def test_injection_can_be_turned_off_without_a_user(user: dict[str, str]) -> None:
    """With or without a user."""
    notes = FakeStore("notes", "Likes tea.")
    graph = make_graph(attach(RecordingNode().reply, [notes]))

    invoke(graph, is_async=False, memory_injection_enabled=False, **user)
    invoke(graph, is_async=False, memory_enabled=False, **user)

    assert (len(notes.queries), len(notes.updates)) == (0, 1)


def test_a_state_that_cannot_be_read_is_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    """A state may hold anything under `messages`."""
    node, notes = RecordingNode(), FakeStore("notes", "Likes tea.")

    attach(node.reply, [notes])({"messages": [object()]})

    assert (len(node.inputs), notes.queries) == (1, [])
    assert "the node reply runs without its memories" in caplog.text
