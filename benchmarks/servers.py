"""Two `memgraph serve` processes on one PostgreSQL, under load, and one of them is killed: is every turn learned once?

    python benchmarks/servers.py [--quick]

Clients hand turns over by HTTP, half of them to each server; where one does not answer, to the other, with the same
message id. A server is killed (SIGKILL) while the model is answering it. A turn counts as accepted once a client was
answered 202. The model is a provider of this process that makes a new fact of each new turn, with a nonce: a turn that
is learned twice is two facts.
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
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import httpx
from cluster import postgres_url
from common import Measured, Row, Skipped, alone, at_least, at_most, quantile_row
from provider import Provider, provider

from memgraph import Scope, open_outbox, open_storage

MODEL_SECONDS = 0.2
TALK_LENGTH = 6
"""Messages of a request: the new turn, and those before it."""
PATIENCE_SECONDS = 60
SERVE = (sys.executable, "-c", "from memgraph.cli import main; main()", "serve", "--port", "0", "--json")
SETTINGS = {
    "MEMGRAPH_MODEL_NAME": "openai:items",
    "MEMGRAPH_DEBOUNCE_SECONDS": "0.2",
    "MEMGRAPH_MAX_WAIT_SECONDS": "1",
    "MEMGRAPH_LEASE_SECONDS": "3",
    "MEMGRAPH_MAX_CONCURRENCY": "4",
    "MEMGRAPH_MAX_FACTS": "10000",
}


@dataclass(frozen=True)
class Load:
    """How much is asked of the servers."""

    clients: int
    talks: int
    """Conversations of each client, one after the other; a client is a user."""
    turns: int
    pause: float
    """Seconds between two turns of a client."""

    @property
    def all(self) -> int:
        """The turns of all clients."""
        return self.clients * self.talks * self.turns


# -- the servers ----------------------------------------------------------------------------------


@dataclass
class Server:
    """A `memgraph serve` of its own process."""

    process: subprocess.Popen[str]
    key: str
    """By which the provider knows it."""

    @cached_property
    def url(self) -> str:
        """Where it serves, once it does."""
        assert self.process.stdout
        told = ""
        while not told.endswith("}\n"):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"memgraph serve did not start: {told}")
            told += line
        return json.loads(told)["url"]


def start(key: str, token: str, database: str, model: str) -> Server:
    """Start one; it tells its address once it serves."""
    own = {"MEMGRAPH_STORAGE_PATH": database, "MEMGRAPH_OUTBOX": database, "MEMGRAPH_API_TOKEN": token}
    foreign = re.compile("MEMGRAPH_|OPENAI_|LANGSMITH_|LANGCHAIN_")
    kept = {name: value for name, value in os.environ.items() if not foreign.match(name)}
    environment = {**kept, **SETTINGS, **own, "OPENAI_BASE_URL": model, "OPENAI_API_KEY": key}
    process = subprocess.Popen(  # noqa: S603
        SERVE, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    return Server(process, key)


@contextmanager
def two_servers(database: str, model: str) -> Iterator[tuple[Server, Server, str]]:
    """Two servers, and the token that lets in."""
    token = secrets.token_urlsafe(24)
    first, second = (start(key, token, database, model) for key in ("first-server-key", "second-server-key"))
    try:
        yield first, second, token
    finally:
        for server in (first, second):
            server.process.terminate()
        for server in (first, second):
            server.process.communicate(timeout=60)


# -- the clients ----------------------------------------------------------------------------------


@dataclass
class Ledger:
    """What clients were told."""

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
    """A user who talks, and hands each turn over with those before it."""

    number: int
    urls: tuple[str, str]
    http: httpx.Client
    ledger: Ledger

    def talk(self, thread: str, turns: int, pause: float) -> None:
        said: list[dict[str, str]] = []
        for turn in (f"turn-{self.number}-{thread}-{place}" for place in range(turns)):
            said = [*said, {"role": "user", "content": turn, "id": turn}][-TALK_LENGTH:]
            self.submit(turn, {"messages": said, "thread_id": thread})
            time.sleep(pause)

    def submit(self, turn: str, body: Mapping[str, object]) -> None:
        """Hand one turn over, to whichever server takes it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        place = self.number
        while time.monotonic() < deadline:
            began = time.perf_counter()
            try:
                answer = self.http.post(
                    f"{self.urls[place % 2]}/conversations", params={"user_id": f"user-{self.number}"}, json=body
                )
                answer.raise_for_status()
            except httpx.HTTPError:
                self.ledger.note_retry()
                place += 1
                time.sleep(0.05)
            else:
                self.ledger.note(turn, time.perf_counter() - began)
                return


