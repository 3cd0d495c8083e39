"""Two `memgraph serve` processes on one PostgreSQL under load, one of them killed: is every turn learned once?

    python benchmarks/servers.py [--quick]

Clients submit turns over HTTP, half of them to each server; if one does not respond, they retry at the other with the
same message id. One server is killed (SIGKILL) while a model call is in progress. A turn counts as accepted once a
client got a 202. The model is a provider in this process that makes a unique fact of each new turn: a turn that is
learned twice shows as two facts.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import httpx
from cluster import postgres_url
from common import Measurement, Row, Skipped, at_least, at_most, quantile_row, run_standalone
from provider import Provider, provider

from memgraph import Scope, open_outbox, open_storage

MODEL_SECONDS = 0.2
CONVERSATION_LENGTH = 6
"""Messages of a request: the new turn and the previous ones."""
TIMEOUT_SECONDS = 60
SERVE = (sys.executable, "-c", "from memgraph.cli import main; main()", "serve", "--port", "0", "--json")
SETTINGS = {
    "MEMGRAPH_MODEL_NAME": "openai:items",
    "MEMGRAPH_DEBOUNCE_SECONDS": "0.2",
    "MEMGRAPH_MAX_WAIT_SECONDS": "1",
    "MEMGRAPH_LEASE_SECONDS": "3",
    "MEMGRAPH_MAX_CONCURRENCY": "4",
    "MEMGRAPH_MAX_FACTS": "10000",
    "MEMGRAPH_GROUNDING": "off",  # the fake model makes a unique fact of each turn
}


@dataclass(frozen=True)
class Load:
    """The load on the servers."""

    clients: int
    conversations: int
    """Conversations of each client, one after the other. Each client is a user."""
    turns: int
    pause: float
    """Seconds between two turns of a client."""

    @property
    def total(self) -> int:
        """Number of turns of all clients."""
        return self.clients * self.conversations * self.turns


# -- the servers ----------------------------------------------------------------------------------


@dataclass
class Server:
    """A `memgraph serve` process."""

    process: subprocess.Popen[str]
    key: str
    """API key by which the provider recognises it."""

    @cached_property
    def url(self) -> str:
        """The URL that it prints once it accepts requests."""
        assert self.process.stdout
        output = ""
        while not output.endswith("}\n"):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"memgraph serve did not start: {output}")
            output += line
        return json.loads(output)["url"]


def start(key: str, token: str, database: str, model: str) -> Server:
    """Start a server process."""
    own = {"MEMGRAPH_STORAGE_PATH": database, "MEMGRAPH_OUTBOX": database, "MEMGRAPH_API_TOKEN": token}
    excluded = re.compile("MEMGRAPH_|OPENAI_|LANGSMITH_|LANGCHAIN_")
    inherited = {name: value for name, value in os.environ.items() if not excluded.match(name)}
    environment = {**inherited, **SETTINGS, **own, "OPENAI_BASE_URL": model, "OPENAI_API_KEY": key}
    process = subprocess.Popen(  # noqa: S603
        SERVE, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    return Server(process, key)


@contextmanager
def two_servers(database: str, model: str) -> Iterator[tuple[Server, Server, str]]:
    """Run two servers; yield them and their API token."""
    token = secrets.token_urlsafe(24)
    first, second = (start(key, token, database, model) for key in ("first-server-key", "second-server-key"))
    try:
        yield first, second, token
    finally:
        for server in (first, second):
            server.process.terminate()
        for server in (first, second):
            server.process.communicate(timeout=TIMEOUT_SECONDS)


# -- the clients ----------------------------------------------------------------------------------


@dataclass
class Ledger:
    """The responses that clients got."""

    accepted: list[str] = field(default_factory=list[str])
    seconds: list[float] = field(default_factory=list[float])
    retries: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, turn: str, seconds: float) -> None:
        with self.lock:
            self.accepted.append(turn)
            self.seconds.append(seconds)

    def note_retry(self) -> None:
        with self.lock:
            self.retries += 1


@dataclass(frozen=True)
class Client:
    """A user who submits each turn with the previous ones."""

    number: int
    urls: tuple[str, str]
    http: httpx.Client
    ledger: Ledger

    def converse(self, thread: str, turns: int, pause: float) -> None:
        messages: list[dict[str, str]] = []
        for turn in (f"turn-{self.number}-{thread}-{index}" for index in range(turns)):
            messages = [*messages, {"role": "user", "content": turn, "id": turn}][-CONVERSATION_LENGTH:]
            self.submit(turn, {"messages": messages, "thread_id": thread})
            time.sleep(pause)

    def submit(self, turn: str, body: Mapping[str, object]) -> None:
        """Submit one turn, alternating between the servers until one accepts it."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        server = self.number
        while time.monotonic() < deadline:
            began = time.perf_counter()
            try:
                answer = self.http.post(
                    f"{self.urls[server % 2]}/conversations", params={"user_id": f"user-{self.number}"}, json=body
                )
                answer.raise_for_status()
            except httpx.HTTPError:
                self.ledger.note_retry()
                server += 1
                time.sleep(0.05)
            else:
                self.ledger.note(turn, time.perf_counter() - began)
                return


