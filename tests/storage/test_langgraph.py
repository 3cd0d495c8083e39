"""LangGraphStorage: any store, and any number of writers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import AsyncPostgresStore, PostgresStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore
from typing_extensions import TypedDict

from memgraph import build_graph
from memgraph.errors import ConfigError, DamagedMemoryError, RevisionConflictError, StorageError
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.storage import open_storage
from memgraph.storage.langgraph import LangGraphStorage
from memgraph.testing import ScriptedModel, update_answer

if TYPE_CHECKING:
    from pathlib import Path

ADA = Scope("ada")
KNOWN = MemoryDocument(facts=(Fact(id="f", content="Works on engines."),))


def learn(storage: LangGraphStorage, content: str) -> None:
    """Add a fact; retry after conflicts."""
    while True:
        memory = storage.load(ADA)
        try:
            storage.save(ADA, memory.with_facts((*memory.facts, Fact(content=content))))
        except RevisionConflictError:
            continue
        return


def learn_all(storages: Sequence[LangGraphStorage], each: int) -> None:
    """Let each storage add *each* facts, in parallel threads."""

    def learn_some(number: int) -> None:
        for step in range(each):
            learn(storages[number], f"{number}-{step}")

    with ThreadPoolExecutor(len(storages)) as threads:
        list(threads.map(learn_some, range(len(storages))))


# -- what is in the store -------------------------------------------------------------------------


def test_a_memory_is_an_item_below_user_and_agent() -> None:
    store = InMemoryStore()

    LangGraphStorage(store).save(ADA, KNOWN)
    LangGraphStorage(store).save(Scope("Ada.B", "bot"), KNOWN)

    memories = {("memgraph", "ada", "=shared"), ("memgraph", "=41da=2e=42", "bot")}
    assert {item.namespace for item in store.search(("memgraph",), limit=100)} == memories | {
        (*memory, "history") for memory in memories
    }
    item = store.get(("memgraph", "ada", "=shared"), "memory")
    assert item
    assert MemoryDocument.model_validate_json(item.value["document"]).facts == KNOWN.facts


def test_any_valid_agent_name_works() -> None:
    storage = LangGraphStorage(InMemoryStore())

    for agent in (None, "-", "shared", "_", "memory"):
        storage.save(Scope("ada", agent), MemoryDocument(facts=(Fact(content=str(agent)),)))

    assert [storage.load(Scope("ada", agent)).facts[0].content for agent in ("-", "shared", None)] == [
        *("-", "shared", "None")
    ]


def test_all_pages_of_memories_are_listed() -> None:
    storage = LangGraphStorage(InMemoryStore())
    scopes = {Scope(f"user-{number}") for number in range(230)}
    for scope in scopes:
        storage.save(scope, KNOWN)

    assert set(storage.scopes()) == scopes


def test_other_items_in_the_store_are_ignored() -> None:
    store = InMemoryStore()
    store.put(("memgraph",), "mine", {"x": 1})
    store.put(("memgraph", "a", "b"), "mine", {"x": 1})
    store.put(("memgraphs", "a", "b"), "memory", {"x": 1})
    storage = LangGraphStorage(store)

    storage.save(ADA, KNOWN)

    assert list(storage.scopes()) == [ADA]


def test_documents_are_not_embedded() -> None:
    """That would cost a model call at each save."""

    def embed(_: Sequence[str]) -> list[list[float]]:
        pytest.fail("embedded")

    store = InMemoryStore(index={"dims": 2, "embed": embed})

    assert LangGraphStorage(store).save(ADA, KNOWN).revision == 1


def test_a_memory_does_not_expire(tmp_path: Path) -> None:
    """A store may expire its items."""
    with SqliteStore.from_conn_string(str(tmp_path / "store.db"), ttl={"default_ttl": 1e-9}) as store:
        storage = LangGraphStorage(store)
        saved = storage.save(ADA, KNOWN)

        store.sweep_ttl()

        assert storage.load(ADA) == saved


@pytest.mark.parametrize("value", [{}, {"document": 7}, {"document": "oops"}, {"document": "[]"}])
def test_a_damaged_item_is_an_error_and_left_unchanged(value: dict[str, Any]) -> None:
    store = InMemoryStore()
    storage = LangGraphStorage(store)
    loaded = storage.save(ADA, KNOWN)
    namespace = ("memgraph", "ada", "=shared")
    store.put(namespace, "memory", {"user_id": "ada", **value})

    for act in (lambda: storage.load(ADA), lambda: storage.save(ADA, loaded), lambda: storage.delete(ADA)):
        with pytest.raises(DamagedMemoryError, match=r"langgraph:InMemoryStore, memory of 'ada'"):
            act()

    item = store.get(namespace, "memory")
    assert item
    assert item.value == {"user_id": "ada", **value}
    assert list(storage.scopes()) == [ADA]


def test_errors_of_a_store_are_storage_errors(tmp_path: Path) -> None:
    with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        storage = LangGraphStorage(store)

    for act in (lambda: storage.load(ADA), lambda: storage.save(ADA, KNOWN), lambda: list(storage.scopes())):
        with pytest.raises(StorageError, match="langgraph:SqliteStore: ProgrammingError: Cannot operate on a closed"):
            act()


# -- several writers ------------------------------------------------------------------------------


def test_two_storages_of_one_store_lose_no_update() -> None:
    """As in two graphs with the same store."""
    store = InMemoryStore()

    learn_all([LangGraphStorage(store) for _ in range(4)], 25)

    assert len(LangGraphStorage(store).load(ADA).facts) == 100


def test_threads_that_share_one_connection_lose_no_update(postgres_url: str) -> None:
    with PostgresStore.from_conn_string(postgres_url) as store:
        store.setup()

        learn_all([LangGraphStorage(store) for _ in range(4)], 10)

        assert len(LangGraphStorage(store).load(ADA).facts) == 40


def test_a_pool_of_one_connection_is_enough(postgres_url: str) -> None:
    """Reading and writing happen on the connection that holds the lock."""
    with PostgresStore.from_conn_string(postgres_url, pool_config={"min_size": 1, "max_size": 1}) as store:
        store.setup()

        learn_all([LangGraphStorage(store) for _ in range(4)], 10)

        assert len(LangGraphStorage(store).load(ADA).facts) == 40


def test_a_save_that_fails_leaves_the_connection_usable(postgres_url: str) -> None:
    with PostgresStore.from_conn_string(postgres_url) as store:
        store.setup()
        storage = LangGraphStorage(store)
        saved = storage.save(ADA, KNOWN)

        with pytest.raises(RevisionConflictError):
            storage.save(ADA, KNOWN)

        assert storage.save(ADA, saved).revision == 2


LEARNER = """
import sys
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from memgraph.errors import RevisionConflictError
from memgraph.models import Fact, Scope
from memgraph.storage.langgraph import LangGraphStorage

