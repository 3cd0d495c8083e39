"""Literals of patterns only ever rule out texts that the patterns do not match."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph.text.literals import LiteralGate, fold_case, required_literals
from memgraph.text.slot_files import slot_files
from memgraph.text.slots import Slots

QUANTIFIERS = st.sampled_from(["?", "*", "+", "??", "{0,2}", "{1,2}", "{2}"])
WORDS = st.sampled_from(["work", "is in", "K", "kiss", "住在", "吗"])
ATOMS = WORDS | st.sampled_from([r"\d", "[ab-]", "[^]x]", ".", r"\bgo\b", "(?P<x>go)", "(?=.)"])


def may_match(pattern: str, text: str) -> bool:
    """Whether the literals of *pattern* do not rule out *text*."""
    literals, folded = required_literals(pattern), fold_case(text)
    return not literals or any(literal in folded for literal in literals)


def combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        lists.map("".join),
        lists.map(lambda found: f"(?:{'|'.join(found)})"),
        st.builds("(?:{}){}".format, parts, QUANTIFIERS),
        st.builds("{}{}".format, WORDS, QUANTIFIERS),
        st.builds("(?!{}){}".format, parts, parts),
    ).filter(lambda pattern: pattern.count("(?P<x>") < 2)


@settings(max_examples=25, deadline=None)
@given(st.recursive(ATOMS, combine, max_leaves=6), st.data())
def test_every_text_that_a_pattern_matches_has_one_of_its_literals(pattern: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(pattern, re.IGNORECASE | re.DOTALL), fullmatch=True))

    assert may_match(pattern, text)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.recursive(ATOMS, combine, max_leaves=4), min_size=1, max_size=4), st.data())
def test_a_gate_leaves_out_only_patterns_that_the_text_does_not_match(patterns: list[str], data: st.DataObject) -> None:
    compiled = [re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in patterns]
    text = data.draw(st.from_regex(data.draw(st.sampled_from(compiled))))

    matching = [position for position, pattern in enumerate(compiled) if pattern.search(text)]

    assert set(matching) <= set(LiteralGate(patterns).candidates(text))


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("(?:works?|working) (?:for|at) <Name>", {"work", "working"}),
        ("(?:new )?salary is <val>", {"salary is"}),
        ("(?:住|搬)(?:在|到)了?", {"住", "搬"}),
        ("tea|<drink>", set[str]()),
        ("(?:tea)?", set[str]()),
        ("(?=tea).*", set[str]()),
        ("(?x)t e a", set[str]()),
        ("(?P<x>tea)(?(x)milk|rum)", {"tea"}),
    ],
)
def test_the_most_selective_literals_are_taken(pattern: str, literals: set[str]) -> None:
    assert required_literals(pattern) == literals


def test_most_slots_have_literals() -> None:
    """The others are compiled for every process that reads a fact."""
    without = [
        (language, name)
        for language, file in slot_files().items()
        for name in file.slots
        if not file.slot_literals(name)
    ]

    assert len(without) <= 2


@pytest.mark.parametrize("text", ["LİVES in Oslo", "lıves in Oslo"])
def test_letters_that_ignored_case_makes_equal_are_not_missed(text: str) -> None:
    assert re.match("lives", text, re.IGNORECASE)

    assert may_match("lives", text)


@pytest.mark.parametrize(
    "text",
    ["Works as a nurse at Acme.", "My salary is 3000 euros", "Drives a red Volvo.", "我在阿里巴巴工作", "我吃素"],
)
def test_a_fact_is_read_the_same_with_and_without_skipping(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first facts are matched with few patterns, later ones with all."""
    skipping = Slots(slot_files()).values(text)
    monkeypatch.setattr("memgraph.text.slots.MAX_SKIPS", 0)

    assert Slots(slot_files()).values(text) == skipping != ()
