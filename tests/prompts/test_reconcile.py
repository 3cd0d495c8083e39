"""The prompt of the second look, and its answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import addition, fact, update

from memgraph import MemoryDocument
from memgraph.models import Answer, Conflict, Evidence, Verdict
from memgraph.prompts.reconcile import ShownPair, parse_verdicts, read_pairs, reconcile_prompt, verdict_schema

PAIRS = tuple(Conflict(known_id=f"f{number}", addition_id="n1") for number in (1, 2, 3))


def prompt(known: str, new: str, said: str = "", language: str = "auto") -> str:
    memory = MemoryDocument(facts=(fact(known, id="f1", said_at="2026-01-05T23:30:00Z"),))
    changes = update(additions=(addition(new, id="n1", quote=said, evidence=(Evidence(quote=said),)),))
    return reconcile_prompt(PAIRS[:1], changes, memory, language=language, timezone="Europe/Berlin")  # type: ignore[arg-type]


def verdicts(text: str) -> list[Verdict]:
    return list(parse_verdicts(Answer(text=text), PAIRS).values())


def test_both_sentences_stand_side_by_side_with_their_days() -> None:
    """In the user's time zone; an unknown day is named so."""
    assert prompt("Goes by bus.", "Cycles.", "I cycle now").endswith(
        "<pair 1>\nknown (2026-01-06): Goes by bus.\nnew (unknown): Cycles.\nsaid: I cycle now\n</pair>\n"
    )


def test_the_prompt_is_in_the_language_of_the_additions() -> None:
    """Unless another is set."""
    assert "成对陈述" in prompt("坐地铁上班。", "骑车上班。")
    assert "pairs of statements" in prompt("坐地铁上班。", "骑车上班。", language="en")


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_no_text_leaves_its_line(known: str, new: str, said: str) -> None:
    """So that no fact passes for another pair, or for a rule."""
    lines = prompt(f"a{known}", f"b{new}", said, "en").splitlines()

    assert [line.partition(" ")[0] for line in lines[-5:]] == ["<pair", "known", "new", "said:", "</pair>"]
    assert sum(line.startswith("<pair") for line in lines) == 1


def test_pairs_are_read_back() -> None:
    """As the offline model does."""
    shown = prompt("Likes <b> & tea.", "Likes coffee.", "coffee > tea")

    assert list(read_pairs(shown)) == [ShownPair("Likes <b> & tea.", "Likes coffee.", "coffee > tea")]


@pytest.mark.parametrize(
    "text",
    [
        '{"1": "replaces", "2": "same", "3": "both"}',
        'Sure!\n```json\n{"1": "Replaces", "2": "same"}\n```',
        '<think>{"1": "both"}</think>{"1":"replaces","2":"same","3":"both"}',
        '{"pair 1": "replaces", "pair 2": " SAME "}',
        '{"pairs": {"1": "replaces", "2": "same"}}',
        '{"answers": [{"pair": 1, "answer": "replaces"}, {"pair": 2, "answer": "same"}]}',
        '[{"id": "1", "verdict": "replaces"}, {"id": "2", "verdict": "same"}]',
        '["replaces", "same", "both"]',
        "1. replaces\n2. same\n3. both",
        '1: "replaces", 2: "same"',
        "Pair 1 - Replaces\nPair 2 - same",
    ],
)
def test_answers_in_many_shapes_are_read(text: str) -> None:
    """Small models keep to none."""
    assert verdicts(text) == ["replaces", "same", "both"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I don't know.",
        "{}",
        "[]",
        "null",
        '{"1": "maybe", "2": 3, "3": null}',
        '{"9": "replaces"}',
        '{"newFacts": []}',
    ],
)
def test_what_is_not_decided_leaves_both(text: str) -> None:
    """An unreadable answer removes nothing."""
    assert verdicts(text) == ["both", "both", "both"]


@given(
    st.text()
    | st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(
        json.dumps
    )
)
def test_any_answer_decides_each_pair(text: str) -> None:
    """Exactly once, and never with an error."""
    found = parse_verdicts(Answer(text=text), PAIRS)

    assert tuple(found) == PAIRS
    assert set(found.values()) <= {"replaces", "same", "both"}


def test_the_schema_requires_a_verdict_of_each_pair() -> None:
    """As strict mode does."""
    schema = verdict_schema(2)

    assert schema["required"] == list(schema["properties"]) == ["1", "2"]
    assert schema["additionalProperties"] is False
