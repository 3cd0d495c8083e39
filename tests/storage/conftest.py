"""Fixtures of the storage tests."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

import memgraph
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.langgraph import LangGraphStorage

ROOT = Path(memgraph.__file__).parent.parent

URLS = {
    "file": "file:{folder}",
    "sqlite": "sqlite:{folder}/memory.db",
    "memory": "memory:",
    "postgresql": "{postgres_url}",
    "langgraph": "{langgraph_in_memory}",
    "langgraph on sqlite": "{langgraph_on_sqlite}",
    "langgraph on postgresql": "{langgraph_on_postgres}",
}
"""URL of each storage. `{name}` alone is the value of that fixture: a URL or a storage."""

LEARNER = """
import sys
from memgraph.errors import RevisionConflictError
from memgraph.models import Fact, Scope
from memgraph.storage import open_storage

url, who, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
storage, ada = open_storage(url), Scope("ada")
for number in range(times):
    while True:
        memory = storage.load(ada)
        try:
            storage.save(ada, memory.with_facts((*memory.facts, Fact(content=f"{who}-{number}"))))
        except RevisionConflictError:
            continue
        break
    print(number, flush=True)
"""
"""A process that saves one fact at a time, and retries after conflicts."""

StartLearner = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start_learner() -> StartLearner:
    def start(url: str, who: str, times: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", LEARNER, url, who, str(times)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )

    return start


@pytest.fixture
def langgraph_in_memory() -> LangGraphStorage:
    return LangGraphStorage(InMemoryStore())


@pytest.fixture
def langgraph_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LangGraphStorage]:
    from langgraph.store.sqlite import SqliteStore

    with SqliteStore.from_conn_string(str(tmp_path_factory.mktemp("store") / "store.db")) as store:
        store.conn.execute("PRAGMA synchronous = OFF")  # no power cut is tested
        yield LangGraphStorage(store)


@pytest.fixture
def langgraph_on_postgres(postgres_url: str) -> Iterator[LangGraphStorage]:
    from langgraph.store.postgres import PostgresStore

    with PostgresStore.from_conn_string(postgres_url, pool_config={"min_size": 1, "max_size": 2}) as store:
        store.setup()
        yield LangGraphStorage(store)


@pytest.fixture
def url_for(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Any]:
    def place(name: str) -> Any:
        fixture = re.fullmatch(r"\{(\w+)\}", URLS[name])
        return request.getfixturevalue(fixture[1]) if fixture else URLS[name].format(folder=tmp_path)

    return place


@pytest.fixture(params=URLS)
def storage(request: pytest.FixtureRequest, url_for: Callable[[str], Any]) -> Iterator[MemoryStorage]:
    with open_storage(url_for(request.param)) as opened:
        yield opened


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Switch threads as often as possible, to provoke races."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
