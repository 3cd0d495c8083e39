"""What was true until a day is past after it."""

from __future__ import annotations

from update_values import addition, contents, draft, fact, update

from memgraph.models import MemoryDocument
from memgraph.policy import Policy
from memgraph.rules.apply import apply
from memgraph.rules.evict import expire

PLAN = fact("Plans a trip in October.", id="f1", said_at="2026-03-01T00:00:00Z", valid_until="2026-10")


def test_a_fact_is_current_until_all_of_its_last_month_is_over() -> None:
    memory = MemoryDocument(facts=(PLAN,))

    last_day = expire(draft(memory, at="2026-10-31T23:59:59Z")).memory
    after = expire(draft(memory, at="2026-11-01T00:00:00Z")).memory

    assert last_day == memory
    assert (contents(after), [(one.id, one.reason, one.ended_at) for one in after.past]) == (
        [],
        [("f1", "expired", "2026-10")],
    )


def test_the_report_says_why_a_fact_expired() -> None:
    result = expire(draft(MemoryDocument(facts=(PLAN,)), at="2026-11-02T00:00:00Z"))

    assert [(removed.fact.id, removed.why) for removed in result.removed] == [("f1", "it was true until 2026-10")]


def test_a_fact_about_the_past_stays_true() -> None:
    """It was said after its end."""
    lived = fact("Lived in Rome until 2020.", said_at="2026-03-01T00:00:00Z", valid_until="2020")

    assert contents(expire(draft(MemoryDocument(facts=(lived,)), at="2027-01-01T00:00:00Z")).memory) == [lived.content]


def test_what_a_person_wrote_is_not_moved() -> None:
    written = PLAN.model_copy(update={"source": "manual"})

    assert contents(expire(draft(MemoryDocument(facts=(written,)), at="2027-01-01T00:00:00Z")).memory) == [PLAN.content]


def test_a_plan_that_is_learned_long_after_it_was_made_is_past_at_once() -> None:
    """It is not lost, and the report mentions it."""
    plan = addition("Plans a trip in October.", said_at="2023-03-01T00:00:00Z", valid_until="2023-10")

    result = apply(update(additions=(plan,)), MemoryDocument(), Policy(grounding="off"))

    assert [(one.content, one.reason) for one in result.memory.past] == [("Plans a trip in October.", "expired")]
    assert [refusal.reason for refusal in result.refused] == ["it was true until 2023-10, so it is past already"]


def test_a_text_that_is_no_date_ends_nothing() -> None:
    vague = fact("Plans a trip.", valid_until="soon")

    assert contents(expire(draft(MemoryDocument(facts=(vague,)), at="2030-01-01T00:00:00Z")).memory) == [
        "Plans a trip."
    ]
