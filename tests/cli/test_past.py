"""The command line shows a memory as it held on a date, and what is past."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph import Fact, MemoryDocument, MemoryStorage, Scope, open_storage
from memgraph.models import AsSaid, Evidence, PastFact

ADA = Scope("ada")
LISBON = PastFact(
    id="f1",
    content="Lives in Lisbon.",
    created_at="2025-01-10T00:00:00Z",
    ended_at="2026-05-10T00:00:00Z",
    ended_by="f2",
    reason="superseded",
)
PORTO = Fact(id="f2", content="Lives in Porto.", created_at="2026-05-10T00:00:00Z")


@pytest.fixture
def storage(tmp_path: Path) -> MemoryStorage:
    storage = open_storage("file:", storage_path=str(tmp_path / "memories"))
    storage.save(ADA, MemoryDocument(facts=(PORTO,), past=(LISBON,)))
    return storage


@pytest.mark.usefixtures("storage")
def test_show_counts_past_facts_and_lists_them_on_demand(memgraph: Any) -> None:
    assert "1 past fact; list with: --past" in memgraph("show", "--user", "ada").out

    shown = memgraph("show", "--user", "ada", "--past").out

    assert "f1  [context | 0.50] Lives in Lisbon. (superseded 2026-05-10, followed by f2)" in shown


@pytest.mark.usefixtures("storage")
def test_show_prints_the_memory_of_a_date(memgraph: Any) -> None:
    shown = memgraph("show", "--user", "ada", "--as-of", "2026-03").out

    assert "Lives in Lisbon." in shown
    assert "Porto" not in shown


@pytest.mark.usefixtures("storage")
def test_recall_answers_from_the_memory_of_a_date(memgraph: Any) -> None:
    shown = memgraph("recall", "Where does she live?", "--user", "ada", "--as-of", "2026-03").out

    assert "- Lives in Lisbon." in shown
    assert "Today is 2026-03-31." in shown
    assert "Porto" not in shown


def test_show_counts_claims_that_are_kept_as_said_and_lists_them_on_demand(
    memgraph: Any, storage: MemoryStorage
) -> None:
    """With the words of the user and why they are no facts; `why` tells both, too."""
    claim = AsSaid(id="c1", content="Is a US resident.", evidence=(Evidence(quote="Got my card!"),), reason="in doubt")
    claim = claim.model_copy(update={"said_at": "2026-03-02T10:00:00Z"})
    storage.save(ADA, storage.load(ADA).model_copy(update={"as_said": (claim,)}))

    counted, listed = memgraph("show", "--user", "ada").out, memgraph("show", "--user", "ada", "--all").out

    line = 'c1  [context | 0.50] Is a US resident. (as said: "Got my card!")'
    assert "1 claim kept as said; list with: --all" in counted
    assert "Got my card!" not in counted
    assert f"{line} (said 2026-03-02; in doubt)" in listed
    assert "Kept as said, no plain fact: in doubt" in memgraph("why", "c1", "--user", "ada").out


def test_a_past_fact_is_removed_for_good(memgraph: Any, storage: MemoryStorage) -> None:
    assert memgraph("fact", "remove", "f1", "--user", "ada").code == 0

    assert storage.reload(ADA).past == ()
