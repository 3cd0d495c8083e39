"""A memory is called beside the agent, tells what it did without telling what was said, and costs no answer."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attachment_fakes import Broken, Node, Notes, graph_of
from blockbuster import blockbuster_ctx
from langchain_core.messages import HumanMessage
from langgraph.graph import MessagesState

from memgraph.attachments.attach import attach
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.store import SearchQuery, SearchResult
from memgraph.models import Scope
from memgraph.settings import Settings

TEA = {"messages": [HumanMessage("Tea?", id="1")]}


def attached_by_name(node: Any, *, manager: MemoryManager, name: str) -> Any:
    """What a subgraph does."""
    return attach(graph_of(attach(node, manager.attachments[name], name=name)), manager=manager)


def invoke(graph: Any, *, is_async: bool, **configurable: Any) -> Any:
    config = {"configurable": configurable}
    return asyncio.run(graph.ainvoke(TEA, config)) if is_async else graph.invoke(TEA, config)


# -- memories that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_memory_that_fails_costs_the_agent_nothing(caplog: pytest.LogCaptureFixture, is_async: Any) -> None:
    """It may be anybody's class, and raise anything; the others are told and fed all the same."""
    node, notes = Node(), Notes("notes", "Likes tea.")
    graph = graph_of(attach(node.answered, [Broken("broken"), notes], name="writer"))

    result = invoke(graph, is_async=is_async)

    assert result["messages"][-1].content == "Noted."
    assert (len(node.contents), len(notes.kept)) == (2, 1)
    failures = [(record.getMessage(), record.exc_info) for record in caplog.records]
    assert [message for message, _ in failures] == [
        "broken at writer (gen): retrieve failed; the agent goes on",
        "broken at writer (gen): update failed; the agent goes on",
    ]
    assert all(raised and raised[0] is ZeroDivisionError for _, raised in failures)


class Unloadable(Notes):
    """One that can be loaded only the second time."""

    def load(self) -> None:
        super().load()
        if self.done == ["load"]:
            raise OSError("no such disk")


def test_a_memory_that_cannot_be_loaded_is_tried_again() -> None:
    """A disk may come back."""
    node, notes = Node(), Unloadable("notes", "Likes tea.")
    graph = graph_of(attach(node.answered, [notes]))

    graph.invoke(TEA)
    assert len(node.contents) == 1

    graph.invoke(TEA)

    assert len(node.contents) == 2


