"""A memory stays within its limit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from update_values import addition, contents, draft, fact

from memgraph.models import Fact, MemoryDocument
from memgraph.policy import Policy
from memgraph.rules.evict import evict, expire

LIMIT = Policy(max_facts=10)


def fillers(count: int) -> tuple[Fact, ...]:
    """Facts that are worth more than any other of the tests."""
    return tuple(fact(f"Filler {n}.", confidence=1.0, created_at="2030-01-01T00:00:00Z") for n in range(count))


def evicted(*facts: Fact, new: tuple[str, ...] = ()) -> list[str]:
    """Ids of the evicted facts among *facts*, of which one has to go."""
    parts = tuple(addition("x", id=fact_id) for fact_id in new)
    result = evict(draft(MemoryDocument(facts=(*facts, *fillers(11 - len(facts)))), LIMIT, additions=parts))
    return [removed.fact.id for removed in result.removed]


def test_a_memory_at_its_limit_is_unchanged() -> None:
    """The limit is inclusive."""
    before = draft(MemoryDocument(facts=fillers(10)), LIMIT)

    assert evict(before) is before


def test_a_memory_beyond_its_limit_is_evicted_down_to_it() -> None:
    """The facts that stay keep their order, and the report says why the others went."""
    facts = tuple(fact(f"Fact {n}.", id=f"f{n}", confidence=n / 20) for n in range(12))

    result = evict(draft(MemoryDocument(facts=facts), LIMIT))

    assert contents(result.memory) == [f"Fact {n}." for n in range(2, 12)]
    assert [(removed.fact.id, removed.why) for removed in result.removed] == [
        ("f0", "the memory is full"),
        ("f1", "the memory is full"),
    ]


def test_of_facts_of_one_day_the_less_certain_goes_first() -> None:
    """Confidence decides between facts that are worth the same otherwise."""
    sure = fact("Sure.", id="sure", confidence=0.8, created_at="2026-01-01T00:00:00Z")
    unsure = fact("Unsure.", id="unsure", confidence=0.7, created_at="2026-01-01T00:00:00Z")

    assert evicted(sure, unsure) == evicted(unsure, sure) == ["unsure"]


def test_what_was_said_on_many_days_outlives_newer_and_surer_facts() -> None:
    """What the user comes back to matters."""
    often = fact("Often.", id="often", confidence=0.7, confirmations=7, last_confirmed_at="2025-12-01T00:00:00Z")
    once = fact("Once.", id="once", confidence=1.0, created_at="2026-04-01T00:00:00Z")

    assert evicted(often, once) == ["once"]


def test_an_attribute_of_the_user_outlives_another_fact() -> None:
    home = fact("Lives in Oslo.", id="home", slot="home", created_at="2026-01-01T00:00:00Z")
    lunch = fact("Had soup.", id="soup", created_at="2026-01-01T00:00:00Z")

    assert evicted(home, lunch) == ["soup"]


def test_what_is_evicted_is_past() -> None:
    """A question about the past still finds it."""
    old = fact("Old.", id="old", created_at="2020-01-01T00:00:00Z")

    result = evict(draft(MemoryDocument(facts=(old, *fillers(10))), LIMIT))

    assert [(past.id, past.reason) for past in result.memory.past] == [("old", "evicted")]


def test_what_expired_leaves_room_for_evictions() -> None:
    """An update did not do that: its limit is for what it removes."""
    plans = tuple(fact(f"Plan {n}.", id=f"p{n}", valid_until="2026-01") for n in range(9))
    memory = MemoryDocument(facts=(*plans, fact("Old.", id="old"), *fillers(10)))

    result = evict(expire(replace(draft(memory, LIMIT), removable=5)))

    assert [past.id for past in result.memory.past if past.reason == "evicted"] == ["old"]


def test_of_equal_confidence_the_older_goes_first() -> None:
    """News is worth more."""
    old = fact("Old.", id="old", created_at="2025-01-01T00:00:00Z")
    new = fact("New.", id="new", created_at="2026-01-01T00:00:00Z")

    assert evicted(old, new) == evicted(new, old) == ["old"]


def test_a_confirmation_makes_an_old_fact_new() -> None:
    """What was repeated last week is not what was said last year."""
    old = fact("Old.", id="old", created_at="2024-01-01T00:00:00Z", last_confirmed_at="2026-02-01T00:00:00Z")
    newer = fact("Newer.", id="newer", created_at="2026-01-01T00:00:00Z")

    assert evicted(old, newer) == ["newer"]


@pytest.mark.parametrize("confidence", [0.0, 0.5])
def test_a_correction_outlives_a_surer_fact(confidence: float) -> None:
    """What was learned from a mistake is worth most."""
    correction = fact("Use pnpm.", id="correction", category="correction", confidence=confidence)
    surer = fact("Likes tea.", id="surer", confidence=0.9)

    assert evicted(correction, surer) == ["surer"]


def test_a_fact_of_this_update_outlives_a_correction() -> None:
    """Otherwise a full memory could not learn anything."""
    correction = fact("Use pnpm.", id="correction", category="correction", confidence=0.9)
    new = fact("Likes tea.", id="new", confidence=0.1)
    others = tuple(filler.model_copy(update={"category": "correction"}) for filler in fillers(9))

    result = evict(draft(MemoryDocument(facts=(correction, new, *others)), LIMIT, additions=(addition("x", id="new"),)))

    assert [removed.fact.id for removed in result.removed] == ["correction"]


def test_manual_facts_neither_count_nor_go() -> None:
    """The limit is on what was learned."""
    written = tuple(fact(f"Written {n}.", source="manual", confidence=0.0) for n in range(20))
    at_limit = draft(MemoryDocument(facts=(*written, *fillers(10))), LIMIT)

    assert evict(at_limit) is at_limit
    assert len(evict(draft(MemoryDocument(facts=(*written, *fillers(11))), LIMIT)).memory.facts) == 30
