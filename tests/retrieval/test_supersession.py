"""Facts that another took the place of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memgraph.models import Fact
from memgraph.retrieval.supersession import find_replacements, resolve_superseded


def fact(name: str, *replaces: str, at: str = "") -> Fact:
    return Fact(id=name, content=name, replaces=replaces, created_at=at)


def test_a_replaced_fact_points_to_what_took_its_place() -> None:
    assert find_replacements([fact("old"), fact("new", "old")]) == {0: 1}


def test_in_a_chain_only_the_newest_stays() -> None:
    assert find_replacements([fact("a"), fact("b", "a", at="2026-01-01"), fact("c", "b", at="2026-02-01")]).keys() == {
        0,
        1,
    }


def test_in_a_circle_the_newest_stays() -> None:
    """A hand-edited document may say anything; something must be left of it."""
    circle = [fact("a", "b", at="2026-01-01"), fact("b", "a", at="2026-02-01")]

    assert find_replacements(circle) == {0: 1}


def test_a_wrong_clock_does_not_bring_the_old_back() -> None:
    assert find_replacements([fact("old", at="2026-02-01"), fact("new", "old", at="2026-01-01")]) == {0: 1}


def test_a_fact_does_not_replace_itself_nor_what_is_not_there() -> None:
    assert find_replacements([fact("a", "a", "gone")]) == {}


def test_the_last_of_a_chain_stands_for_all_of_it() -> None:
    chain = [fact("a"), fact("b", "a", at="2026-01-01"), fact("c", "b", at="2026-02-01")]

    assert resolve_superseded(chain) == {0: 2, 1: 2}


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcdef")), st.sampled_from(["", "1", "2"])), max_size=6))
def test_something_current_always_stands_for_what_was_replaced(said: list[tuple[set[str], str]]) -> None:
    """Whatever a document says about who replaces whom."""
    facts = [fact(name, *ids, at=at) for name, (ids, at) in zip("abcdef", said, strict=False)]

    current = resolve_superseded(facts)

    assert not set(current.values()) & current.keys()
    assert not facts or len(current) < len(facts)
