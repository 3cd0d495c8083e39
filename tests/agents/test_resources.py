"""Agents may be built for each request: what is shared, what is closed, and that nothing leaks."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from agent_fakes import ADA, IN_T1, AgentModel
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from waiting import wait_until

from memgraph import (
    BackgroundInvoker,
    ConfigError,
    MemoryMiddleware,
    MemoryStorage,
    Scope,
    Settings,
    build_graph,
    capture_memory,
    inject_memory,
    memory_tools,
    open_outbox,
    open_storage,
)
from memgraph.background.shared import MAX_IDLE_GROUPS, REGISTRY
from memgraph.testing import ScriptedModel, update_answer

CUSTOM = f"{__name__}.ClosableStorage"


class ClosableStorage(MemoryStorage):
    """Counts how often it is closed."""

    made: ClassVar[list[ClosableStorage]] = []

    def __init__(self, path: str | None = None) -> None:
        del path
        self.inner, self.closes = open_storage("memory:"), 0
        self.made.append(self)

    def load(self, scope: Scope) -> Any:
        return self.inner.load(scope)

    def save(self, scope: Scope, memory: Any) -> Any:
        return self.inner.save(scope, memory)

    def close(self) -> None:
        self.closes += 1


@pytest.fixture(autouse=True)
def _clean_registry() -> Iterator[None]:
    """Start and end without worker groups of other tests."""
    REGISTRY.close_all(60)
    ClosableStorage.made.clear()
    yield
    REGISTRY.close_all(60)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(outbox=str(tmp_path / "outbox.db"), debounce_seconds=0)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/memory.db"


def group_of(middleware: MemoryMiddleware) -> Any:
    assert isinstance(middleware.invoker, BackgroundInvoker)
    return middleware.invoker._group


def workers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("memgraph-")]


def learner(fact: str = "Name is Ada.") -> ScriptedModel:
    return ScriptedModel(update_answer(fact))


def send(middleware: MemoryMiddleware) -> None:
    agent = create_agent(AgentModel("Hello!"), middleware=[middleware])
    agent.invoke({"messages": [HumanMessage("My name is Ada.")]}, IN_T1)


# -- sharing --------------------------------------------------------------------------------------


def test_middlewares_of_equal_configuration_share_workers_and_storage(settings: Settings, url: str) -> None:
    model = learner()
    first = MemoryMiddleware(url, model=model, settings=settings)
    second = MemoryMiddleware(url, model=model, settings=settings)

    assert group_of(first) is group_of(second)
    assert first._resources.storage is second._resources.storage


def test_middlewares_of_different_configuration_have_their_own_workers(settings: Settings, url: str) -> None:
    middlewares = [
        MemoryMiddleware(url, model=learner("a"), settings=settings),
        MemoryMiddleware(url, model=learner("b"), settings=settings),
        MemoryMiddleware(url, model="offline", settings=settings),
        MemoryMiddleware(url, model="offline", settings=settings.model_copy(update={"max_facts": 70})),
        MemoryMiddleware(f"{url}2", model="offline", settings=settings),
    ]

    assert len({id(group_of(each)) for each in middlewares}) == len(middlewares)


def test_a_closed_middleware_stops_no_other(settings: Settings, url: str) -> None:
    model = learner()
    first = MemoryMiddleware(url, model=model, settings=settings)
    second = MemoryMiddleware(url, model=model, settings=settings)
    first.close()
    send(second)

    assert second.invoker is not None
    assert second.invoker.flush(120)
    assert [fact.content for fact in open_storage(url).load(ADA).facts] == ["Name is Ada."]


def test_agents_of_one_outbox_need_the_same_review(settings: Settings, url: str) -> None:
    """Or what one wants reviewed could be learned by the workers of the other without a review."""
    with MemoryMiddleware(url, settings=settings):
        with pytest.raises(ConfigError, match="another graph or other settings"):
            MemoryMiddleware(url, settings=settings.model_copy(update={"review": "always"}))
        with pytest.raises(ConfigError, match="another graph or other settings"):
            BackgroundInvoker(build_graph(storage=url), outbox=settings.outbox)

    MemoryMiddleware(url, settings=settings.model_copy(update={"review": "always"})).close()


# -- dropped without being closed -----------------------------------------------------------------


def test_what_was_submitted_before_an_agent_was_dropped_is_learned(settings: Settings, url: str) -> None:
    """Then its threads end."""
    send(MemoryMiddleware(url, model=learner(), settings=settings))
    gc.collect()

    wait_until(lambda: open_storage(url).load(ADA).facts)
    wait_until(lambda: not workers())


@pytest.mark.parametrize("are_equal", [True, False])
def test_dropped_middlewares_leak_nothing(*, settings: Settings, url: str, are_equal: bool) -> None:
    """Neither threads nor files, nor more than the last few worker groups."""
    dropped = list[weakref.ref[Any]]()
    for n in range(3 * MAX_IDLE_GROUPS):
        model = "offline" if are_equal else learner(f"{n}")
        middleware = MemoryMiddleware(url, model=model, settings=settings, wait_seconds=60)
        dropped += [weakref.ref(middleware), weakref.ref(middleware.invoker)]
        send(middleware)
    del middleware
    gc.collect()
    wait_until(lambda: not workers())

    assert len(REGISTRY) <= (1 if are_equal else MAX_IDLE_GROUPS)
    assert not any(reference() for reference in dropped)
    with open_outbox(settings.outbox) as outbox:
        assert (outbox.pending(now=0), outbox.dead_letters()) == ((), ())
    if Path("/proc/self/fd").exists():
        open_files = [os.path.realpath(path) for path in Path("/proc/self/fd").iterdir()]
        assert len([path for path in open_files if "outbox.db" in path]) <= 6 * MAX_IDLE_GROUPS


def test_dropped_agents_of_an_outbox_leave_one_dispatcher(settings: Settings, url: str) -> None:
    """While conversations are pending, one of them is enough: all run the same jobs."""
    later = settings.model_copy(update={"debounce_seconds": 3_600.0})
    for n in range(10):
        send(MemoryMiddleware(url, model=learner(f"{n}"), settings=later, wait_seconds=60))
    gc.collect()
    MemoryMiddleware(url, model=learner("last"), settings=later)

    wait_until(lambda: workers().count("memgraph-invoker") == 1)
    with open_outbox(settings.outbox) as outbox:
        assert len(outbox.pending(now=0)) == 1


# -- closing --------------------------------------------------------------------------------------


def test_a_storage_is_closed_with_the_last_middleware_that_uses_it(settings: Settings) -> None:
    first, second = MemoryMiddleware(CUSTOM, settings=settings), MemoryMiddleware(CUSTOM, settings=settings)
    shared, unused = ClosableStorage.made
    assert first._resources.storage is second._resources.storage is shared

    first.close()
    assert (shared.closes, unused.closes) == (0, 1)
    second.close()
    assert (shared.closes, unused.closes) == (1, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda storage, settings: MemoryMiddleware(storage, settings=settings),
        lambda storage, settings: MemoryMiddleware(storage, settings=settings, capture=False),
        lambda storage, settings: capture_memory(storage, settings=settings),
        lambda storage, settings: inject_memory(storage, settings=settings),
        lambda storage, settings: memory_tools(storage, settings=settings),
        lambda storage, settings: BackgroundInvoker(storage=storage, settings=settings),
    ],
    ids=["middleware", "reading", "capture_memory", "inject_memory", "memory_tools", "invoker"],
)
def test_close_closes_what_was_opened_but_not_what_was_passed(make: Any, settings: Settings) -> None:
    with make(CUSTOM, settings):
        (opened,) = ClosableStorage.made
        assert opened.closes == 0
    assert opened.closes == 1

    passed = ClosableStorage()
    make(passed, settings).close()
    assert passed.closes == 0


def test_an_invoker_or_outbox_that_was_passed_is_not_closed(settings: Settings, url: str) -> None:
    with BackgroundInvoker(storage=url, settings=settings) as invoker:
        MemoryMiddleware(url, invoker=invoker).close()
        capture_memory(url, invoker=invoker).close()
        assert invoker.pending() == ()

    with open_outbox("memory:") as outbox:
        later = settings.model_copy(update={"debounce_seconds": 3_600.0})
        with BackgroundInvoker(storage=url, outbox=outbox, settings=later) as first:
            first.submit([HumanMessage("My name is Ada.")], ADA, "t1")
            first.close(wait=False)
        assert len(outbox.pending(now=0)) == 1


def test_nodes_keep_their_names_in_a_graph(settings: Settings, url: str) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node(inject_memory(url))
    builder.add_node(capture_memory(url, settings=settings))
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "capture_memory")

    assert set(builder.compile().nodes) == {"__start__", "inject_memory", "capture_memory"}
