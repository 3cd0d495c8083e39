"""The memories that ChatDev stored open here, and its files stay as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memgraph.attachments.item import take_snapshot
from memgraph.attachments.simple import BlackboardConfig, BlackboardMemory, SimpleConfig, SimpleMemory
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery
from memgraph.errors import MemoryStoreError
from memgraph.models import Scope

ITEMS: list[dict[str, Any]] = [
    {
        "id": "ab12cd34_1767225600",
        "content_summary": "Input: Which database? Output: The shop uses PostgreSQL.",
        "metadata": {"agent_role": "Writer", "input_preview": "Which database?", "content_length": 56},
        "embedding": [0.6, 0.8],
        "timestamp": 1767225600.5,
        "input_snapshot": {"text": "Which database?", "blocks": [{"role": "user", "block": {"type": "text"}}]},
        "output_snapshot": {"text": "The shop uses PostgreSQL.", "blocks": []},
    },
    {"id": "bb_1", "content_summary": "The logo is green.", "metadata": {}, "embedding": None, "timestamp": None},
]


def make_simple(folder: Path, **config: Any) -> MemoryStore:
    return SimpleMemory("notes", SimpleConfig(memory_path="memory.json", **config), folder=folder)


def make_blackboard(folder: Path, **config: Any) -> MemoryStore:
    return BlackboardMemory("board", BlackboardConfig(memory_path="memory.json", **config), folder=folder)


BOTH = pytest.mark.parametrize("make", [make_simple, make_blackboard])


def write(folder: Path, value: object) -> Path:
    file = folder / "memory.json"
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
    return file


@BOTH
def test_a_stored_memory_is_imported_and_its_file_left_unchanged(tmp_path: Path, make: Any) -> None:
    file = write(tmp_path, ITEMS)
    before = file.read_bytes()
    memory = make(tmp_path)

    memory.load()
    found = memory.retrieve(SearchQuery("the shop uses PostgreSQL, the logo is green"), top_k=5)
    memory.close()

    items = {result.item.content_summary: result.item for result in found}
    assert set(items) == {item["content_summary"] for item in ITEMS}
    stored = items[ITEMS[0]["content_summary"]]
    assert (stored.timestamp, stored.metadata["node"]) == ("2026-01-01T00:00:00.500000Z", "Writer")
    assert stored.output_snapshot is not None
    assert stored.output_snapshot.text == "The shop uses PostgreSQL."
    assert file.read_bytes() == before
    assert (tmp_path / "memory.json.db").exists()


@BOTH
def test_a_memory_is_imported_once(tmp_path: Path, make: Any) -> None:
    """What was deleted since does not return with the next start."""
    write(tmp_path, ITEMS)
    first = make(tmp_path)
    first.load()
    first.update(Interaction(take_snapshot("Which colour?"), take_snapshot("The door is red."), "Writer"))
    first.delete_user("")
    first.close()
    second = make(tmp_path)

    second.load()

    assert list(second.retrieve(SearchQuery("door logo shop PostgreSQL"), top_k=5)) == []
    second.close()


@BOTH
def test_the_items_are_of_no_user_unless_the_memory_is_shared(tmp_path: Path, make: Any) -> None:
    """ChatDev has no users, so that no user's own memory has them."""
    write(tmp_path, ITEMS)
    query = SearchQuery("The logo is green.", scope=Scope("ada"))
    own = make(tmp_path)
    own.load()
    assert list(own.retrieve(query, top_k=5)) == []
    own.close()
    shared = make(tmp_path, shared=True)

    shared.load()

    assert "The logo is green." in {result.item.content_summary for result in shared.retrieve(query, top_k=5)}
    shared.close()


@BOTH
@pytest.mark.parametrize("value", [{"0": {"memory": "a card"}}, [{"content": "x"}], [1], {"contents": 3}])
def test_another_json_file_is_refused_by_a_sentence(tmp_path: Path, make: Any, value: object) -> None:
    file = write(tmp_path, value)
    before = file.read_bytes()
    memory = make(tmp_path)

    with pytest.raises(MemoryStoreError, match="is not a memory of ChatDev"):
        memory.load()

    assert file.read_bytes() == before
    memory.close()


@BOTH
def test_an_empty_memory_is_one_without_items(tmp_path: Path, make: Any) -> None:
    write(tmp_path, [])
    memory = make(tmp_path)

    memory.load()

    assert list(memory.retrieve(SearchQuery("logo"), top_k=5)) == []
    memory.close()
