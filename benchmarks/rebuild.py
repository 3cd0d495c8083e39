"""Learn a memory again from its episodes: the same facts, and what it costs.

python benchmarks/rebuild.py [--quick]
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import ascii_lowercase

from common import Measurement, Row, at_most, run_standalone
from datasets import learning_model
from langchain_core.messages import BaseMessage, HumanMessage

from memgraph import Context, Fact, Scope, Settings, build_graph, open_storage
from memgraph.background.rebuild import Rebuild, Rebuilder
from memgraph.storage import MemoryStorage
from memgraph.testing import ScriptedModel

EPISODES = 1_000
THREADS = 40
MESSAGES_AT_ONCE = 5
REPEATED = 0.1
"""Share of the messages that repeat an earlier one on another day."""
ADA, BOB = Scope("ada"), Scope("bob")
SETTINGS = Settings(model_tries=1, retry_wait_seconds=0)
START = datetime(2024, 1, 1, 9, tzinfo=UTC)


def texts(count: int) -> list[str]:
    """Return messages of ten words with a vocabulary of 3,000, of which some repeat others."""
    draw = random.Random(count)  # noqa: S311
    vocabulary = ["".join(draw.choices(ascii_lowercase, k=draw.randint(4, 9))) for _ in range(3_000)]
    said: list[str] = []
    for _ in range(count):
        is_repeated = said and draw.random() < REPEATED
        said.append(draw.choice(said) if is_repeated else f"I own a {' '.join(draw.sample(vocabulary, 7))}")
    return said


def learn_live(storage: MemoryStorage, count: int) -> None:
    """Learn *count* messages, some at once, in threads that take turns, two hours apart."""
    graph = build_graph(model=learning_model(), storage=storage)
    said = texts(count)
    for start in range(0, count, MESSAGES_AT_ONCE):
        at, thread = START + timedelta(hours=2 * start), f"t{start // MESSAGES_AT_ONCE % THREADS}"
        part = enumerate(said[start : start + MESSAGES_AT_ONCE], start)
        messages = [HumanMessage(text, id=f"m{number}") for number, text in part]
        graph.invoke({"messages": messages}, context=Context(user_id=ADA.user_id, thread_id=thread, at=at))


def content_of(facts: Sequence[Fact]) -> set[str]:
    """Return what facts state, since when, how often and on what evidence, without their ids."""
    return {fact.model_dump_json(exclude={"id", "created_at"}, exclude_defaults=True, by_alias=True) for fact in facts}


def rebuild_until_killed(url: str, calls: int) -> None:
    """Rebuild the memory of the other user, and kill this process, as by kill -9, when it calls the model again."""

    def kill(_: Sequence[BaseMessage]) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    answers = learning_model().answers
    with open_storage(url) as storage:
        Rebuilder(storage, BOB, SETTINGS, ScriptedModel(*(answers * calls), kill)).learn()


def rebuild_copy(url: str, calls: int) -> tuple[Rebuild, int]:
    """Give another user the same episodes, and learn them: *calls* calls in a process that is killed, then here.

    Returns:
        The rebuild, and the number of calls.
    """
    with open_storage(url) as storage:
        storage.append_episodes(BOB, storage.episodes(ADA), SETTINGS.policy)
        if calls:
            process = multiprocessing.get_context("spawn").Process(target=rebuild_until_killed, args=(url, calls))
            process.start()
            process.join()
        model = learning_model()
        rebuilder = Rebuilder(storage, BOB, SETTINGS, model)
        rebuilder.learn()
        return rebuilder.replace(), calls + len(model.asked)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Learn live, then again from the episodes, in a storage of each kind."""
    count, kinds = (40, ("sqlite",)) if quick else (EPISODES, ("file", "sqlite"))
    rows: list[Row] = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            url = f"{kind}:{Path(folder) / 'memory'}"
            with open_storage(url) as storage:
                learn_live(storage, count)
                live = content_of(storage.load(ADA).facts)
            began = time.perf_counter()
            rebuilt, calls = rebuild_copy(url, 0 if quick else count // MESSAGES_AT_ONCE // 2)
            seconds = time.perf_counter() - began
            again = content_of(rebuilt.memory.facts)
        rows += [
            Row(f"{kind}: facts learned live", len(live)),
            Row(f"{kind}: facts that differ after the rebuild", len(live ^ again), bound=at_most(0)),
            Row(f"{kind}: sessions that were learned twice", calls - count // MESSAGES_AT_ONCE, bound=at_most(0)),
            Row(f"{kind}: rebuild, per episode", seconds * 1_000 / count, "ms wall"),
        ]
    return Measurement(
        f"Rebuild of {count:,} episodes",
        rows,
        notes=[
            (
                f"Messages of {THREADS} threads that take turns, {REPEATED:.0%} of them repeated on another day. The "
                "model is scripted. The process is killed half-way by SIGKILL; another goes on. Facts are equal "
                "if content, category, confidence, dates, confirmations and evidence are; ids and the time of learning "
                "are new."
            ),
        ],
    )


if __name__ == "__main__":
    run_standalone(measure)
