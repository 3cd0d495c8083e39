"""memgraph erase removes what is kept of a user, and prints a receipt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph import Scope
from memgraph.config import load_settings, make_storage

TEA = "Likes jasmine tea with honey."


@pytest.fixture
def with_users(memgraph: Any) -> Any:
    """Memories of ada and bob, and one that an agent has of ada."""
    memgraph("fact", "add", TEA, "-u", "ada")
    memgraph("fact", "add", "Writes Rust in Vim.", "-u", "ada", "--agent", "coder")
    memgraph("fact", "add", TEA, "-u", "bob")
    return memgraph


def test_erase_removes_the_memories_of_all_agents(with_users: Any) -> None:
    result = with_users("erase", "-u", "ada", "--yes")

    assert (result.code, result.err) == (0, "")
    assert [line.split(":")[0] for line in with_users("users").out.splitlines()] == ["bob"]


def test_the_receipt_has_a_line_for_each_place(with_users: Any) -> None:
    lines = with_users("erase", "-u", "ada", "--yes").out.splitlines()

    assert lines[0] == "Erased user ada: 7 entries."
    assert lines[1].endswith(": memories 2, facts 3, revisions 2; erased texts left: 0")
    assert "Out of reach:" in lines


def test_the_json_receipt_names_places_counts_and_what_is_out_of_reach(with_users: Any) -> None:
    receipt = with_users("erase", "-u", "ada", "--yes", "--json").json

    assert receipt["places"][0]["removed"] == {"memories": 2, "facts": 3, "revisions": 2}
    assert {place["remaining"] for place in receipt["places"]} == {0}
    assert any("checkpointer" in each for each in receipt["out_of_reach"])


def test_attachable_memories_of_the_settings_are_erased_too(
    memgraph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memgraph.attachments.item import take_snapshot
    from memgraph.attachments.manager import MemoryManager
    from memgraph.attachments.store import Interaction

    monkeypatch.chdir(tmp_path)
    Path("memgraph.yaml").write_text("memories: [{name: notes, type: simple, config: {memory_path: auto}}]\n")
    with MemoryManager.from_settings(load_settings()) as manager:
        exchange = Interaction(take_snapshot(TEA), take_snapshot("Noted."), node="writer", scope=Scope("ada"))
        manager.update("notes", exchange)

    places = memgraph("erase", "-u", "ada", "--yes", "--json").json["places"]

    assert {"name": "memory notes", "removed": {"items": 1}, "remaining": 0, "of_others": 0, "error": None} in places
    assert TEA.encode() not in Path("notes.db").read_bytes()


def test_erase_asks_first(with_users: Any) -> None:
    """Without a terminal nothing is erased."""
    result = with_users("erase", "-u", "ada")

    assert (result.code, "add --yes" in result.err) == (2, True)
    assert make_storage(load_settings()).load(Scope("ada")).facts


def test_a_document_that_cannot_be_read_is_named_and_the_command_fails(with_users: Any) -> None:
    """The rest is erased all the same."""
    storage = make_storage(load_settings())
    Path(storage.location(Scope("ada"))).write_text("not json")

    result = with_users("erase", "-u", "ada", "--yes")

    assert (result.code, "is not a memory document" in " ".join(result.out.split())) == (1, True)
    assert storage.load(Scope("ada", "coder")).facts == ()
