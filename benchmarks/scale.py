"""10,000 users on one PostgreSQL, worked off by 2 and 4 workers: updates per second, waits, CPU, rows and bytes.

    python benchmarks/scale.py [--quick]

The memories grow from 100,000 facts to a million, then 100 users get 2,000 facts each. At every size the workers are
measured twice: with a burst of conversations that are all due at once, which gives the rate, and with conversations
that arrive at 60 % of that rate, which gives the waits. A wait is the time from the submission to the end of the
update, as the table of jobs shows it. The workers are `memgraph worker` processes; their model is a provider that
answers after 0.3 s with one fact of each turn.
"""

from __future__ import annotations

import os
import random
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, LiteralString

from cluster import postgres_url
from common import HERE, SEED, Measurement, Row, Skipped, at_least, quantile_row, run_standalone
from langchain_core.messages import HumanMessage

from memgraph import Fact, Scope, Settings, open_outbox, open_storage
from memgraph.background.background_invoker import make_runner
from memgraph.background.outbox import ConversationKey
from memgraph.background.serialization import dump_submission
from memgraph.background.shared import WorkerConfig

if TYPE_CHECKING:
    from psycopg import Connection

    from memgraph import Outbox
    from memgraph.background.runner import JobRunner
    from memgraph.storage import MemoryStorage

    Database = Connection[tuple[Any, ...]]

MODEL_SECONDS = 0.3
STEADY_SHARE = 0.6
"""Arrivals of the second measurement, of the rate of the first."""
POLL_SECONDS = 0.05
TIMEOUT_SECONDS = 300
TICKS = os.sysconf("SC_CLK_TCK")
DATABASE = {"shared_buffers": "256MB", "max_connections": "100"}
COUNT_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
WORKER = (sys.executable, "-c", "from memgraph.cli import main; main()", "worker", "--json")
TABLES: tuple[LiteralString, ...] = ("memgraph_memory", "memgraph_revision", "memgraph_episode", "memgraph_submission")


@dataclass(frozen=True)
class Size:
    """The memories of a stage."""

    prefix: str
    users: int
    facts: int
    """Of each user."""

    @property
    def title(self) -> str:
        return f"{self.users * self.facts:,} facts ({self.users:,} users x {self.facts:,})"


@dataclass(frozen=True)
class Deployment:
    """The worker processes of a measurement, and how many updates each runs at a time."""

    workers: int
    concurrency: int

    @property
    def title(self) -> str:
        return f"{self.workers} workers x {self.concurrency} at a time"


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    sizes: Sequence[Size]
    deployments: Sequence[Deployment]
    burst: int
    """Conversations of a burst, each of its own user."""
    steady_seconds: float


QUICK = Plan((Size("user", 30, 20),), (Deployment(2, 4),), burst=4, steady_seconds=0.5)
FULL = Plan(
    (Size("user", 10_000, 10), Size("user", 10_000, 100), Size("heavy", 100, 2_000)),
    (Deployment(2, 4), Deployment(4, 4)),
    burst=200,
    steady_seconds=8,
)


# -- the memories ---------------------------------------------------------------------------------


def grow(storage: MemoryStorage, size: Size) -> float:
    """Save facts until each user of *size* has its number; return the milliseconds of a save."""
    began = time.perf_counter()
    for user in range(size.users):
        scope = Scope(f"{size.prefix}-{user}")
        memory = storage.load(scope)
        more = (Fact(content=f"Saw {place(scope.user_id, number)}.") for number in range(len(memory.facts), size.facts))
        storage.save(scope, memory.with_facts((*memory.facts, *more)))
    return (time.perf_counter() - began) / size.users * 1e3


def place(user: str, number: int) -> str:
    """Return the name of a thing that one user saw, made of words that differ as those of real facts do."""
    draw = random.Random(f"{user}-{number}")  # noqa: S311
    syllables = ("ba", "co", "di", "fu", "ge", "ha", "ki", "lo", "mu", "ne", "po", "ra", "si", "tu", "ve", "zo")
    word = "".join(draw.choices(syllables, k=3)).title()
    return f"the {draw.choice(('harbour', 'bridge', 'museum', 'market', 'tower', 'garden'))} of {word} in {word[::-1]}"


# -- processes ------------------------------------------------------------------------------------