kind, place, who = sys.argv[1:]
with {"postgres": PostgresStore, "sqlite": SqliteStore}[kind].from_conn_string(place) as store:
    storage, ada = LangGraphStorage(store), Scope("ada")
    for number in range(15):
        while True:
            memory = storage.load(ada)
            try:
                storage.save(ada, memory.with_facts((*memory.facts, Fact(content=f"{who}-{number}"))))
            except RevisionConflictError:
                continue
            break
"""


def learn_in_processes(*arguments: str) -> None:
    learners = [subprocess.Popen([sys.executable, "-c", LEARNER, *arguments, str(number)]) for number in range(3)]
    for learner in learners:
        learner.communicate()
    assert [learner.returncode for learner in learners] == [0] * 3


def test_processes_on_postgres_lose_no_update(postgres_url: str) -> None:
    with PostgresStore.from_conn_string(postgres_url) as store:
        store.setup()
        learn_in_processes("postgres", postgres_url)

        assert len(LangGraphStorage(store).load(ADA).facts) == 45


def test_processes_on_sqlite_lose_no_update(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    with SqliteStore.from_conn_string(place) as store:
        store.setup()
        learn_in_processes("sqlite", place)

        assert len(LangGraphStorage(store).load(ADA).facts) == 45


# -- stores of an event loop ----------------------------------------------------------------------


@asynccontextmanager
async def on_connection(url: str, _: Path) -> AsyncIterator[BaseStore]:
    async with AsyncPostgresStore.from_conn_string(url) as store:
        await store.setup()
        yield store


@asynccontextmanager
async def on_pool(url: str, _: Path) -> AsyncIterator[BaseStore]:
    async with AsyncPostgresStore.from_conn_string(url, pool_config={"min_size": 1, "max_size": 1}) as store:
        await store.setup()
        yield store


@asynccontextmanager
async def on_file(_: str, folder: Path) -> AsyncIterator[BaseStore]:
    async with AsyncSqliteStore.from_conn_string(str(folder / "store.db")) as store:
        await store.setup()
        yield store


Opener = Callable[[str, "Path"], AbstractAsyncContextManager[BaseStore]]


@pytest.mark.parametrize("opener", [on_connection, on_pool, on_file])
def test_a_store_of_an_event_loop_is_used_from_threads(opener: Opener, postgres_url: str, tmp_path: Path) -> None:
    """As a node of an awaited graph does."""

    async def learn_beside_the_loop() -> tuple[MemoryDocument, MemoryDocument]:
        async with opener(postgres_url, tmp_path) as store:
            storages = [LangGraphStorage(store) for _ in range(3)]
            await asyncio.to_thread(learn_all, storages, 5)
            with pytest.raises(RevisionConflictError):
                await asyncio.to_thread(storages[0].save, ADA, KNOWN)
            learned = await asyncio.to_thread(storages[0].load, ADA)
            return learned, await asyncio.to_thread(storages[0].delete, ADA)

    learned, deleted = asyncio.run(learn_beside_the_loop())

    assert (len(learned.facts), learned.revision, deleted.revision) == (15, 15, 16)


def test_a_call_from_the_event_loop_of_the_store_is_an_error(tmp_path: Path) -> None:
    async def load() -> None:
        async with on_file("", tmp_path) as store:
            with pytest.raises(StorageError, match="main event loop"):
                LangGraphStorage(store).load(ADA)
            with pytest.raises(StorageError, match="event loop"):
                LangGraphStorage(store).save(ADA, KNOWN)

    asyncio.run(load())


# -- the store of the graph that runs -------------------------------------------------------------


class Revisions(TypedDict, total=False):
    before: int
    after: int


def learner(store: BaseStore | None) -> Any:
    """A graph whose node saves a memory to `langgraph:`."""

    def save(_: Revisions) -> Revisions:
        storage = open_storage("langgraph:")
        loaded = storage.load(ADA)
        return {"before": loaded.revision, "after": storage.save(ADA, loaded).revision}

    return StateGraph(Revisions).add_node("save", save).add_edge(START, "save").compile(store=store)


def test_the_url_is_the_store_of_the_running_graph() -> None:
    store = InMemoryStore()

    learner(store).invoke({})

    assert learner(store).invoke({}) == {"before": 1, "after": 2}
    assert LangGraphStorage(store).load(ADA).revision == 2


def test_a_subgraph_uses_the_store_of_its_parent() -> None:
    store = InMemoryStore()
    parent = StateGraph(Revisions).add_node("child", learner(None)).add_edge(START, "child").compile(store=store)

    asyncio.run(parent.ainvoke({}))

    assert LangGraphStorage(store).load(ADA).revision == 1


def test_the_update_graph_learns_into_its_parents_store() -> None:
    store = InMemoryStore()
    update = build_graph(model=ScriptedModel(update_answer("Works on engines.")), storage="langgraph:")
    parent = StateGraph(MessagesState).add_node("learn", update).add_edge(START, "learn").compile(store=store)

    parent.invoke({"messages": [("human", "I work on engines.")]}, {"configurable": {"user_id": "ada"}})

    assert [fact.content for fact in LangGraphStorage(store).load(ADA).facts] == ["Works on engines."]


def test_one_storage_serves_graphs_with_stores_of_their_own() -> None:
    stores = [InMemoryStore(), InMemoryStore()]
    for store in stores:
        learner(store).invoke({})

    assert [LangGraphStorage(store).load(ADA).revision for store in stores] == [1, 1]


def test_without_a_running_graph_there_is_an_error() -> None:
    with pytest.raises(StorageError, match="no graph is running"):
        open_storage("langgraph:").load(ADA)


def test_without_a_store_in_the_graph_there_is_an_error() -> None:
    with pytest.raises(StorageError, match="it has none"):
        learner(None).invoke({})


def test_the_url_takes_no_name() -> None:
    with pytest.raises(ConfigError, match="takes no name"):
        open_storage("langgraph:mine")


def test_importing_the_storage_imports_no_store() -> None:
    """Neither LangGraph, which is slow, nor the drivers of unused stores."""
    code = "import sys, memgraph.storage.langgraph; print({'langgraph', 'psycopg', 'aiosqlite'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
