"""The draft that rules pass on."""

from __future__ import annotations

from update_values import addition, contents, draft, fact

from memgraph.models import MemoryDocument, Refusal
from memgraph.report import RemovedFact

TEA, DOG = fact("Likes tea.", id="f1"), fact("Has a dog.", id="f2")


def test_facts_are_removed_with_the_reason_and_the_others_stay() -> None:
    """Earlier removals are kept, in order."""
    first = draft(MemoryDocument(facts=(TEA, DOG))).end_facts(["f2"], "removed", why="sold")

    both = first.end_facts(["f1", "unknown"], "removed", why="bored")

    assert contents(first.memory) == ["Likes tea."]
    assert both.removed == (RemovedFact(fact=DOG, why="sold"), RemovedFact(fact=TEA, why="bored"))
    assert both.memory.facts == ()


def test_a_fact_of_this_update_that_ends_is_not_past() -> None:
    """It never was current."""
    before = draft(MemoryDocument(facts=(TEA, DOG)), additions=(addition("Has a dog.", id="f2"),))

    after = before.end_facts(["f1", "f2"], "evicted", why="full").memory

    assert (contents(after), [past.content for past in after.past]) == ([], ["Likes tea."])


def test_refusals_are_collected_in_order() -> None:
    """Nothing that was refused is forgotten by a later refusal."""
    result = draft().with_refusal("a", "why a").with_refusal("b", "why b")

    assert result.refused == (Refusal(item="a", reason="why a"), Refusal(item="b", reason="why b"))


def test_new_ids_are_those_of_all_additions() -> None:
    """Also of additions that are refused later."""
    parts = (addition("x", id="f1"), addition("y", id="f2", durable=False))

    assert draft(additions=parts).new_ids == {"f1", "f2"}


def test_a_draft_is_a_value() -> None:
    """Each rule returns a new one."""
    before = draft(MemoryDocument(facts=(TEA,)))

    before.end_facts(["f1"], "removed", why="x")
    before.with_refusal("x", "y")

    assert (before.removed, before.refused, contents(before.memory)) == ((), (), ["Likes tea."])