def run_client(number: int, load: Load, urls: tuple[str, str], token: str, ledger: Ledger) -> None:
    """Run all conversations of one client, one after the other."""
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=10, trust_env=False) as http:
        client = Client(number, urls, http, ledger)
        for index in range(load.conversations):
            client.converse(f"conversation-{index}", load.turns, load.pause)


# -- the measurement ------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoadResult:
    """What the servers learned."""

    killed_after: int
    """Turns accepted when the server was killed."""
    seconds: float
    """From the kill until every accepted turn was learned."""
    learned: Counter[str]
    left: int
    """Jobs that are pending or failed."""


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    try:
        import fastapi as _
        import uvicorn as _  # noqa: F401, F811
    except ImportError:
        raise Skipped("needs FastAPI and uvicorn: pip install 'langgraph-memgraph[api]'") from None
    load, ledger = Load(3, 1, 15, 0.15) if quick else Load(12, 2, 25, 0.2), Ledger()
    with (
        provider(MODEL_SECONDS) as model,
        postgres_url() as database,
        two_servers(database, model.url) as (first, second, token),
    ):
        urls = (first.url, second.url)
        with ThreadPoolExecutor(load.clients) as clients:
            work = [clients.submit(run_client, number, load, urls, token, ledger) for number in range(load.clients)]
            killed, killed_after, killed_at = kill_during_update((first, second), model, ledger, load)
            for done in work:
                done.result()
        other = second if killed is first else first
        result = await_learned(database, load, ledger, killed_after, killed_at)
        return to_measurement(load, ledger, result, (model.requests[killed.key], model.requests[other.key]))


def kill_during_update(
    servers: Sequence[Server], model: Provider, ledger: Ledger, load: Load
) -> tuple[Server, int, float]:
    """Wait until a third is accepted and a model call of one of *servers* is in progress, then kill that server.

    Returns:
        The server, the turns that were accepted until then, and the time of its end.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if len(ledger.accepted) >= load.total // 3:
            for server in servers:
                if model.is_serving(server.key):
                    server.process.kill()
                    return server, len(ledger.accepted), time.monotonic()
        time.sleep(0.005)
    raise RuntimeError("no server made a model call")


def await_learned(database: str, load: Load, ledger: Ledger, killed_after: int, killed_at: float) -> LoadResult:
    """Wait until no job is left and every accepted turn is learned."""
    storage = open_storage(database)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with open_outbox(database) as outbox:
        while True:
            memories = [storage.load(Scope(f"user-{client}")) for client in range(load.clients)]
            learned = Counter(fact.content.partition(" #")[0] for memory in memories for fact in memory.facts)
            left = len(outbox.pending(now=time.time())) + len(outbox.dead_letters())
            seconds = time.monotonic() - killed_at
            if (not left and learned.keys() >= set(ledger.accepted)) or time.monotonic() > deadline:
                storage.close()
                return LoadResult(killed_after, seconds, learned, left)
            time.sleep(0.1)


def to_measurement(load: Load, ledger: Ledger, result: LoadResult, calls: tuple[int, int]) -> Measurement:
    once = sum(result.learned[turn] == 1 for turn in ledger.accepted)
    lost = sum(not result.learned[turn] for turn in ledger.accepted)
    twice = sum(times > 1 for times in result.learned.values())
    times = [seconds * 1_000 for seconds in ledger.seconds]
    accepted = len(ledger.accepted)
    rows = [
        Row("turns submitted", load.total, "turns"),
        Row("accepted", accepted, "turns", bound=at_least(load.total), note=f"{result.killed_after} before the kill"),
        Row("learned exactly once", once, "turns", bound=at_least(accepted)),
        Row("lost", lost, "turns", bound=at_most(0)),
        Row("learned twice", twice, "turns", bound=at_most(0)),
        Row("left pending or failed", result.left, "conversations", bound=at_most(0)),
        Row("requests repeated", ledger.retries, "requests", note="at the other server"),
        Row("model calls of the killed server", calls[0], "calls"),
        Row("model calls of the other server", calls[1], "calls"),
        quantile_row("a submission over HTTP, median", times, 0.5, "ms wall"),
        quantile_row("a submission over HTTP, 99th percentile", times, 0.99, "ms wall"),
        Row("from the kill until all is learned", result.seconds, "s wall", note="clients go on meanwhile"),
    ]
    note = (
        f"{load.clients} clients, {load.conversations} conversations each, a turn every {load.pause} s; model latency "
        f"{MODEL_SECONDS} s; leases of {SETTINGS['MEMGRAPH_LEASE_SECONDS']} s, after which the other server "
        "takes over the jobs of a killed one (30 s by default). Clients, provider, database and both servers run on "
        "this machine."
    )
    return Measurement("Two servers on one PostgreSQL, one killed", rows, notes=[note])


if __name__ == "__main__":
    run_standalone(measure)
