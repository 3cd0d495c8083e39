"""Facts that another fact replaced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.models import Fact
from memgraph.retrieval.memory_index import find_replacements, resolve_superseded


def fact(name: str, *replaces: str, at: str = "") -> Fact:
    return Fact(id=name, content=name, replaces=replaces, created_at=at)


def test_a_replaced_fact_points_to_its_replacement() -> None:
    assert find_replacements([fact("old"), fact("new", "old")]) == {0: 1}


def test_one_fact_may_replace_several() -> None:
    assert find_replacements([fact("a"), fact("b"), fact("new", "a", "b"), fact("c")]) == {0: 2, 1: 2}


@pytest.mark.parametrize(("first", "second", "newest"), [("2026", "2025", 1), ("2025", "2026", 2)])
def test_the_newest_of_several_replacements_counts(first: str, second: str, newest: int) -> None:
    facts = [fact("old", at="2024"), fact("one", "old", at=first), fact("two", "old", at=second)]

    assert find_replacements(facts) == {0: newest}


def test_a_chain_points_from_one_to_the_next() -> None:
    chain = [fact("a"), fact("b", "a", at="2026-01-01"), fact("c", "b", at="2026-02-01")]

    assert find_replacements(chain) == {0: 1, 1: 2}


def test_in_a_circle_the_newest_stays_current() -> None:
    """A document edited by hand may contain anything; one fact must stay."""
    circle = [fact("a", "b", at="2026-01-01"), fact("b", "a", at="2026-02-01")]

    assert find_replacements(circle) == {0: 1}
    assert find_replacements(circle[::-1]) == {1: 0}


def test_in_a_circle_of_three_the_newest_stays_current() -> None:
    circle = [fact("a", "c", at="2026-01"), fact("b", "a", at="2026-02"), fact("c", "b", at="2026-03")]

    assert find_replacements(circle) == {0: 1, 1: 2}
    assert resolve_superseded(circle) == {0: 2, 1: 2}


def test_a_wrong_clock_does_not_bring_the_old_fact_back() -> None:
    assert find_replacements([fact("old", at="2026-02-01"), fact("new", "old", at="2026-01-01")]) == {0: 1}


def test_of_facts_of_one_time_the_first_counts_as_the_newest() -> None:
    """A circle without dates is resolved in the same way each time."""
    assert find_replacements([fact("a", "b"), fact("b", "a")]) == {1: 0}


def test_a_fact_does_not_replace_itself_or_a_missing_one() -> None:
    assert find_replacements([fact("a", "a", "gone")]) == {}


def test_the_last_of_a_chain_is_current_for_all_of_it() -> None:
    chain = [fact("a"), fact("b", "a", at="2026-01-01"), fact("c", "b", at="2026-02-01"), fact("d")]

    assert resolve_superseded(chain) == {0: 2, 1: 2}


def test_without_replacements_nothing_is_superseded() -> None:
    assert resolve_superseded([]) == resolve_superseded([fact("a"), fact("b")]) == {}


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcdef")), st.sampled_from(["", "1", "2"])), max_size=6))
def test_a_superseded_fact_always_has_a_current_one(entries: list[tuple[set[str], str]]) -> None:
    """Whatever a document says about who replaces whom."""
    facts = [fact(name, *ids, at=at) for name, (ids, at) in zip("abcdef", entries, strict=False)]

    current = resolve_superseded(facts)

    assert not set(current.values()) & current.keys()
    assert not facts or len(current) < len(facts)
