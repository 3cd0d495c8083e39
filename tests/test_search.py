"""A search returns what matches, whichever way it is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph import Fact, MemoryClient, MemoryDocument, MemoryStorage, Scope, Settings, open_storage, rank_facts
from memgraph.compat.langmem import create_search_memory_tool
from memgraph.mcp.tools import TOOLS

FACTS = (
    Fact(content="Writes python at work.", source="t1"),
    Fact(content="Allergic to peanuts.", source="t1"),
    Fact(content="Has a cat called Miso.", source="t1"),
)
ADA: Any = {"configurable": {"user_id": "ada", "langgraph_user_id": "ada"}}


def by_client(storage: MemoryStorage) -> str:
    with MemoryClient(storage, user_id="ada", settings=Settings()) as client:
        return str([scored.fact.content for scored in client.search("python")])  # type: ignore[union-attr]


def by_langmem(storage: MemoryStorage) -> str:
    return str(create_search_memory_tool(("ada",), store=storage).invoke({"query": "python"}, ADA))


def by_mcp(storage: MemoryStorage) -> str:
    with MemoryClient(storage, settings=Settings()) as client:
        tool = TOOLS["memory_search"]
        return str(tool.run(client, "ada", tool.arguments(query="python", limit=10)))


def by_rank(storage: MemoryStorage) -> str:
    return str(
        [scored.fact.content for scored in rank_facts(storage.load(Scope("ada")).facts, "python", matching=True)]
    )


@pytest.mark.parametrize("search", [by_client, by_langmem, by_mcp, by_rank])
def test_a_fact_of_the_same_conversation_does_not_match(search: Callable[[MemoryStorage], str], tmp_path: Path) -> None:
    """A neighbour is worth something in a prompt; as the result of a search it is wrong."""
    storage = open_storage(f"file:{tmp_path}")
    storage.save(Scope("ada"), MemoryDocument(facts=FACTS))

    found = search(storage)

    assert "python" in found
    assert "peanuts" not in found
    assert "Miso" not in found
