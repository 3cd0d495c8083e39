"""Memory that is switched off, missing or broken: the agent answers all the same."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from agent_fakes import IN_T1, SECRET, AgentModel, NotingInvoker, WatchedStorage, agent_of, calls, remembering
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from memgraph import Context, MemoryMiddleware, OutboxError, Settings
from memgraph.errors import ConfigError

GIVEN: Any = {"messages": [HumanMessage("Hi!")]}
NOBODY: Any = {"configurable": {"thread_id": "t1"}}


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
    """By configuration, for an agent, for a call: nothing is loaded, told or learned."""
    model, storage, invoker = AgentModel("Hello!"), WatchedStorage(), NotingInvoker()

    state = agent_of(model, storage, invoker=invoker, **options).invoke(GIVEN, config, context=context)

    assert state["messages"][-1].text == "Hello!"
    assert (model.systems, storage.loads, invoker.given) == ([""], 0, [])


@pytest.mark.parametrize(
    ("options", "config", "context"),
    [
        ({"settings": Settings(injection_enabled=False)}, IN_T1, None),
        ({}, in_t1(memory_injection_enabled=False), None),
        ({}, IN_T1, {"memory_injection_enabled": False}),
        ({"inject": False}, IN_T1, None),
    ],
)
def test_an_agent_may_learn_and_be_told_nothing(options: Any, config: Any, context: Any) -> None:
    """As injection_enabled says."""
    model, invoker = AgentModel("Hello!"), NotingInvoker()

    agent_of(model, remembering(SECRET), invoker=invoker, **options).invoke(GIVEN, config, context=context)

    assert model.systems == [""]
    assert len(invoker.given) == 1


def test_a_flag_that_says_yes_changes_nothing() -> None:
    """Nor does it turn on what configuration turned off."""
    model = AgentModel("Hello!")

    agent_of(model, remembering(SECRET)).invoke(GIVEN, in_t1(memory_enabled=True))

    assert SECRET in model.systems[0]


# -- nobody ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_without_a_user_nothing_is_told_or_learned(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """One line says so, however often a model is asked."""
    model, storage, invoker = AgentModel("Hello!"), WatchedStorage(), NotingInvoker()
    agent = agent_of(model, storage, invoker=invoker)

    state = asyncio.run(agent.ainvoke(GIVEN, NOBODY)) if is_async else agent.invoke(GIVEN, NOBODY)

    assert state["messages"][-1].text == "Hello!"
    assert (storage.loads, invoker.given) == (0, [])
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "user_id" in caplog.text


@pytest.mark.parametrize("user", ["x" * 300, "a\nb"])
def test_an_id_that_may_not_be_used_is_nobody(user: str, caplog: pytest.LogCaptureFixture) -> None:
    """Said in the log."""
    model = AgentModel("Hello!")

    state = agent_of(model, remembering(SECRET)).invoke(GIVEN, in_t1(user_id=user))

    assert state["messages"][-1].text == "Hello!"
    assert "user_id" in caplog.text


def test_a_context_that_cannot_be_read_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its error."""

    class Broken:
        @property
        def user_id(self) -> str:
            raise LookupError("no request here")

    state = agent_of(AgentModel("Hello!"), remembering(SECRET)).invoke(GIVEN, IN_T1, context=Broken())

    assert state["messages"][-1].text == "Hello!"
    assert "no request here" in caplog.text


# -- broken ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_storage_that_fails_costs_nothing(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """It is logged with its error."""
    agent = agent_of(AgentModel("Hello!"), WatchedStorage(breaks=True))

    state = asyncio.run(agent.ainvoke(GIVEN, IN_T1)) if is_async else agent.invoke(GIVEN, IN_T1)

    assert state["messages"][-1].text == "Hello!"
    assert "disk on fire" in caplog.text


@tool
def look_up(query: str) -> str:
    """Look something up."""
    return query


@pytest.mark.parametrize("is_async", [False, True])
def test_a_memory_that_hangs_is_waited_for_once_a_turn(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """And for no longer than was said."""
    storage, model = WatchedStorage(hangs=True), AgentModel(calls("look_up", query="x"), "Hello!")
    agent = agent_of(model, storage, wait_seconds=0.05, tools=[look_up])
    start = time.monotonic()

    state = asyncio.run(agent.ainvoke(GIVEN, IN_T1)) if is_async else agent.invoke(GIVEN, IN_T1)

    assert time.monotonic() - start < 1.5
    assert state["messages"][-1].text == "Hello!"
    assert storage.loads == 1
    assert [record.message for record in caplog.records if "did not answer within 0.05 s" in record.message]
    storage.released.set()


def test_by_default_two_seconds_are_waited() -> None:
    """As is written."""
    agent = MemoryMiddleware("memory:", capture=False)

    assert agent._recollection._wait_seconds == 2.0


def test_memory_that_recovers_is_told_in_the_next_turn() -> None:
    """A turn without memory is no life without."""
    storage, model = WatchedStorage(breaks=True), AgentModel("Hello!")
    remembering(SECRET, storage=storage.inner)
    agent = agent_of(model, storage)
    agent.invoke(GIVEN, IN_T1)
    storage.breaks = False

    agent.invoke(GIVEN, IN_T1)

    assert [SECRET in system for system in model.systems] == [False, True]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_invoker_that_fails_costs_nothing(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """It is logged with its error."""
    agent = agent_of(AgentModel("Hello!"), remembering(SECRET), invoker=NotingInvoker(OutboxError("no room")))

    state = asyncio.run(agent.ainvoke(GIVEN, IN_T1)) if is_async else agent.invoke(GIVEN, IN_T1)

    assert state["messages"][-1].text == "Hello!"
    assert "no room" in caplog.text
    assert caplog.records[0].levelno == logging.ERROR


def test_an_agent_that_fails_raises_its_own_error() -> None:
    """Only memory's failures are memory's to swallow."""
    agent = agent_of(AgentModel(ConnectionError("model is down")), remembering(SECRET))

    with pytest.raises(ConnectionError, match="model is down"):
        agent.invoke(GIVEN, IN_T1)


def test_a_storage_that_there_is_not_is_an_error_at_once() -> None:
    """When the agent is built, not when it first talks."""
    with pytest.raises(ConfigError, match="nosuch"):
        create_agent(AgentModel(""), middleware=[MemoryMiddleware("nosuch:x", capture=False)])
