"""memgraph revert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph.models import ChangeOrigin, Evidence, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage.file import FileStorage
from memgraph.storage.revisions import recorded_as

ADA = Scope("ada")
TEA = Fact(id="tea", content="Likes tea.", source="t1", evidence=(Evidence(quote="I like tea."),))
DOG = Fact(id="dog", content="Has a dog.", source="t2")


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    """Two threads taught a fact each."""
    storage, memory = FileStorage(tmp_path / "memories"), MemoryDocument()
    for fact in (TEA, DOG):
        with recorded_as(ChangeOrigin(by="update", thread=fact.source), Policy()):
            memory = storage.save(ADA, memory.with_facts((*memory.facts, fact)))
    return storage


def test_each_change_is_shown_on_a_line(memgraph: Any, storage: FileStorage) -> None:
    out = memgraph("revert", "-u", "ada", "--thread", "t1").out

    assert out.splitlines()[0].strip().startswith("- tea  ")
    assert out.splitlines()[1] == "Reverted: 1 fact removed. The memory is at revision 3."
    assert storage.load(ADA).facts == (DOG,)


def test_a_revert_can_be_undone(memgraph: Any, storage: FileStorage) -> None:
    memgraph("revert", "-u", "ada", "--since", "2000")

    memgraph("undo", "-u", "ada")

    assert storage.load(ADA).facts == (TEA, DOG)


@pytest.mark.usefixtures("storage")
def test_nothing_is_changed_if_nothing_comes_from_the_thread(memgraph: Any) -> None:
    assert memgraph("revert", "-u", "ada", "--thread", "t9").out.startswith("Nothing rests on that alone.")


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("options", [[], ["--thread", "t1", "--since", "2026"], ["--since", "soon"]])
def test_a_source_that_is_not_one_is_an_error(memgraph: Any, options: list[str]) -> None:
    result = memgraph("revert", "-u", "ada", *options)

    assert result.code != 0
    assert result.err.startswith("Error: ")
