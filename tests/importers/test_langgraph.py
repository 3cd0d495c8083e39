"""The items of a LangGraph store become facts, from a running store as from a file."""

from __future__ import annotations

import json

import pytest
from langgraph.store.memory import InMemoryStore

from memgraph.errors import EditError
from memgraph.importers import READERS, ExportDocument, read_store, stores

ADA = ("memories", "ada")


@pytest.fixture
def store() -> InMemoryStore:
    store = InMemoryStore()
    store.put(ADA, "k1", {"content": "Lives in Oslo."})
    store.put(ADA, "k2", {"text": "Likes tea.", "category": "preference"})
    store.put((*ADA, "profile"), "k3", {"favorite_color": "green", "age": 36})
    store.put(("memories", "bob"), "k4", {"content": "Lives in Bonn."})
    return store


def test_a_namespace_is_read_with_those_below_it(store: InMemoryStore) -> None:
    result = read_store(store, ADA)

    assert {(fact.category, fact.content) for fact in result.memory.facts} == {
        ("context", "Lives in Oslo."),
        ("preference", "Likes tea."),
        ("context", "favorite color: green"),
    }
    assert [note.what for note in result.report.left] == ["age: 36"]


def test_facts_keep_their_keys_and_times(store: InMemoryStore) -> None:
    (item,) = store.search(ADA, filter={"content": "Lives in Oslo."})

    fact = next(fact for fact in read_store(store, ADA).memory.facts if fact.content == "Lives in Oslo.")

    assert (fact.id, fact.source) == ("k1", "langgraph")
    assert fact.created_at[:19] == item.created_at.isoformat()[:19]


def test_a_namespace_of_many_pages_is_read_whole(store: InMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "PAGE_ITEMS", 2)

    assert len(read_store(store, ("memories",)).memory.facts) == 4


def test_too_large_a_namespace_is_an_error(store: InMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_ITEMS", 2)

    with pytest.raises(EditError, match="more than 2 items"):
        read_store(store, ADA)


def test_a_file_of_items_is_read_as_the_store_is(store: InMemoryStore) -> None:
    """A dump is a list of what `Item.dict()` returns."""
    dump = json.dumps([item.dict() for item in store.search(ADA)])

    result = READERS["langgraph"]([ExportDocument("store.json", dump.encode())], "memories/ada")

    assert {fact.content for fact in result.memory.facts} == {"Lives in Oslo.", "Likes tea."}
