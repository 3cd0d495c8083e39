"""A memory as it was on a day."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.models import Fact, MemoryDocument, PastFact, Section

LISBON = PastFact(
    id="f1",
    content="Lives in Lisbon.",
    created_at="2025-01-10T09:00:00Z",
    said_at="2025-01-10T09:00:00Z",
    ended_at="2026-05-10T09:00:00Z",
    ended_by="f2",
    reason="superseded",
)
PORTO = Fact(id="f2", content="Lives in Porto.", created_at="2026-05-10T09:00:00Z", replaces=("f1",))
MOVED = MemoryDocument(facts=(PORTO,), past=(LISBON,))


@pytest.mark.parametrize(
    ("date", "current", "past"),
    [
        ("2024", [], []),
        ("2025-01-09", [], []),
        ("2025-01-10", ["f1"], []),
        ("2026-04", ["f1"], []),
        ("2026-05-09", ["f1"], []),
        ("2026-05-10", ["f2"], ["f1"]),
        ("2026-05", ["f2"], ["f1"]),
    ],
)
def test_a_fact_holds_from_when_it_was_said_until_another_follows(
    date: str, current: list[str], past: list[str]
) -> None:
    """Never both, never neither; the end of a month counts."""
    view = MOVED.as_of(date)

    assert ([fact.id for fact in view.facts], [fact.id for fact in view.past]) == (current, past)


def test_a_fact_that_held_is_a_fact_again() -> None:
    """With all it had, without its end."""
    fact = MOVED.as_of("2026-04").facts[0]

    assert not isinstance(fact, PastFact)
    assert fact.model_dump() == LISBON.model_dump(exclude={"ended_at", "ended_by", "reason"})


def test_a_fact_holds_from_the_date_that_it_states() -> None:
    """Although it was said later."""
    job = Fact(content="Works at Acme.", valid_from="2024-03", said_at="2026-01-01T00:00:00Z")

    assert MemoryDocument(facts=(job,)).as_of("2024-03").facts == (job,)


def test_a_plan_holds_since_it_was_said() -> None:
    """Its date is when it happens."""
    plan = Fact(content="Runs a marathon in April.", valid_from="2027-04", said_at="2026-11-01T00:00:00Z")
    memory = MemoryDocument(facts=(plan,))

    assert [len(memory.as_of(day).facts) for day in ("2026-10-31", "2026-11-01", "2027-05")] == [0, 1, 1]


def test_a_plan_holds_on_its_last_day_and_is_past_after_it() -> None:
    plan = Fact(id="p", content="Plans a trip.", said_at="2026-09-01T00:00:00Z", valid_until="2026-10")
    memory = MemoryDocument(facts=(plan,))

    assert memory.as_of("2026-10-31").facts == (plan,)
    assert [(fact.id, fact.reason, fact.ended_at) for fact in memory.as_of("2026-11").past] == [
        ("p", "expired", "2026-10")
    ]


def test_what_was_merged_is_not_shown_beside_the_fact_that_states_it() -> None:
    short = PastFact(id="a", content="Has a dog.", ended_at="2026-05-01T00:00:00Z", ended_by="b", reason="merged")
    later = Fact(id="b", content="Has a dog called Rex.", created_at="2026-03-01T00:00:00Z")
    memory = MemoryDocument(facts=(later,), past=(short,))

    assert [fact.id for fact in memory.as_of("2026-02").facts] == ["a"]
    assert [fact.id for fact in memory.as_of("2026-04").facts] == ["b"]


def test_a_summary_is_shown_if_it_was_written_by_then() -> None:
    """What waited for a decision was no part of the memory."""
    memory = MemoryDocument().with_section("work_context", Section(summary="Baker.", updated_at="2026-05-01T08:00:00Z"))

    assert memory.as_of("2026-05-01").user.work_context.summary == "Baker."
    assert memory.as_of("2026-04").user.work_context.summary == ""


@pytest.mark.parametrize("date", ["", "soon", "2026-13", "2026-02-30", "2026-05-03T10:00:00Z", "5"])
def test_what_is_not_a_date_is_refused(date: str) -> None:
    with pytest.raises(ValueError, match="is not a date: write 2026, 2026-05 or 2026-05-03"):
        MOVED.as_of(date)


DATES = st.sampled_from(["", "2025", "2025-06", "2025-06-15T10:00:00Z", "2026-01-31", "2026-03", "no date"])
FACTS = st.builds(
    PastFact,
    id=st.uuids().map(str),
    said_at=DATES,
    valid_from=DATES,
    valid_until=DATES,
    ended_at=DATES,
    reason=st.sampled_from(["superseded", "removed", "expired", "evicted", "odd"]),
)


@given(st.lists(FACTS, max_size=6), st.lists(FACTS, max_size=6), DATES.filter(lambda date: date[:2] == "20"))
def test_each_fact_that_had_begun_is_current_or_past(facts: list[PastFact], past: list[PastFact], date: str) -> None:
    """None is lost, none is both."""
    memory = MemoryDocument(facts=tuple(facts), past=tuple(past))
    view = memory.as_of(date[:10])
    far = memory.as_of("9999")

    ids = [fact.id for fact in (*view.facts, *view.past)]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {fact.id for fact in (*far.facts, *far.past)} == {fact.id for fact in (*facts, *past)}
