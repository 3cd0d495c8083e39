"""Memory learns with the agent's own model, unless another one is named."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import ADA, IN_T1, AgentModel
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage

from memgraph import BackgroundInvoker, MemoryMiddleware, MemoryStorage, Settings, open_outbox
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages
from memgraph.background.shared import REGISTRY
from memgraph.config import providers
from memgraph.testing import ScriptedModel, update_answer

DUE = DebouncePolicy(0, 0)


@pytest.fixture(autouse=True)
def _clean_registry() -> Iterator[None]:
    """Start and end without worker groups of other tests."""
    REGISTRY.close_all(60)
    yield
    REGISTRY.close_all(60)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    outbox = str(tmp_path / "outbox.db")
    return Settings(outbox=outbox, debounce_seconds=3_600, max_wait_seconds=3_600, grounding="off")


def agent_model(fact: str) -> AgentModel:
    """A model that says hello to a user, and finds *fact* in each conversation that it is to learn from."""

    def answer(prompt: Sequence[BaseMessage]) -> str:
        return update_answer(fact) if "<conversation>" in prompt[-1].text else "Hello!"

    return AgentModel(answer)


def send(middleware: MemoryMiddleware, model: AgentModel, *, is_async: bool = False) -> None:
    agent = create_agent(model, middleware=[middleware])
    inputs: Any = {"messages": [HumanMessage("My name is Ada.")]}
    if is_async:
        asyncio.run(agent.ainvoke(inputs, IN_T1))
    else:
        agent.invoke(inputs, IN_T1)


def flush(middleware: MemoryMiddleware) -> None:
    assert isinstance(middleware.invoker, BackgroundInvoker)
    assert middleware.invoker.flush(120)


def known(storage: MemoryStorage) -> list[str]:
    return [fact.content for fact in storage.load(ADA).facts]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_model_of_the_agent_learns(settings: Settings, storage: MemoryStorage, *, is_async: bool) -> None:
    """Whoever built an agent has chosen a model; no key in the environment is needed for another one."""
    memory = MemoryMiddleware(storage, settings=settings, wait_seconds=60)

    send(memory, agent_model("Found by the agent's own."), is_async=is_async)
    flush(memory)

    assert known(storage) == ["Found by the agent's own."]


def test_a_model_that_was_passed_learns_instead(settings: Settings, storage: MemoryStorage) -> None:
    """For example a cheaper one."""
    memory = MemoryMiddleware(
        storage, model=ScriptedModel(update_answer("Found by another.")), settings=settings, wait_seconds=60
    )

    send(memory, agent_model("Found by the agent's own."))
    flush(memory)

    assert known(storage) == ["Found by another."]


def test_a_model_in_the_settings_learns_instead(settings: Settings, storage: MemoryStorage) -> None:
    """What is configured is not overruled by code that names nothing."""
    own = agent_model("Found by the agent's own.")
    memory = MemoryMiddleware(storage, settings=settings.model_copy(update={"model_name": "offline"}), wait_seconds=60)

    send(memory, own)
    flush(memory)

    assert "Found by the agent's own." not in known(storage)
    assert len(own.asked) == 1, "the call of the agent itself"


def test_agents_of_one_configuration_share_workers_that_learn_with_the_latest_model(
    settings: Settings, storage: MemoryStorage
) -> None:
    """Agents may be built for each request, each with a model whose key is of that day."""
    first = MemoryMiddleware(storage, settings=settings, wait_seconds=60)
    second = MemoryMiddleware(storage, settings=settings, wait_seconds=60)

    send(first, agent_model("Found by the first."))
    send(second, agent_model("Found by the second."))
    flush(first)

    assert known(storage) == ["Found by the second."]
    assert len(REGISTRY) == 1


# -- before the agent has called its model --------------------------------------------------------


def submit_earlier(settings: Settings, storage: MemoryStorage) -> None:
    """Leave a conversation that is due, as a process does that was killed."""
    with open_outbox(settings.outbox) as outbox:
        key = ConversationKey(ADA, "earlier")
        messages = dump_messages([HumanMessage("Hi, my name is Bea.", id="1")])
        view = outbox.for_storage(storage.name)
        view.enqueue(key, messages, now=time.time(), timing=DUE, max_jobs=1_000)


def test_jobs_of_an_earlier_process_wait_for_the_model_of_the_agent(
    settings: Settings, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules do not learn from them just because the agent was not called yet."""
    submit_earlier(settings, storage)
    started: list[object] = []
    monkeypatch.setattr(REGISTRY, "run_pending", started.append)

    memory = MemoryMiddleware(storage, settings=settings, wait_seconds=60)
    assert started == []

    monkeypatch.undo()
    send(memory, agent_model("Found by the agent's own."))
    flush(memory)
    assert known(storage) == ["Found by the agent's own."], "in both conversations"


def test_a_conversation_without_a_model_call_is_learned_by_the_default_model(
    settings: Settings, storage: MemoryStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """As when another middleware answers from a cache; that it is the offline model is logged."""
    providers.warn_of_fallback.cache_clear()
    memory = MemoryMiddleware(storage, settings=settings, wait_seconds=60)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert memory.invoker

    memory.invoker.submit([HumanMessage("Hi, my name is Ada.")], ADA, "t1")
    flush(memory)

    assert known(storage) == ["Name is Ada."]
    assert "built-in offline model" in caplog.text
