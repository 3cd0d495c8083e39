"""What a model is asked about: near-duplicates, and facts that were not repeated for long."""

from __future__ import annotations

from datetime import date

import pytest
from update_values import fact

from memgraph import Fact, MemoryDocument, Policy
from memgraph.models import Candidate, PastFact, Section, Upkeep
from memgraph.rules.upkeep_candidates import MAX_GROUP, find_candidates, stale_periods

TODAY = date(2026, 5, 1)
NEVER = dict.fromkeys(Policy().stale_days, 36_500)
OLD = "2024-05-01T00:00:00Z"


def found(*facts: Fact, policy: Policy | None = None, asked: tuple[str, ...] = ()) -> tuple[Candidate, ...]:
    return find_candidates(MemoryDocument(facts=facts, upkeep=Upkeep(asked=asked)), policy or Policy(), TODAY)


def test_a_memory_without_candidates_has_none() -> None:
    """Nothing is alike, nothing is old."""
    assert found(fact("Has a cat.", id="a"), fact("Works at Acme.", id="b")) == ()


def test_facts_that_say_the_same_are_a_group() -> None:
    """In any case and spacing."""
    (group,) = found(fact("Has a cat.", id="a"), fact("Works at Acme.", id="b"), fact("has a  CAT.", id="c"))

    assert (group.kind, group.ids) == ("alike", ("a", "c"))


def test_facts_with_most_words_in_common_are_a_group_for_the_model_to_judge() -> None:
    """The rules do not take them for the same: another verb, or another role."""
    (group,) = found(fact("Drives an old Volvo V70.", id="a"), fact("Owns an old Volvo V70 car.", id="b"))

    assert group.ids == ("a", "b")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Has two old Volvo cars.", "Has three old Volvo cars."),
        ("His sister drives an old Volvo.", "Drives an old Volvo."),
        ("Likes old Volvo cars.", "Does not like old Volvo cars."),
    ],
)
def test_facts_about_other_numbers_and_people_or_with_a_denial_are_no_group(one: str, other: str) -> None:
    assert found(fact(one, id="a"), fact(other, id="b")) == ()


def test_a_group_has_one_manual_fact_at_most() -> None:
    """Two of them would both stay."""
    manual = [fact("Has a cat.", id=name, source="manual") for name in "mn"]

    (group,) = found(*manual, fact("Has a cat.", id="a"))

    assert group.ids == ("m", "a")
    assert found(*manual) == ()


def test_a_group_that_was_asked_about_is_not_asked_about_again() -> None:
    """Unless one of its facts has changed."""
    pair = fact("Has a cat.", id="a"), fact("has a cat.", id="b")
    (group,) = found(*pair)

    assert found(*pair, asked=(group.digest,)) == ()
    assert found(*pair, fact("HAS a cat.", id="c"), asked=(group.digest,)) != ()


@pytest.mark.parametrize(
    ("fields", "is_stale"),
    [
        ({"category": "goal"}, True),
        ({"category": "unheard-of"}, True),
        ({"category": "correction"}, False),
        ({"source": "manual"}, False),
        ({"last_confirmed_at": "2026-04-01T00:00:00Z"}, False),
        ({"said_at": "2026-04-01T00:00:00Z"}, False),
        ({"created_at": "2026-04-01T00:00:00Z", "said_at": OLD}, True),
        ({"valid_until": "2027"}, False),
        ({"created_at": ""}, False),
    ],
)
def test_what_becomes_stale(fields: dict[str, str], *, is_stale: bool) -> None:
    """What the user has not said for longer than its kind lives; corrections and manual facts never."""
    old = fact("Has a cat.", **{"created_at": OLD, **fields})

    assert bool(stale_periods(old, Policy(), TODAY)) == is_stale


def test_each_kind_lives_as_long_as_the_policy_says() -> None:
    """A kind that it does not name lives as long as by default."""
    goal = fact("Wants to sail.", id="a", category="goal", created_at="2026-04-01T00:00:00Z")

    assert found(goal, policy=Policy(summaries="update")) == ()
    assert [one.ids for one in found(goal, policy=Policy(summaries="update", stale_days={"goal": 20}))] == [("a",)]
    assert Policy(stale_days={"goal": 20}).stale_days["context"] == Policy().stale_days["context"]