@pytest.mark.parametrize("answer", [None, "text", ["text"], [None], 5])
def test_a_memory_that_answers_nonsense_is_left_out(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Its type says what it answers, and nobody checked."""

    class Odd(Notes):
        def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
            return answer

    node = Node()

    graph_of(attach(node.answered, [Odd("odd")])).invoke(TEA)

    assert len(node.contents) == 1
    assert "retrieve failed" in caplog.text


class Slow(Notes):
    """One that answers when it may."""

    def __init__(self, name: str, *contents: str) -> None:
        super().__init__(name, *contents)
        self.may = threading.Event()

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        self.may.wait()
        return super().retrieve(query, top_k=top_k, threshold=threshold)


@pytest.fixture
def slow() -> Iterator[Slow]:
    memory = Slow("slow", "Likes tea.")
    yield memory
    memory.may.set()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_memory_that_hangs_is_not_waited_for(slow: Slow, caplog: pytest.LogCaptureFixture, is_async: Any) -> None:
    """What another one found is told."""
    node = Node()
    manager = MemoryManager([slow, Notes("quick", "Likes jam.")], wait_seconds=0.3)

    invoke(graph_of(attach(node.answered, ["slow", "quick"], manager=manager)), is_async=is_async)

    assert "Likes jam." in node.contents[0]
    assert "slow at answered (gen): retrieve takes longer than 300 ms; the agent goes on" in caplog.messages


def test_memories_are_asked_at_the_same_time() -> None:
    """The slowest of them is waited for, not all of them in a row; each waits here until the other is asked."""
    both = threading.Barrier(2)

    class Meeting(Notes):
        def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
            both.wait(timeout=5)
            return super().retrieve(query, top_k=top_k, threshold=threshold)

    node = Node()

    graph_of(attach(node.answered, [Meeting("one", "Likes tea."), Meeting("two", "Likes jam.")])).invoke(TEA)

    assert all(text in node.contents[0] for text in ("Likes tea.", "Likes jam."))


def test_the_event_loop_is_not_blocked() -> None:
    """A memory reads a disk, or waits for an embedding; in another thread, so that other runs go on."""
    threads: list[threading.Thread] = []

    class Watched(Notes):
        def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
            threads.append(threading.current_thread())
            return ()

    async def node(_: MessagesState) -> None: ...

    asyncio.run(graph_of(attach(node, [Watched("watched")])).ainvoke(TEA))

    assert threads != [threading.main_thread()]


@pytest.mark.parametrize("way", [attach, attached_by_name])
def test_nothing_blocks_the_event_loop(tmp_path: Path, way: Callable[..., Any]) -> None:
    """With memories of the package, on a disk; from the first use on, which opens them."""
    settings = Settings(storage_path=str(tmp_path), outbox=str(tmp_path / "outbox.db"), model_name="offline")
    on_disk = {"config": {"memory_path": "auto"}}
    memories = [
        {"name": "notes", "type": "simple", **on_disk},
        {"name": "board", "type": "blackboard", **on_disk},
        {"name": "me", "type": "profile"},
    ]
    manager = MemoryManager(memories, {"writer": ["notes", "board", "me"]}, settings=settings, folder=tmp_path)
    node = Node("You asked for tea, as far as I can see.")
    graph = graph_of(way(node.answered, manager=manager, name="writer"))

    async def run() -> None:
        with blockbuster_ctx():
            for thread in "ab":
                await graph.ainvoke(TEA, {"configurable": {"user_id": "ada", "thread_id": thread}})

    asyncio.run(run())
    manager.close()

    assert all(f"--- {name} ---" in node.contents[0] for name in ("notes", "board"))


# -- what is told of them -------------------------------------------------------------------------


def test_each_call_is_an_event_of_the_stream_without_text() -> None:
    """Whoever watches sees which memory did what, where, and how long it took."""
    graph = graph_of(attach(Node().answered, [Notes("notes", "Likes tea."), Broken("broken")], stage="plan"), name="n")

    events = list(graph.stream(TEA, stream_mode="custom"))

    assert all(event.pop("ms") >= 0 for event in events)
    common = {"node": "answered", "stage": "plan"}
    assert events == [
        {"memory": "notes", "action": "retrieve", "hits": 1, **common},
        {"memory": "broken", "action": "retrieve", "hits": 0, "error": "ZeroDivisionError", **common},
        {"memory": "notes", "action": "update", "hits": 0, **common},
        {"memory": "broken", "action": "update", "hits": 0, "error": "ZeroDivisionError", **common},
    ]


def test_each_call_is_a_line_of_the_log_without_text(caplog: pytest.LogCaptureFixture) -> None:
    """A log is read by people who may not read memories."""
    caplog.set_level(logging.INFO, "memgraph.attachments")

    attach(Node().answered, [Notes("notes", "Likes tea.")], name="writer")(TEA)

    assert [message.rsplit(",", 1)[0] for message in caplog.messages] == [
        "notes at writer (gen): retrieve, 1 found",
        "notes at writer (gen): update",
    ]


# -- whose they are -------------------------------------------------------------------------------


def test_a_run_without_a_user_has_memories_of_nobody() -> None:
    """A team's board needs no user."""
    notes = Notes("notes")

    graph_of(attach(Node().answered, [notes])).invoke(TEA, {"configurable": {"thread_id": "t"}})

    assert [(kept.scope, kept.thread_id) for kept in notes.kept] == [(None, "t")]


def test_a_user_comes_from_any_context() -> None:
    """As everywhere in agents."""
    notes = Notes("notes")
    graph = graph_of(attach(Node().answered, [notes]))

    graph.invoke(TEA, context={"user_id": "ada", "agent_name": "tutor"})

    assert notes.asked[0][0].scope == Scope("ada", "tutor")


def test_an_id_that_may_not_be_is_nobodys_either(caplog: pytest.LogCaptureFixture) -> None:
    """Else what one user says would go where all users without an id are."""
    notes, node = Notes("notes"), Node()

    graph_of(attach(node.answered, [notes])).invoke(TEA, {"configurable": {"user_id": "a\x00b"}})

    assert (len(node.given), notes.asked, notes.kept) == (1, [], [])
    assert "IdentityError" in caplog.text


@pytest.mark.parametrize(
    ("settings", "configurable", "asked", "kept"),
    [
        ({}, {}, 1, 1),
        ({"enabled": False}, {}, 0, 0),
        ({}, {"memory_enabled": False}, 0, 0),
        ({"injection_enabled": False}, {}, 0, 1),
        ({}, {"memory_injection_enabled": "off"}, 0, 1),
    ],
)
def test_what_is_switched_off_is_off_here_too(
    settings: dict[str, bool], configurable: dict[str, Any], asked: int, kept: int
) -> None:
    """For all runs, or for one."""
    notes = Notes("notes", "Likes tea.")
    manager = MemoryManager([notes], settings=Settings(**settings))

    invoke(graph_of(attach(Node().answered, ["notes"], manager=manager)), is_async=False, user_id="ada", **configurable)

    assert (len(notes.asked), len(notes.kept)) == (asked, kept)


@pytest.mark.parametrize("user", [{}, {"user_id": "ada"}])
def test_injection_may_be_switched_off_for_nobody_too(user: dict[str, str]) -> None:
    """It needs no user to be said."""
    notes = Notes("notes", "Likes tea.")
    graph = graph_of(attach(Node().answered, [notes]))

    invoke(graph, is_async=False, memory_injection_enabled=False, **user)
    invoke(graph, is_async=False, memory_enabled=False, **user)

    assert (len(notes.asked), len(notes.kept)) == (0, 1)


def test_a_state_that_cannot_be_read_goes_on_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """A node may keep anything under `messages`."""
    node, notes = Node(), Notes("notes", "Likes tea.")

    attach(node.answered, [notes])({"messages": [object()]})

    assert (len(node.given), notes.asked) == (1, [])
    assert "the node answered runs without its memories" in caplog.text
