"""The upkeep follows an update in the background, under the same lease."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from memgraph import Context, Fact, MemoryDocument, MemoryStorage, ModelError, Policy, Scope, build_graph, open_storage
from memgraph.background import open_outbox
from memgraph.background.execution import BackgroundUpkeep, UpdateExecutor, is_due
from memgraph.background.outbox import ConversationKey
from memgraph.background.runner import JobRunner
from memgraph.background.serialization import dump_messages
from memgraph.context import ContextResolver
from memgraph.models import Upkeep, timestamp
from memgraph.settings import Settings
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
TWICE = (Fact(id="a", content="Has 2 cats.", confidence=0.9), Fact(id="b", content="has 2  cats.", confidence=0.9))
MERGE = '{"merge": [{"ids": ["a", "b"], "content": "Has 2 cats."}], "end": []}'
SETTINGS = Settings(debounce_seconds=0, max_concurrency=1, upkeep_updates=3, upkeep_days=7)


class Model(ScriptedModel):
    """Learns each message word for word; *upkeep* is its answer to an upkeep."""

    def __init__(self, upkeep: str | BaseException = MERGE) -> None:
        def answer(messages: Sequence[BaseMessage]) -> str:
            prompt = str(messages[-1].content)
            if "<group>" not in prompt:
                return update_answer(f"Visited town number {len(self.asked)}.")
            if isinstance(upkeep, BaseException):
                raise upkeep
            return upkeep

        super().__init__(answer)


def run(storage: MemoryStorage, model: Model, texts: Sequence[str], **options: Any) -> JobRunner:
    """Run an update for each of *texts*, as a worker would."""
    graph = build_graph(storage=storage, model=model, policy=Policy(grounding="off", model_tries=1), **options)
    runner = JobRunner(
        open_outbox("memory:").for_storage(storage.name), UpdateExecutor(graph, upkeep=SETTINGS), SETTINGS
    )
    for text in texts:
        runner.submit(ConversationKey(ADA, text), dump_messages([HumanMessage(text, id=text)]))
        runner.run_due()
    return runner


@pytest.fixture
def storage() -> MemoryStorage:
    opened = open_storage("memory:")
    opened.save(ADA, MemoryDocument(facts=TWICE))
    return opened


def ids(storage: MemoryStorage) -> set[str]:
    return {fact.id for fact in storage.load(ADA).facts}


def test_the_upkeep_follows_the_update_that_makes_it_due(storage: MemoryStorage) -> None:
    """After three revisions; it is noted, so that the next one is three updates later."""
    model = Model()

    run(storage, model, ["One."])
    assert ids(storage) >= {"a", "b"}
    runner = run(storage, model, ["Two.", "Three."])

    saved = storage.load(ADA)
    assert "b" not in ids(storage)
    assert (saved.upkeep and saved.upkeep.revision, saved.revision) == (4, 5)
    assert (len(model.asked), runner.stats().failed) == (4, 0)


def test_an_upkeep_that_fails_costs_no_update(storage: MemoryStorage) -> None:
    """The update has succeeded; the next one tries again."""
    runner = run(storage, Model(ModelError("down")), ["One.", "Two."])

    assert (runner.stats().learned, runner.stats().failed) == (2, 0)
    assert ids(storage) >= {"a", "b"}
    assert not runner.outbox.dead_letters()

    run(storage, Model(), ["I have a boat."])
    assert "b" not in ids(storage)


def test_with_a_review_its_changes_wait(storage: MemoryStorage) -> None:
    """The job of the update that made it due is done."""
    runner = run(storage, Model(), ["One.", "Two."], review="corrections")

    assert [[fact.id for fact in change.facts] for change in storage.load(ADA).pending] == [["a"]]
    assert (ids(storage) >= {"a", "b"}, runner.outbox.pending(now=1e12), runner.stats().learned) == (True, (), 2)


def test_an_upkeep_without_changes_is_not_repeated_at_once() -> None:
    """It is not saved, so it is remembered in RAM until as many updates later."""
    storage = open_storage("memory:")
    storage.save(ADA, MemoryDocument(facts=TWICE[:1]))
    upkeep = BackgroundUpkeep(ContextResolver(Context(storage=storage, model="offline")), SETTINGS, lambda: NOW)
    memory, context = MemoryDocument(revision=3), Context(user_id="ada")

    ran = [
        upkeep.run_if_due(ADA, memory.model_copy(update={"revision": n}), context, {}) is not None for n in range(3, 7)
    ]

    assert ran == [True, False, False, True]
    assert storage.load(ADA).revision == 1


@pytest.mark.parametrize(
    ("revision", "last", "due"),
    [
        (2, None, False),
        (3, None, True),
        (12, Upkeep(at=timestamp(NOW), revision=10), False),
        (13, Upkeep(at=timestamp(NOW), revision=10), True),
        (11, Upkeep(at=timestamp(NOW - timedelta(days=7)), revision=10), True),
        (11, Upkeep(at=timestamp(NOW - timedelta(days=6)), revision=10), False),
    ],
)
def test_an_upkeep_is_due_after_updates_or_days(revision: int, last: Upkeep | None, *, due: bool) -> None:
    """Whichever comes first."""
    assert is_due(MemoryDocument(revision=revision), last, NOW, SETTINGS) is due
