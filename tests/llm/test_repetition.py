"""An answer that repeats itself is recognised, and only such an answer."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memgraph.llm.stream import MIN_CHARS, MIN_TIMES, repetition_start

ITEM = '{"turn":1,"quote":"I like tea","content":"Likes tea.","category":"preference"},'
OPENING = '{"newFacts":['


def test_the_first_repetition_begins_after_what_is_repeated() -> None:
    assert repetition_start(OPENING + ITEM * 10) == len(OPENING + ITEM)


def test_a_repetition_that_counts_is_one() -> None:
    """As small models go through turns that do not exist."""
    items = "".join(ITEM.replace('"turn":1', f'"turn":{turn}') for turn in range(1, 9))

    assert repetition_start(OPENING + items) == len(OPENING + ITEM)


def test_an_endless_word_or_blank_is_a_repetition() -> None:
    assert repetition_start('{"text":"' + "so good, " * 60) is not None
    assert repetition_start('{"text":' + " " * 500) is not None


def test_less_than_four_times_or_400_characters_is_none() -> None:
    assert repetition_start(OPENING + ITEM * (MIN_TIMES - 1)) is None
    assert repetition_start("ha" * (MIN_CHARS // 2 - 1)) is None


def test_what_has_ended_repeating_is_none() -> None:
    assert repetition_start(OPENING + ITEM * 10 + "]}") is None


def test_facts_of_one_form_are_no_repetition() -> None:
    """They differ in a word."""
    things = ("tea", "rain", "chess", "jazz", "bread", "hiking", "novels", "winter", "cycling", "museums") * 3
    facts = [{"turn": turn, "content": f"Likes {thing} {turn}."} for turn, thing in enumerate(things)]

    assert repetition_start(json.dumps({"newFacts": facts})) is None


@given(st.text(max_size=300), st.text(min_size=1, max_size=120), st.integers(MIN_TIMES, 40))
def test_what_is_left_has_what_was_repeated(before: str, part: str, times: int) -> None:
    """At least once; and nothing is cut off that was said once."""
    text = before + part * times
    start = repetition_start(text)

    if start is not None:
        assert 0 < start < len(text)
    if len(part) * times >= MIN_CHARS + len(part):
        assert start is not None
        assert start <= len(before + part)
