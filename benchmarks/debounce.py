"""Does the background learn when it should? Hours of traffic by a clock that is moved by hand, and no threads.

python benchmarks/debounce.py [--quick]
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from common import Measured, Row, alone, at_least, at_most
from datasets import learning_model
from langchain_core.messages import HumanMessage

from memgraph import Policy, Scope, build_graph, open_storage
from memgraph.background import open_outbox
from memgraph.background.execution import UpdateExecutor
from memgraph.background.outbox import ConversationKey
from memgraph.background.runner import JobRunner, Limits
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages

TIMING = DebouncePolicy(debounce=30, max_wait=300)
START = 1_800_000_000
Times = Mapping[ConversationKey, Sequence[int]]


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> float:
        return self.time


def traffic(people: int, seconds: int) -> Times:
    """Who says something when: talks of some minutes, pauses of up to half an hour, and one who never stops."""
    draw = random.Random(people)  # noqa: S311
    said: dict[ConversationKey, list[int]] = {}
    for person in range(people):
        times, now = list[int](), draw.randrange(60)
        while now < seconds:
            times.append(START + now)
            pause = draw.random() < 0.15 and person
            now += draw.randrange(60, 1_800) if pause else draw.randrange(2, 28 if person == 0 else 45)
        said[ConversationKey(Scope(f"user-{person}"), "thread")] = times
    return said


def ideal(times: Sequence[int]) -> list[int]:
    """When one who knows the future would learn: after each quiet time, and when the longest wait is over."""
    runs: list[int] = []
    first = times[0]
    for earlier, later in pairwise((*times, 10**12)):
        due = int(TIMING.due(first, earlier))
        if due <= later:
            runs.append(due)
            first = later
    return runs


def simulated(said: Times, seconds: int) -> tuple[dict[ConversationKey, list[int]], Counter[str]]:
    """When it did learn, and how often each turn."""
    clock, storage = Hand(), open_storage("memory:")
    runs, due = defaultdict[ConversationKey, list[int]](list), defaultdict[int, list[tuple[ConversationKey, int]]](list)
    for key, times in said.items():
        for number, at in enumerate(times):
            due[at].append((key, number))
    with open_outbox("memory:") as outbox:
        graph = build_graph(model=learning_model(), storage=storage, policy=Policy(max_facts=10_000))
        limits = Limits(TIMING, max_concurrency=4, lease_seconds=30, max_jobs=10_000)
        engine = JobRunner(outbox, UpdateExecutor(graph), limits, clock=clock)
        engine.add_hooks(lambda update: runs[update.key].append(clock.time), None)
        for now in range(START, START + seconds + 600):
            clock.time = now
            engine.run_due()
            for key, number in due[now]:
                turn = f"I am {key.scope.user_id} and say {number}."
                engine.submit(key, dump_messages([HumanMessage(turn, id=f"m{number}")]))
    learned = Counter(fact.content for key in said for fact in storage.load(key.scope).facts)
    return runs, learned


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Compare when it learned with when it should have."""
    people, seconds = (4, 1_800) if quick else (20, 4 * 3_600)
    said = traffic(people, seconds)
    runs, learned = simulated(said, seconds)
    should = {key: ideal(times) for key, times in said.items()}
    wanted, done = (Counter((key, at) for key, times in every.items() for at in times) for every in (should, runs))
    turns = sum(map(len, said.values()))
    note = (
        f"{people} people talk for {seconds // 60} minutes, one of them without a pause; {TIMING.debounce} s of "
        f"quiet are waited for, {TIMING.max_wait} s at most. The real engine and graph, a clock moved second by second."
    )
    return Measured(
        "When the background learns",
        [
            Row("submissions", turns),
            Row("updates, were each quiet time known beforehand", wanted.total()),
            Row("updates that ran", done.total(), bound=at_most(wanted.total())),
            Row("of them at another second than they should have", (done - wanted).total(), bound=at_most(0)),
            Row("turns learned once", sum(times == 1 for times in learned.values()), bound=at_least(turns)),
            Row("turns learned twice", sum(times > 1 for times in learned.values()), bound=at_most(0)),
        ],
        notes=[note],
    )


if __name__ == "__main__":
    alone(measure)
