"""Shared fixtures: a fake clock, a model that learns every new turn, and a runner with both."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from memgraph import MemoryStorage, Policy, Scope, build_graph
from memgraph.background import Outbox, open_outbox
from memgraph.background.execution import UpdateExecutor
from memgraph.background.outbox import ConversationKey
from memgraph.background.runner import JobRunner
from memgraph.background.serialization import dump_messages
from memgraph.prompts.update_prompt import read_turns
from memgraph.settings import Settings
from memgraph.testing import ScriptedModel, update_answer

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

ADA = Scope("ada")
KEY = ConversationKey(ADA, "t1")
POLICY = Policy(grounding="off", max_facts=10_000, model_tries=1, model_timeout_seconds=5)


class FakeClock:
    """A clock that stands still until a test advances it."""

    def __init__(self) -> None:
        self.time = time.time()

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class LearningModel(ScriptedModel):
    """A model that answers with one unique fact for each new human turn, so that repeated learning shows."""

    def __init__(self) -> None:
        super().__init__(learn)

    @property
    def seen(self) -> list[list[str]]:
        """The new turns of each call."""
        return [new_turns(prompt) for prompt in self.asked]


def learn(prompt: Sequence[BaseMessage]) -> str:
    return update_answer(*(f"{turn} #{secrets.token_hex(4)}" for turn in new_turns(prompt)))


def new_turns(prompt: Sequence[BaseMessage]) -> list[str]:
    turns = read_turns(str(prompt[-1].content))
    return [turn.text for turn in turns if turn.is_new and turn.speaker == "user"]


def say(*numbers: int) -> list[BaseMessage]:
    """Make human turns with ids."""
    return [HumanMessage(f"turn-{number}", id=f"m{number}") for number in numbers]


def learned(storage: MemoryStorage, scope: Scope = ADA) -> list[str]:
    """The turns in the memory; a turn that was learned twice appears twice."""
    return [fact.content.partition(" #")[0] for fact in storage.load(scope).facts]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def model() -> LearningModel:
    return LearningModel()


@pytest.fixture
def policy() -> Policy:
    return POLICY


@pytest.fixture
def graph(model: LearningModel, storage: MemoryStorage) -> CompiledStateGraph[Any, Any, Any, Any]:
    return build_graph(model=model, storage=storage, policy=POLICY)


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with open_outbox("memory:") as opened:
        yield opened


class FakeTimeRunner(JobRunner):
    """A runner on a fake clock, which takes messages instead of JSON."""

    def __init__(
        self, outbox: Outbox, graph: Any, clock: FakeClock, *, debounce: float = 5, max_wait: float = 10
    ) -> None:
        settings = Settings(debounce_seconds=debounce, max_wait_seconds=max_wait, max_queued=1_000)
        super().__init__(outbox, UpdateExecutor(graph), settings, clock=clock, rng=lambda: 0.5)

    def add(self, messages: Sequence[BaseMessage], key: ConversationKey = KEY) -> None:
        self.submit(key, dump_messages(messages))

    def run_all(self) -> int:
        """Run all pending jobs, due or not."""
        self.outbox.expedite(now=self.now())
        return self.run_due()


@pytest.fixture
def make_runner(outbox: Outbox, graph: Any, clock: FakeClock) -> Callable[..., FakeTimeRunner]:
    """Make a runner; a second one of the same outbox stands for another process."""
    return lambda **options: FakeTimeRunner(
        options.pop("outbox", outbox), options.pop("graph", graph), clock, **options
    )


@pytest.fixture
def runner(make_runner: Callable[..., FakeTimeRunner]) -> FakeTimeRunner:
    return make_runner()


@pytest.fixture(name="say")
def say_fixture() -> Callable[..., list[BaseMessage]]:
    return say


@pytest.fixture(name="learned")
def learned_fixture(storage: MemoryStorage) -> Callable[..., list[str]]:
    return lambda scope=ADA: learned(storage, scope)
