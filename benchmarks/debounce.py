"""Do background updates run at the right time? Hours of traffic with a simulated clock and no threads.

python benchmarks/debounce.py [--quick]
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from common import Measurement, Row, at_least, at_most, run_standalone
from datasets import learning_model
from langchain_core.messages import HumanMessage

from memgraph import Policy, Scope, build_graph, open_storage
from memgraph.background import open_outbox
from memgraph.background.execution import UpdateExecutor
from memgraph.background.outbox import ConversationKey
from memgraph.background.runner import Client, JobRunner
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages
from memgraph.settings import Settings

TIMING = DebouncePolicy(debounce=30, max_wait=300)
START = 1_800_000_000
Times = Mapping[ConversationKey, Sequence[int]]


class ManualClock:
    """A clock that the simulation advances."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> float:
        return self.time


def make_traffic(people: int, seconds: int) -> Times:
    """Return message times by user: conversations of minutes, pauses of up to half an hour; one user never pauses."""
    draw = random.Random(people)  # noqa: S311
    traffic: dict[ConversationKey, list[int]] = {}
    for person in range(people):
        times, now = list[int](), draw.randrange(60)
        while now < seconds:
            times.append(START + now)
            pause = draw.random() < 0.15 and person
            now += draw.randrange(60, 1_800) if pause else draw.randrange(2, 28 if person == 0 else 45)
        traffic[ConversationKey(Scope(f"user-{person}"), "thread")] = times
    return traffic


def ideal_times(times: Sequence[int]) -> list[int]:
    """Return when updates run with perfect foresight: after each quiet period, or after the longest wait."""
    runs: list[int] = []
    first = times[0]
    for earlier, later in pairwise((*times, 10**12)):
        due = int(TIMING.due(first, earlier))
        if due <= later:
            runs.append(due)
            first = later
    return runs


def simulate(traffic: Times, seconds: int) -> tuple[dict[ConversationKey, list[int]], Counter[str]]:
    """Return when updates ran, and how often each turn was learned."""
    clock, storage = ManualClock(), open_storage("memory:")
    runs, due = defaultdict[ConversationKey, list[int]](list), defaultdict[int, list[tuple[ConversationKey, int]]](list)
    for key, times in traffic.items():
        for number, at in enumerate(times):
            due[at].append((key, number))
    client = Client(lambda update: runs[update.key].append(clock.time))
    with open_outbox("memory:") as outbox:
        graph = build_graph(model=learning_model(), storage=storage, policy=Policy(max_facts=10_000))
        settings = Settings(debounce_seconds=TIMING.debounce, max_wait_seconds=TIMING.max_wait)
        engine = JobRunner(outbox, UpdateExecutor(graph), settings, clock=clock)
        engine.clients = lambda: [client]
        for now in range(START, START + seconds + 600):
            clock.time = now
            engine.run_due()
            for key, number in due[now]:
                turn = f"I am {key.scope.user_id} and say {number}."
                engine.submit(key, dump_messages([HumanMessage(turn, id=f"m{number}")]))
    learned = Counter(fact.content for key in traffic for fact in storage.load(key.scope).facts)
    return runs, learned


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Compare the actual times of updates with the ideal ones."""
    people, seconds = (4, 1_800) if quick else (20, 4 * 3_600)
    traffic = make_traffic(people, seconds)
    runs, learned = simulate(traffic, seconds)
    ideal = {key: ideal_times(times) for key, times in traffic.items()}
    expected, actual = (Counter((key, at) for key, times in every.items() for at in times) for every in (ideal, runs))
    turns = sum(map(len, traffic.values()))
    note = (
        f"{people} users talk for {seconds // 60} minutes, one of them without a pause. An update waits for "
        f"{TIMING.debounce} s of quiet, at most {TIMING.max_wait} s. The real runner and graph, with a simulated clock."
    )
    return Measurement(
        "When background updates run",
        [
            Row("submissions", turns),
            Row("updates with perfect foresight", expected.total()),
            Row("updates that ran", actual.total(), bound=at_most(expected.total())),
            Row("of them at another second than ideal", (actual - expected).total(), bound=at_most(0)),
            Row("turns learned once", sum(times == 1 for times in learned.values()), bound=at_least(turns)),
            Row("turns learned twice", sum(times > 1 for times in learned.values()), bound=at_most(0)),
        ],
        notes=[note],
    )


if __name__ == "__main__":
    run_standalone(measure)
