"""memgraph upkeep merges what is known twice, and shows what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph import Fact, MemoryDocument, Scope, open_storage

NODES = [
    "load_upkeep",
    "find_candidates",
    "build_upkeep_prompt",
    "call_model",
    "parse_upkeep",
    "apply_update",
    "scrub_uploads",
    "save_memory",
]


@pytest.fixture
def known(memgraph: Any, tmp_path: Path) -> Any:
    """Ada's memory, in which one fact was learned twice."""
    facts = (
        Fact(id="a", content="Has 2 cats.", confidence=0.9),
        Fact(id="b", content="has 2  cats.", confidence=0.8),
        Fact(id="c", content="Works at Acme.", confidence=0.9),
    )
    open_storage(f"file:{tmp_path / 'memories'}").save(Scope("ada"), MemoryDocument(facts=facts))
    return memgraph


def contents(memgraph: Any) -> list[str]:
    shown = memgraph("show", "--user", "ada", "--json").json
    return [fact["content"] for fact in shown["facts"]]


def test_what_is_known_twice_is_merged(known: Any) -> None:
    """Each node is shown as it runs, and then the changes."""
    result = known("upkeep", "--user", "ada")

    assert result.code == 0
    shown = [line.split()[0] for line in result.out.splitlines() if line.startswith("  ") and "_" in line.split()[0]]
    assert shown == NODES
    assert "- [context | 0.80] has 2 cats. (removed: merged into a)" in result.out
    assert contents(known) == ["Has 2 cats.", "Works at Acme."]


def test_a_dry_run_saves_nothing(known: Any) -> None:
    """It shows the same changes."""
    result = known("upkeep", "--user", "ada", "--dry-run")

    assert "(removed: merged into a)" in result.out
    assert "Dry run: nothing was saved." in result.out
    assert len(contents(known)) == 3


def test_the_result_is_a_document(known: Any) -> None:
    """For scripts."""
    result = known("upkeep", "--user", "ada", "--json").json

    assert (result["outcome"], result["dry_run"], result["usage"]["calls"]) == ("learned", False, 1)
    assert [removed["fact"]["id"] for removed in result["removed"]] == ["b"]


def test_without_anything_to_do_no_model_is_called(memgraph: Any) -> None:
    """The second upkeep after the first, or that of an unknown user."""
    result = memgraph("upkeep", "--user", "bob", "--json").json

    assert (result["outcome"], result["usage"]["calls"], result["revision"]) == ("nothing_new", 0, None)