def converse(number: int, load: Load, urls: tuple[str, str], token: str, ledger: Ledger) -> None:
    """Hold all conversations of one client, one after the other."""
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=10, trust_env=False) as http:
        client = Client(number, urls, http, ledger)
        for talk in range(load.talks):
            client.talk(f"talk-{talk}", load.turns, load.pause)


# -- the measurement ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What became of the turns."""

    killed_after: int
    """Turns accepted when the server was killed."""
    seconds: float
    """From the kill until all that was accepted was learned."""
    learned: Counter[str]
    left: int
    """Jobs that still wait, or were set aside."""


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as every part
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
            work = [clients.submit(converse, number, load, urls, token, ledger) for number in range(load.clients)]
            killed_after, killed_at = kill_while_it_learns(first, model, ledger, load)
            for done in work:
                done.result()
        found = await_learned(database, load, ledger, killed_after, killed_at)
        return told(load, ledger, found, (model.asked[first.key], model.asked[second.key]))


def kill_while_it_learns(server: Server, model: Provider, ledger: Ledger, load: Load) -> tuple[int, float]:
    """Wait until a third was accepted and the model is just answering *server*; then kill it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(ledger.accepted) < load.all // 3 or not model.is_asked_by(server.key):
        if time.monotonic() > deadline:
            raise RuntimeError("the server to be killed never asked the model")
        time.sleep(0.005)
    server.process.kill()
    return len(ledger.accepted), time.monotonic()


def await_learned(database: str, load: Load, ledger: Ledger, killed_after: int, killed_at: float) -> Found:
    """Look until nothing waits any more, and nothing is missing."""
    storage = open_storage(database)
    deadline = time.monotonic() + PATIENCE_SECONDS
    with open_outbox(database) as outbox:
        while True:
            memories = [storage.load(Scope(f"user-{client}")) for client in range(load.clients)]
            learned = Counter(fact.content.partition(" #")[0] for memory in memories for fact in memory.facts)
            left = len(outbox.pending(now=time.time())) + len(outbox.dead_letters())
            seconds = time.monotonic() - killed_at
            if (not left and learned.keys() >= set(ledger.accepted)) or time.monotonic() > deadline:
                storage.close()
                return Found(killed_after, seconds, learned, left)
            time.sleep(0.1)


def told(load: Load, ledger: Ledger, found: Found, calls: tuple[int, int]) -> Measured:
    once = sum(found.learned[turn] == 1 for turn in ledger.accepted)
    lost = sum(not found.learned[turn] for turn in ledger.accepted)
    twice = sum(times > 1 for times in found.learned.values())
    times = [seconds * 1_000 for seconds in ledger.seconds]
    accepted = len(ledger.accepted)
    rows = [
        Row("turns submitted", load.all, "turns"),
        Row("accepted", accepted, "turns", bound=at_least(load.all), note=f"{found.killed_after} before the kill"),
        Row("learned exactly once", once, "turns", bound=at_least(accepted)),
        Row("lost", lost, "turns", bound=at_most(0)),
        Row("learned twice", twice, "turns", bound=at_most(0)),
        Row("left waiting or set aside", found.left, "conversations", bound=at_most(0)),
        Row("requests repeated", ledger.retries, "requests", note="at the other server"),
        Row("model calls of the killed server", calls[0], "calls"),
        Row("model calls of the other one", calls[1], "calls"),
        quantile_row("a submission over HTTP, median", times, 0.5, "ms wall"),
        quantile_row("a submission over HTTP, 99th percentile", times, 0.99, "ms wall"),
        Row("from the kill until all is learned", found.seconds, "s wall", note="clients go on meanwhile"),
    ]
    note = (
        f"{load.clients} clients, {load.talks} conversations each, a turn every {load.pause} s; a model that takes "
        f"{MODEL_SECONDS} s; leases of {SETTINGS['MEMGRAPH_LEASE_SECONDS']} s: as long as the work of a killed server "
        "waits before the other takes it over (30 s by default). Clients, provider, database and both servers share "
        "this machine."
    )
    return Measured("Two servers on one PostgreSQL, one killed", rows, notes=[note])


if __name__ == "__main__":
    alone(measure)
