"""The past of a memory."""

from __future__ import annotations

from update_values import AT, contents, fact

from memgraph.models import MemoryDocument

TEA, DOG = fact("Likes tea.", id="f1", note="kept"), fact("Has a dog.", id="f2")


def test_a_fact_that_ends_keeps_all_it_had_and_when_why_and_what_followed() -> None:
    memory = MemoryDocument(facts=(TEA, DOG)).end_facts({"f1"}, "superseded", at=AT, by="f3", limit=10)

    assert contents(memory) == ["Has a dog."]
    assert [past.model_dump() for past in memory.past] == [
        TEA.model_dump() | {"ended_at": AT, "ended_by": "f3", "reason": "superseded"}
    ]


def test_beyond_the_limit_the_earliest_are_dropped() -> None:
    facts = tuple(fact(f"Number {number}.", id=f"f{number}") for number in range(5))
    memory = MemoryDocument(facts=facts)
    for one in facts:
        memory = memory.end_facts({one.id}, "evicted", at=AT, limit=2)

    assert [past.id for past in memory.past] == ["f3", "f4"]


def test_no_past_is_kept_if_the_limit_is_zero() -> None:
    assert MemoryDocument(facts=(TEA,)).end_facts({"f1"}, "removed", at=AT, limit=0) == MemoryDocument()


def test_unknown_ids_change_nothing() -> None:
    memory = MemoryDocument(facts=(TEA,))

    assert memory.end_facts({"f9"}, "removed", at=AT, limit=10) is memory


def test_past_facts_are_stored_and_an_unreadable_one_is_set_aside() -> None:
    stored = (
        MemoryDocument(facts=(TEA,))
        .end_facts({"f1"}, "expired", at=AT, limit=10)
        .model_dump(by_alias=True, mode="json")
    )
    stored["past"].append({"content": 7})

    memory = MemoryDocument.model_validate(stored)

    assert [(past.content, past.reason) for past in memory.past] == [("Likes tea.", "expired")]
    assert memory.unreadable_facts == ({"content": 7},)
