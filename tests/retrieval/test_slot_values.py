"""Facts with another value of one slot: the one said later is current, the other one is marked."""

from __future__ import annotations

import pytest

from memgraph import Fact, MemoryDocument, RecallPipeline
from memgraph.retrieval.slot_values import earlier_values

MARCH, MAY = "2026-03-02T09:00:00Z", "2026-05-02T09:00:00Z"


def home(content: str, said_at: str, slot: str | None = "home", **fields: str) -> Fact:
    return Fact(id=content, content=content, said_at=said_at, slot=slot, confidence=0.9, **fields)


LISBON, PORTO = home("Lives in Lisbon.", MARCH), home("Rents a flat in Porto.", MAY)


def test_of_two_values_the_one_said_later_is_current() -> None:
    assert earlier_values((PORTO, LISBON)) == {LISBON.id}


@pytest.mark.parametrize(
    "other",
    [
        home("Lives in Lisbon, near the river.", MAY),
        home("Rents a flat in Porto.", MARCH),
        home("Rents a flat in Porto.", MAY, slot=None),
        home("Rents a flat in Porto.", MAY, slot="address"),
        home("Sister rents a flat in Porto.", MAY),
    ],
    ids=["the same value", "said at once", "no slot", "another slot", "another person"],
)
def test_other_facts_mark_none(other: Fact) -> None:
    assert earlier_values((LISBON, other)) == frozenset()


def test_what_people_have_several_of_is_not_marked() -> None:
    allergies = (home("Is allergic to nuts.", MARCH, "allergy"), home("Is allergic to pollen.", MAY, "allergy"))

    assert earlier_values(allergies) == frozenset()


def test_a_value_that_was_said_again_is_current() -> None:
    again = LISBON.model_copy(update={"last_confirmed_at": "2026-06-02T09:00:00Z"})

    assert earlier_values((again, PORTO)) == {PORTO.id}


@pytest.mark.parametrize("question", ["Where do I live?", "Suggest a snack."])
def test_recall_marks_the_earlier_value(question: str) -> None:
    """Whether it is found, or the whole memory fits."""
    text = RecallPipeline()(MemoryDocument(facts=(LISBON, PORTO)), [question])

    assert "- Lives in Lisbon. (earlier)\n" in text
    assert "- Rents a flat in Porto.\n" in text