def test_a_stale_fact_is_asked_about_again_after_the_same_time() -> None:
    """What was kept once does not hold for ever."""
    memory = MemoryDocument(facts=(fact("Wants to sail.", id="a", category="goal", created_at=OLD),))
    (first,) = find_candidates(memory, Policy(summaries="update"), date(2025, 1, 1))
    memory = memory.model_copy(update={"upkeep": Upkeep(asked=(first.digest,))})

    assert find_candidates(memory, Policy(summaries="update"), date(2025, 3, 1)) == ()
    assert find_candidates(memory, Policy(summaries="update"), date(2025, 6, 1)) != ()


def test_summaries_left_to_the_upkeep_are_asked_about_if_something_was_learned_since() -> None:
    """Once; the next time when something more was learned."""
    facts = fact("Has a cat.", id="a", created_at=OLD), fact("Sails.", id="b", created_at="2026-04-01T00:00:00Z")
    memory = MemoryDocument(facts=facts).with_section("top_of_mind", Section(summary="Cat.", updated_at=OLD))
    policy = Policy(summaries="upkeep", stale_days=NEVER)

    (asked,) = find_candidates(memory, policy, TODAY)

    assert (asked.kind, asked.ids) == ("summaries", ("b",))
    assert find_candidates(memory.model_copy(update={"upkeep": Upkeep(asked=(asked.digest,))}), policy, TODAY) == ()
    assert find_candidates(memory, Policy(summaries="update", stale_days=NEVER), TODAY) == ()


def test_outdated_summaries_are_asked_about_whoever_writes_them() -> None:
    """With the facts learned since they were written."""
    new = fact("Lives in Porto.", id="b", created_at="2026-04-01T00:00:00Z")
    home = PastFact(
        id="a", content="Lives in Lisbon.", ended_at="2026-04-01T00:00:00Z", ended_by="b", reason="superseded"
    )
    memory = MemoryDocument(facts=(new,), past=(home,)).with_section(
        "personal_context", Section(summary="Lives in Lisbon.", updated_at=OLD)
    )

    (asked,) = find_candidates(memory, Policy(), TODAY)

    assert (asked.kind, asked.ids) == ("summaries", ("b",))


def test_the_newest_facts_are_shown_for_the_summaries() -> None:
    """As many as fit half of the prompt."""
    facts = [
        fact(f"Owns {'very ' * 40}{word}.", id=word, created_at="2026-04-01T00:00:00Z")
        for word in ("boats", "cellos", "tractors", "windmills")
    ]

    *_, asked = found(*facts, policy=Policy(summaries="upkeep", prompt_facts_tokens=300))

    assert (asked.kind, asked.ids) == ("summaries", ("tractors", "windmills"))


def test_one_upkeep_asks_no_more_than_it_may_change() -> None:
    """The damage limit of an update, 5 facts of a small memory; the oldest ones first."""
    facts = [fact(f"Has cat {n}.", id=f"f{n}", created_at=f"2024-05-{20 - n:02}T00:00:00Z") for n in range(8)]

    assert [one.ids for one in found(*facts)] == [(f"f{n}",) for n in (7, 6, 5, 4, 3)]


def test_a_large_group_is_asked_about_in_parts() -> None:
    """Merging some of it is within the damage limit."""
    (group,) = found(*(fact("Has a cat.", id=f"f{n}") for n in range(30)))

    assert len(group.ids) == 7 <= MAX_GROUP


def test_the_candidates_fit_the_prompt() -> None:
    """The rest is asked about by the next upkeep."""
    facts = [fact(f"Has cat {n}." + " miaow" * 30, id=f"f{n}", created_at=OLD) for n in range(5)]

    assert len(found(*facts, policy=Policy(prompt_facts_tokens=300))) == 3
