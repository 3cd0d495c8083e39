"""A person decides about changes in quarantine."""

from __future__ import annotations

import pytest

from memgraph.editing import accept_quarantined, find_quarantined, reject_quarantined
from memgraph.errors import EditError
from memgraph.models import Fact, MemoryDocument, Quarantined, Section

OSLO = Fact(id="f1", content="Lives in Oslo.")
TEA = Fact(id="f2", content="Likes tea.")
OWN = Fact(id="f3", content="Has a dog.", source="manual")
ROME = Fact(id="f1", content="Lives in Rome.", replaces=("f1", "f3"))
AGAIN = Fact(id="f9", content="likes TEA.")
CHANGE = Quarantined(
    id="q1", reason="too much", facts=(ROME, AGAIN), removes=("gone",), summaries={"workContext": "Cook."}
)
MEMORY = MemoryDocument(
    facts=(OSLO, TEA, OWN), quarantine=(CHANGE, Quarantined(id="q2", removes=("f2", "f3")))
).with_section("work_context", Section(summary="Engineer."))


def test_an_accepted_change_is_applied_as_a_whole() -> None:
    """What its facts replace is past, a manual fact too; known facts are not doubled."""
    memory = accept_quarantined(MEMORY, "q1")

    assert [fact.content for fact in memory.facts] == ["Likes tea.", "Lives in Rome."]
    assert [(fact.content, fact.reason) for fact in memory.past] == [
        ("Lives in Oslo.", "superseded"),
        ("Has a dog.", "superseded"),
    ]
    assert memory.user.work_context.summary == "Cook."
    assert [item.id for item in memory.quarantine] == ["q2"]


def test_an_accepted_removal_removes_what_was_learned() -> None:
    """Not what a person wrote."""
    assert [fact.id for fact in accept_quarantined(MEMORY, "q2").facts] == ["f1", "f3"]


def test_a_rejected_change_is_gone() -> None:
    """And changes nothing else."""
    memory = reject_quarantined(MEMORY, "q1")

    assert (memory.facts, [item.id for item in memory.quarantine]) == (MEMORY.facts, ["q2"])


@pytest.mark.parametrize("decide", [find_quarantined, accept_quarantined, reject_quarantined])
def test_an_unknown_change_is_an_error(decide: object) -> None:
    """Somebody else may have decided it."""
    with pytest.raises(EditError, match="no change 'q3' in quarantine"):
        decide(MEMORY, "q3")  # type: ignore[operator]


def test_a_document_keeps_its_quarantine() -> None:
    """What is not a change in it does no harm."""
    stored = MEMORY.model_dump(mode="json", by_alias=True)
    odd = {"quarantine": [3, {"facts": 3}, {"facts": [{"content": "x"}], "summaries": []}, {"id": None}]}

    assert MemoryDocument.model_validate(stored) == MEMORY
    assert [item.id for item in MemoryDocument.model_validate(odd).quarantine] == [""]
    assert MemoryDocument.model_validate({"quarantine": None}).quarantine == ()
