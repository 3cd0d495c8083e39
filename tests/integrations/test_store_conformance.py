"""What every LangGraph BaseStore promises: one suite, run over LangGraph's own stores and over a memory.

Each test runs with the methods and with their async twins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from memgraph import Memory, Settings

DOCS = ("docs", "ada")
NOTES = ("docs", "ada", "notes")
VALUE = {"title": "Trip", "days": 3, "tags": ["a", "b"], "place": {"city": "Lisbon", "sunny": True}, "cost": None}

STORES = {
    "memgraph in RAM": "{memory_store}",
    "memgraph on sqlite": "{sqlite_memory_store}",
    "memgraph, facts": "{facts_store}",
    "in memory": "{in_memory_store}",
    "sqlite": "{sqlite_store}",
    "postgresql": "{postgres_store}",
}
"""The fixture of each store."""


@pytest.fixture
def in_memory_store() -> BaseStore:
    return InMemoryStore()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[BaseStore]:
    sqlite = pytest.importorskip("langgraph.store.sqlite")
    with sqlite.SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        store.setup()
        yield store


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[BaseStore]:
    from langgraph.store.postgres import PostgresStore

    with PostgresStore.from_conn_string(postgres_url, pool_config={"min_size": 1, "max_size": 2}) as store:
        store.setup()
        yield store


def open_memory(storage: str) -> Memory:
    return Memory(storage, model="offline", settings=Settings(model_name="offline", outbox="memory:"))


@pytest.fixture
def memory_store() -> Iterator[BaseStore]:
    with open_memory("memory:") as memory:
        yield memory.store()


@pytest.fixture
def sqlite_memory_store(tmp_path: Path) -> Iterator[BaseStore]:
    with open_memory(f"sqlite:{tmp_path / 'memory.db'}") as memory:
        yield memory.store()


@pytest.fixture
def facts_store() -> Iterator[BaseStore]:
    """The namespace of facts is the one that the tests use."""
    with open_memory("memory:") as memory:
        yield memory.store(("docs", "{user_id}"))


class Calls:
    """Calls the methods of a store, or their async twins."""

    def __init__(self, store: BaseStore, *, is_async: bool) -> None:
        self.store = store
        self._is_async = is_async

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not self._is_async:
            return getattr(self.store, name)

        async def call(*args: Any, **options: Any) -> Any:
            return await getattr(self.store, f"a{name}")(*args, **options)

        return lambda *args, **options: asyncio.run(call(*args, **options))


@pytest.fixture(params=STORES)
def any_store(request: pytest.FixtureRequest) -> BaseStore:
    return request.getfixturevalue(STORES[request.param].strip("{}"))


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def store(request: pytest.FixtureRequest, any_store: BaseStore) -> Calls:
    if request.param:
        skip_without_async(any_store)
    return Calls(any_store, is_async=request.param)


def skip_without_async(store: BaseStore) -> None:
    if type(store).__name__ == "SqliteStore":
        pytest.skip("its async methods are those of another class")


def keys_of(items: list[Any]) -> list[str]:
    return sorted(item.key for item in items)


# -- get, put, delete ------------------------------------------------------------------------------


def test_a_value_comes_back_as_it_was_put(store: Calls) -> None:
    store.put(DOCS, "trip", VALUE)

    item = store.get(DOCS, "trip")

    assert (item.namespace, item.key, item.value) == (DOCS, "trip", VALUE)
    assert isinstance(item.created_at, datetime)
    assert item.created_at <= item.updated_at


def test_a_text_as_content_comes_back_as_it_was_put(store: Calls) -> None:
    """In a memory such a value may be a fact."""
    value = {"content": "Lives in Lisbon.", "source": {"page": 3}}
    store.put(DOCS, "home", value)

    assert store.get(DOCS, "home").value == value


def test_a_missing_key_is_none(store: Calls) -> None:
    store.put(DOCS, "trip", VALUE)

    assert store.get(DOCS, "other") is None
    assert store.get(NOTES, "trip") is None


@pytest.mark.parametrize("contents", [("Lives in Lisbon.", "Lives in Porto."), (1, 2)], ids=["texts", "numbers"])
def test_a_put_replaces_the_value_of_its_key(store: Calls, contents: tuple[Any, Any]) -> None:
    for content in contents:
        store.put(DOCS, "k", {"content": content})

    item = store.get(DOCS, "k")

    assert item.value == {"content": contents[1]}
    assert len(store.search(DOCS)) == 1


def test_a_deleted_item_is_gone(store: Calls) -> None:
    store.put(DOCS, "trip", VALUE)

    store.delete(DOCS, "trip")

    assert store.get(DOCS, "trip") is None
    assert store.search(DOCS) == []


def test_deleting_a_missing_key_does_nothing(store: Calls) -> None:
    store.delete(DOCS, "trip")

    assert store.get(DOCS, "trip") is None


@pytest.mark.parametrize("key", ["a b", "ключ", "日本語", "a/b.md", "1", "x" * 200, "'; DROP TABLE store; --"])
def test_a_key_is_any_text(store: Calls, key: str) -> None:
    store.put(DOCS, key, VALUE)

    assert store.get(DOCS, key).value == VALUE


@pytest.mark.parametrize(
    "value", [{}, {"content": None}, {"content": ["a"]}, {"text": "日本語 🙂"}, {"a": {"b": {"c": [1, {"d": 2.5}]}}}]
)
def test_a_value_is_any_json_object(store: Calls, value: dict[str, Any]) -> None:
    store.put(DOCS, "k", value)

    assert store.get(DOCS, "k").value == value


def test_namespaces_are_apart(store: Calls) -> None:
    store.put(DOCS, "k", {"n": 1})
    store.put(NOTES, "k", {"n": 2})
    store.put(("docs", "bob"), "k", {"n": 3})

    store.delete(NOTES, "k")

    assert store.get(DOCS, "k").value == {"n": 1}
    assert store.get(("docs", "bob"), "k").value == {"n": 3}


@pytest.mark.parametrize("namespace", [(), ("a", ""), ("a.b",), ("langgraph", "a"), ("a", 1)], ids=repr)
def test_an_invalid_namespace_is_refused(store: Calls, namespace: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", VALUE)


# -- search ----------------------------------------------------------------------------------------


def test_a_search_finds_all_items_below_its_prefix(store: Calls) -> None:
    store.put(DOCS, "a", VALUE)
    store.put(NOTES, "b", VALUE)
    store.put(("docs", "bob"), "c", VALUE)
    store.put(("other", "ada"), "d", VALUE)

    assert keys_of(store.search(DOCS)) == ["a", "b"]
    assert keys_of(store.search(NOTES)) == ["b"]
    assert keys_of(store.search(("docs",))) == ["a", "b", "c"]
    assert keys_of(store.search(())) == ["a", "b", "c", "d"]
    assert store.search(("docs", "eve")) == []


def test_a_found_item_has_its_namespace_and_value(store: Calls) -> None:
    store.put(NOTES, "trip", VALUE)

    (item,) = store.search(DOCS)

    assert (item.namespace, item.key, item.value) == (NOTES, "trip", VALUE)


def test_a_query_finds_what_has_its_words(store: Calls) -> None:
    """A store without an index returns all."""
    store.put(NOTES, "tea", {"text": "Likes green tea in the morning"})

    found = store.search(DOCS, query="green tea")

    assert keys_of(found) == ["tea"]
    assert found[0].score is None or found[0].score > 0


FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "equal": ({"kind": "a"}, ["one", "two"]),
    "several": ({"kind": "a", "n": 1}, ["one"]),
    "$eq": ({"n": {"$eq": 2}}, ["two"]),
    "$ne": ({"kind": {"$ne": "a"}}, ["three"]),
    "$gt": ({"n": {"$gt": 1}}, ["three", "two"]),
    "$gte": ({"n": {"$gte": 2}}, ["three", "two"]),
    "$lt": ({"n": {"$lt": 2}}, ["one"]),
    "$lte": ({"n": {"$lte": 2}}, ["one", "two"]),
    "a range": ({"n": {"$gt": 1, "$lt": 3}}, ["two"]),
    "nothing": ({"kind": "c"}, []),
    "a missing field": ({"other": "a"}, []),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_selects_by_the_fields_of_values(store: Calls, name: str) -> None:
    wanted, expected = FILTERS[name]
    for number, (key, kind) in enumerate([("one", "a"), ("two", "a"), ("three", "b")], 1):
        store.put(DOCS, key, {"kind": kind, "n": number})

    assert keys_of(store.search(DOCS, filter=wanted)) == expected


def test_pages_have_each_item_once(store: Calls) -> None:
    for number in range(7):
        store.put(DOCS, f"k{number}", {"n": number})

    pages = [store.search(DOCS, limit=3, offset=offset) for offset in (0, 3, 6, 9)]

    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert keys_of([item for page in pages for item in page]) == [f"k{number}" for number in range(7)]


def test_a_search_finds_at_most_ten_unless_asked_for_more(store: Calls) -> None:
    for number in range(12):
        store.put(DOCS, f"k{number}", {"n": number})

    assert len(store.search(DOCS)) == 10
    assert len(store.search(DOCS, limit=20)) == 12


# -- namespaces ------------------------------------------------------------------------------------

NAMESPACES = [("a", "x"), ("a", "x", "deep"), ("a", "y"), ("b", "x"), ("b", "z", "deep", "er")]
LISTINGS: dict[str, tuple[dict[str, Any], list[tuple[str, ...]]]] = {
    "all": ({}, NAMESPACES),
    "prefix": ({"prefix": ("a",)}, NAMESPACES[:3]),
    "wildcard": ({"prefix": ("*", "x")}, [("a", "x"), ("a", "x", "deep"), ("b", "x")]),
    "suffix": ({"suffix": ("x",)}, [("a", "x"), ("b", "x")]),
    "prefix and suffix": ({"prefix": ("a",), "suffix": ("deep",)}, [("a", "x", "deep")]),
    "depth": ({"max_depth": 1}, [("a",), ("b",)]),
    "limit": ({"limit": 2}, NAMESPACES[:2]),
    "offset": ({"limit": 2, "offset": 3}, NAMESPACES[3:]),
    "none": ({"prefix": ("c",)}, []),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_namespaces_are_listed_by_conditions(store: Calls, name: str) -> None:
    options, expected = LISTINGS[name]
    for namespace in NAMESPACES:
        store.put(namespace, "k", VALUE)

    assert sorted(map(tuple, store.list_namespaces(**options))) == expected


# -- batches ---------------------------------------------------------------------------------------


def test_a_batch_answers_each_operation_in_order(store: Calls) -> None:
    store.put(DOCS, "a", VALUE)

    results = store.batch(
        [GetOp(DOCS, "a"), PutOp(NOTES, "b", VALUE), SearchOp(DOCS), GetOp(DOCS, "none"), ListNamespacesOp()]
    )

    item, put, found, missing, namespaces = results
    assert item.value == VALUE
    assert (put, missing) == (None, None)
    assert "a" in keys_of(found)
    assert DOCS in map(tuple, namespaces)
    assert store.get(NOTES, "b").value == VALUE


def test_the_last_put_of_a_key_in_a_batch_counts(store: Calls) -> None:
    store.batch([PutOp(DOCS, "k", {"n": 1}), PutOp(DOCS, "k", {"n": 2}), PutOp(DOCS, "other", {"n": 3})])

    assert store.get(DOCS, "k").value == {"n": 2}
    assert len(store.search(DOCS)) == 2


def test_a_put_without_a_value_deletes(store: Calls) -> None:
    store.put(DOCS, "k", VALUE)

    store.batch([PutOp(DOCS, "k", None)])

    assert store.get(DOCS, "k") is None


def test_an_empty_batch_does_nothing(store: Calls) -> None:
    assert store.batch([]) == []


def test_puts_at_the_same_time_are_all_kept(any_store: BaseStore) -> None:
    skip_without_async(any_store)

    async def put_all() -> None:
        await asyncio.gather(*(any_store.aput(DOCS, f"k{number}", {"n": number}) for number in range(8)))

    asyncio.run(put_all())

    assert len(any_store.search(DOCS, limit=20)) == 8