def cpu_seconds(pid: int, *, with_ended_children: bool = False) -> float:
    """Return the CPU time of a process; it has none if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(map(int, fields[11 : 15 if with_ended_children else 13])) / TICKS


def children(pid: int) -> list[int]:
    """Return the processes that *pid* started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def model_server() -> Iterator[str]:
    """Run the provider in a process of its own, so that its CPU time counts for nobody else."""
    command = (sys.executable, str(HERE / "provider.py"), str(MODEL_SECONDS))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def workers(deployment: Deployment, database: str, model: str) -> Iterator[list[int]]:
    """Run the workers of *deployment*, and yield their process ids once they are ready."""
    excluded = re.compile("MEMGRAPH_|OPENAI_|LANGSMITH_|LANGCHAIN_")
    own = {
        "MEMGRAPH_STORAGE_PATH": database,
        "MEMGRAPH_OUTBOX": database,
        "MEMGRAPH_MODEL_NAME": "openai:items",
        "MEMGRAPH_DEBOUNCE_SECONDS": "0",
        "MEMGRAPH_MAX_CONCURRENCY": str(deployment.concurrency),
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "of-the-benchmark",
    }
    environment = {name: value for name, value in os.environ.items() if not excluded.match(name)} | own
    with ExitStack() as stack:
        started: list[subprocess.Popen[bytes]] = []
        for _ in range(deployment.workers):
            log = stack.enter_context(NamedTemporaryFile())  # a pipe that nobody reads would block the worker
            process = subprocess.Popen(WORKER, env=environment, stdout=log)  # noqa: S603
            stack.callback(_stop, process)
            started.append(process)
            _await_start(process, Path(log.name))
        yield [process.pid for process in started]


def _await_start(process: subprocess.Popen[bytes], log: Path) -> None:
    while b"worker started" not in log.read_bytes():
        if process.poll() is not None:
            raise RuntimeError("memgraph worker did not start")
        time.sleep(POLL_SECONDS)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=TIMEOUT_SECONDS)


# -- the load -------------------------------------------------------------------------------------


@dataclass
class Load:
    """Submits conversations as agents do, and sees in the table of jobs when they are learned."""

    runner: JobRunner
    db: Database
    submitted: dict[str, float] = field(default_factory=dict[str, float])
    waits: list[float] = field(default_factory=list[float])

    def submit(self, user: str) -> None:
        text = f"Last year I saw {place(user, secrets.randbelow(1_000_000))}."
        key = ConversationKey(Scope(user), "thread")
        self.submitted[user] = time.perf_counter()
        self.runner.submit(key, dump_submission([HumanMessage(text)], None, self.runner.now()))

    def observe(self) -> None:
        """Note the waits of the users whose jobs have gone."""
        pending = {user for (user,) in self.db.execute("SELECT user_id FROM memgraph_job")}
        now = time.perf_counter()
        for user in self.submitted.keys() - pending:
            self.waits.append(now - self.submitted.pop(user))

    def await_all(self) -> None:
        deadline = time.perf_counter() + TIMEOUT_SECONDS
        while self.submitted:
            if time.perf_counter() > deadline:
                raise RuntimeError(f"{len(self.submitted)} conversations were not learned in {TIMEOUT_SECONDS} s")
            time.sleep(POLL_SECONDS)
            self.observe()

    def run_burst(self, users: Sequence[str]) -> float:
        """Submit all at once; return the updates per second."""
        began = time.perf_counter()
        for user in users:
            self.submit(user)
        self.await_all()
        return len(users) / (time.perf_counter() - began)

    def run_steady(self, users: Sequence[str], rate: float) -> None:
        """Submit *rate* conversations per second."""
        began = time.perf_counter()
        for number, user in enumerate(users):
            while (ahead := began + number / rate - time.perf_counter()) > 0:
                time.sleep(min(ahead, POLL_SECONDS))
                self.observe()
            self.submit(user)
        self.await_all()


