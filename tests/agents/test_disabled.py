"""The agent answers even if memory is turned off, has no user, or fails."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from agent_fakes import IN_T1, SECRET, AgentModel, CountingStorage, RecordingInvoker, calls, make_agent, storage_with
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from memgraph import Context, MemoryMiddleware, OutboxError, Settings
from memgraph.errors import ConfigError

INPUTS: Any = {"messages": [HumanMessage("Hi!")]}
NO_USER: Any = {"configurable": {"thread_id": "t1"}}


def in_t1(**flags: Any) -> Any:
    return {"configurable": {"thread_id": "t1", "user_id": "ada", **flags}}


# -- switched off ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "config", "context"),
    [
        ({"settings": Settings(enabled=False)}, IN_T1, None),
        ({}, in_t1(memory_enabled=False), None),
        ({}, in_t1(memory_enabled="false"), None),
        ({}, IN_T1, {"memory_enabled": False}),
        ({}, IN_T1, Context(enabled=False)),
        ({"inject": False, "capture": False}, IN_T1, None),
    ],
)
def test_memory_that_is_off_does_nothing(options: Any, config: Any, context: Any) -> None:
    """By configuration, for an agent, for a run: nothing is loaded, injected or learned."""
    model, storage, invoker = AgentModel("Hello!"), CountingStorage(), RecordingInvoker()

    state = make_agent(model, storage, invoker=invoker, **options).invoke(INPUTS, config, context=context)

    assert state["messages"][-1].text == "Hello!"
    assert (model.systems, storage.loads, invoker.submitted) == ([""], 0, [])


@pytest.mark.parametrize(
    ("options", "config", "context"),
    [
        ({"settings": Settings(injection_enabled=False)}, IN_T1, None),
        ({}, in_t1(memory_injection_enabled=False), None),
        ({}, IN_T1, {"memory_injection_enabled": False}),
        ({"inject": False}, IN_T1, None),
    ],
)
def test_an_agent_may_learn_without_injection(options: Any, config: Any, context: Any) -> None:
    """If injection is turned off."""
    model, invoker = AgentModel("Hello!"), RecordingInvoker()

    make_agent(model, storage_with(SECRET), invoker=invoker, **options).invoke(INPUTS, config, context=context)

    assert model.systems == [""]
    assert len(invoker.submitted) == 1


def test_a_true_flag_changes_nothing() -> None:
    """Memory is on by default."""
    model = AgentModel("Hello!")

    make_agent(model, storage_with(SECRET)).invoke(INPUTS, in_t1(memory_enabled=True))

    assert SECRET in model.systems[0]


# -- no user -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_without_a_user_nothing_is_injected_or_learned(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """One line is logged, however many model calls there are."""
    model, storage, invoker = AgentModel("Hello!"), CountingStorage(), RecordingInvoker()
    agent = make_agent(model, storage, invoker=invoker)

    state = asyncio.run(agent.ainvoke(INPUTS, NO_USER)) if is_async else agent.invoke(INPUTS, NO_USER)

    assert state["messages"][-1].text == "Hello!"
    assert (storage.loads, invoker.submitted) == (0, [])
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "user_id" in caplog.text


@pytest.mark.parametrize("user", ["x" * 300, "a\nb"])
def test_an_invalid_user_id_turns_memory_off(user: str, caplog: pytest.LogCaptureFixture) -> None:
    """The log names the id."""
    model = AgentModel("Hello!")

    state = make_agent(model, storage_with(SECRET)).invoke(INPUTS, in_t1(user_id=user))

    assert state["messages"][-1].text == "Hello!"
    assert "user_id" in caplog.text


def test_a_context_that_cannot_be_read_does_not_stop_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its error."""

    class Broken:
        @property
        def user_id(self) -> str:
            raise LookupError("no request here")

    state = make_agent(AgentModel("Hello!"), storage_with(SECRET)).invoke(INPUTS, IN_T1, context=Broken())

    assert state["messages"][-1].text == "Hello!"
    assert "no request here" in caplog.text


# -- failing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_failing_storage_does_not_stop_the_agent(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """It is logged with its error."""
    agent = make_agent(AgentModel("Hello!"), CountingStorage(breaks=True))

    state = asyncio.run(agent.ainvoke(INPUTS, IN_T1)) if is_async else agent.invoke(INPUTS, IN_T1)

    assert state["messages"][-1].text == "Hello!"
    assert "disk on fire" in caplog.text


@tool
def look_up(query: str) -> str:
    """Look something up."""
    return query


@pytest.mark.parametrize("is_async", [False, True])
def test_a_hanging_memory_delays_a_turn_only_once(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """And for no longer than `wait_seconds`."""
    storage, model = CountingStorage(hangs=True), AgentModel(calls("look_up", query="x"), "Hello!")
    agent = make_agent(model, storage, wait_seconds=0.05, tools=[look_up])
    start = time.monotonic()

    state = asyncio.run(agent.ainvoke(INPUTS, IN_T1)) if is_async else agent.invoke(INPUTS, IN_T1)

    assert time.monotonic() - start < 60  # the storage hangs for 120 s
    assert state["messages"][-1].text == "Hello!"
    assert storage.loads == 1
    assert [record.message for record in caplog.records if "did not answer within 0.05 s" in record.message]
    storage.released.set()


def test_the_default_timeout_is_two_seconds() -> None:
    """As documented."""
    agent = MemoryMiddleware("memory:", capture=False)

    assert agent._injector._wait_seconds == 2.0


def test_a_memory_that_recovers_is_injected_in_the_next_turn() -> None:
    """A failure affects one turn only."""
    storage, model = CountingStorage(breaks=True), AgentModel("Hello!")
    storage_with(SECRET, storage=storage.inner)
    agent = make_agent(model, storage)
    agent.invoke(INPUTS, IN_T1)
    storage.breaks = False

    agent.invoke(INPUTS, IN_T1)

    assert [SECRET in system for system in model.systems] == [False, True]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_failing_invoker_does_not_stop_the_agent(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """It is logged with its error."""
    agent = make_agent(AgentModel("Hello!"), storage_with(SECRET), invoker=RecordingInvoker(OutboxError("no room")))

    state = asyncio.run(agent.ainvoke(INPUTS, IN_T1)) if is_async else agent.invoke(INPUTS, IN_T1)

    assert state["messages"][-1].text == "Hello!"
    assert "no room" in caplog.text
    assert caplog.records[0].levelno == logging.ERROR


def test_an_agent_that_fails_raises_its_own_error() -> None:
    """Only failures of memory are suppressed."""
    agent = make_agent(AgentModel(ConnectionError("model is down")), storage_with(SECRET))

    with pytest.raises(ConnectionError, match="model is down"):
        agent.invoke(INPUTS, IN_T1)


def test_an_unknown_storage_is_an_error_at_once() -> None:
    """When the agent is built, not at its first run."""
    with pytest.raises(ConfigError, match="nosuch"):
        create_agent(AgentModel(""), middleware=[MemoryMiddleware("nosuch:x", capture=False)])