# -- the measurement ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """The servers, and what is measured on them."""

    url: str
    model: str
    plan: Plan
    storage: MemoryStorage
    outbox: Outbox
    db: Database

    def rows(self) -> Iterator[Row]:
        """Measure each deployment at each size."""
        updates = 0
        for size in self.plan.sizes:
            yield Row(f"{size.title}: a save while growing", grow(self.storage, size), "ms wall")
            revisions = self.first("SELECT count(*) FROM memgraph_revision")
            for deployment in self.plan.deployments:
                measured, done = self.measure(size, deployment)
                yield from measured
                updates += done
            saved = self.first("SELECT count(*) FROM memgraph_revision") - revisions
            yield Row(f"{size.title}: updates saved, of {updates:,}", saved, "updates", bound=at_least(updates))
            updates = 0
            yield from self.sizes(size)

    def measure(self, size: Size, deployment: Deployment) -> tuple[list[Row], int]:
        """Run a burst, then steady arrivals; return the rows and the number of updates."""
        name, draw = f"{size.title}, {deployment.title}", random.Random(SEED)  # noqa: S311
        runner = make_runner(self.outbox, WorkerConfig(Settings(debounce_seconds=0, max_queued=100_000)), self.storage)
        first, burst, steady = (Load(runner, self.db) for _ in range(3))

        def users(count: int) -> list[str]:
            return [f"{size.prefix}-{user}" for user in draw.sample(range(size.users), min(count, size.users))]

        own_connections = self.first(COUNT_CONNECTIONS)
        with workers(deployment, self.url, self.model) as pids:
            first.run_burst(users(deployment.workers * deployment.concurrency))  # what loads lazily is loaded
            before = self.cpu(pids)
            rate = burst.run_burst(users(self.plan.burst))
            worker_cpu, database_cpu = (after - then for after, then in zip(self.cpu(pids), before, strict=True))
            connections = self.first(COUNT_CONNECTIONS) - own_connections
            arrivals = max(1, int(rate * STEADY_SHARE * self.plan.steady_seconds))
            steady.run_steady(users(arrivals), rate * STEADY_SHARE)
        updates = len(burst.waits)
        rows = [
            Row(f"{name}: updates", rate, "per second"),
            Row(f"{name}: the workers, an update", worker_cpu / updates * 1e3, "ms CPU"),
            Row(f"{name}: PostgreSQL, an update", database_cpu / updates * 1e3, "ms CPU"),
            quantile_row(f"{name}: wait at {STEADY_SHARE:.0%} of the rate, median", steady.waits, 0.5, "s wall"),
            quantile_row(f"{name}: wait at {STEADY_SHARE:.0%} of the rate, 99th", steady.waits, 0.99, "s wall"),
            Row(f"{name}: connections to PostgreSQL", connections, "connections"),
        ]
        return rows, sum(len(load.waits) for load in (first, burst, steady))

    def sizes(self, size: Size) -> Iterator[Row]:
        """Count the rows and bytes of each table, with its indexes."""
        for table in TABLES:
            rows = self.first(f"SELECT count(*) FROM {table}")  # noqa: S608 - a constant of this file
            bytes_used = self.first(f"SELECT pg_total_relation_size('{table}')")
            yield Row(f"after {size.title}: rows of {table}", rows, "rows")
            yield Row(f"after {size.title}: size of {table}", bytes_used / 1e6, "MB")

    def cpu(self, pids: Sequence[int]) -> tuple[float, float]:
        """Return the CPU seconds of the workers and of PostgreSQL."""
        postmaster = self.first("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int")
        backends = sum(map(cpu_seconds, children(postmaster)))
        return sum(map(cpu_seconds, pids)), cpu_seconds(postmaster, with_ended_children=True) + backends

    def first(self, statement: LiteralString) -> int:
        """Return the first column of the first row."""
        row = self.db.execute(statement).fetchone()
        assert row
        return int(row[0])


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure every size with every deployment."""
    if not Path("/proc/self/stat").exists():
        raise Skipped("needs /proc, for the CPU time of the processes")
    plan = QUICK if quick else FULL
    with (
        postgres_url(DATABASE) as url,
        model_server() as model,
        open_storage(url) as storage,
        open_outbox(url) as outbox,
        connect(url) as db,
    ):
        rows = list(Bench(url, model, plan, storage, outbox.for_storage(storage.name), db).rows())
    settings = ", ".join(f"{name} = {value}" for name, value in DATABASE.items())
    notes = [
        f"Model latency {MODEL_SECONDS} s. Bursts of {plan.burst} conversations of one turn, each of its own user.",
        f"Then {plan.steady_seconds} s of arrivals at {STEADY_SHARE:.0%} of the rate of the burst. No debouncing.",
        f"Workers, provider, submitter and PostgreSQL ({settings}) share this machine.",
    ]
    return Measurement("Many users on one PostgreSQL", rows, notes=notes)


def connect(url: str) -> Database:
    """Open a connection for the figures."""
    import psycopg

    return psycopg.connect(url, autocommit=True)


if __name__ == "__main__":
    run_standalone(measure)
