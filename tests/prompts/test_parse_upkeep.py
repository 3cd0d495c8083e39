"""An answer to the upkeep becomes a change set; what is invalid in it is refused, item by item."""

from __future__ import annotations

import json

import pytest
from update_values import AT, fact

from memgraph import MemoryDocument, Policy
from memgraph.models import Answer, Candidate, MemoryUpdate, Merge, Removal, Rewrite, Section
from memgraph.prompts.parse import UnreadableError
from memgraph.prompts.upkeep_prompt import parse_upkeep_answer

MEMORY = MemoryDocument(
    facts=(
        fact("Has a cat.", id="a", created_at="2026-02-01T00:00:00Z"),
        fact("Owns a cat.", id="b", created_at="2026-01-01T00:00:00Z"),
        fact("There is a cat.", id="m", source="manual", created_at="2026-03-01T00:00:00Z"),
        fact("Wants to sail.", id="c"),
    )
)
CANDIDATES = (
    Candidate(kind="alike", ids=("a", "b", "m"), digest="d1"),
    Candidate(kind="stale", ids=("c",), digest="d2"),
)


def parse(answer: object, **fields: bool) -> MemoryUpdate:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return parse_upkeep_answer(
        Answer.model_validate({"text": text, **fields}), MEMORY, CANDIDATES, at=AT, thread="unknown", policy=Policy()
    )


def test_merges_and_ends_are_read() -> None:
    """The fact that was learned first stays; everything that was asked is noted."""
    changes = parse({"merge": [{"ids": ["a", "b"], "content": " Has a cat. "}], "end": ["c"]})

    assert changes.merges == (Merge(id="b", content="Has a cat.", merged=("a",)),)
    assert [removal.id for removal in changes.removals] == ["c"]
    assert (changes.asked, changes.message_ids, changes.refused) == (("d1", "d2"), (), ())


def test_a_manual_fact_stays_with_its_wording() -> None:
    """Whatever the model made of it."""
    changes = parse({"merge": [{"ids": ["a", "m"], "content": "Has cats."}]})

    assert changes.merges == (Merge(id="m", content="There is a cat.", merged=("a",)),)


def test_prose_around_the_answer_and_objects_for_ids_are_read() -> None:
    """Small models write more than they are asked for."""
    changes = parse('<think>{"merge": []}</think>Sure:\n```json\n{"end": [{"id": "c", "reason": "past"}]}\n```')

    assert isinstance(changes.removals[0], Removal)
    assert changes.removals[0].id == "c"


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"ids": ["a", "c"], "content": "Has a cat."}, "its ids are not two or more of one group"),
        ({"ids": ["a"], "content": "Has a cat."}, "its ids are not two or more of one group"),
        ({"ids": ["a", "a"], "content": "Has a cat."}, "its ids are not two or more of one group"),
        ({"ids": ["a", "b"], "content": ""}, "it has no content"),
        ("Has a cat.", "its ids are not two or more of one group"),
        (7, "it has no content"),
    ],
)
def test_a_merge_that_was_not_offered_is_refused(item: object, reason: str) -> None:
    """Its facts have to be of one group."""
    changes = parse({"merge": [item], "end": []})

    assert changes.merges == ()
    assert [refusal.reason for refusal in changes.refused] == [reason]


def test_summaries_are_read_if_they_were_asked_about() -> None:
    """One that is as before is no change."""
    memory = MEMORY.with_section("work_context", Section(summary="Sails.")).with_section(
        "top_of_mind", Section(summary="Has a cat.")
    )
    new = [{"section": "workContext", "text": "Wants to sail."}, {"section": "topOfMind", "text": "Has a cat."}]
    answer = Answer(text=json.dumps({"merge": [], "end": [], "summaries": new}))
    about = Candidate(kind="summaries", ids=("c",), digest="d3")

    asked, other = (
        parse_upkeep_answer(answer, memory, candidates, at=AT, thread="unknown", policy=Policy()).rewrites
        for candidates in ((about,), CANDIDATES)
    )

    assert asked == (Rewrite(section="work_context", summary="Wants to sail.", base="Sails."),)
    assert other == ()


def test_a_fact_is_merged_once() -> None:
    """Of two merges with the same fact the first counts."""
    changes = parse({"merge": [{"ids": ["a", "b"], "content": "x"}, {"ids": ["a", "m"], "content": "y"}]})

    assert [merge.content for merge in changes.merges] == ["x"]
    assert len(changes.refused) == 1


def test_only_old_facts_are_ended() -> None:
    """Not those of a group, and no others."""
    changes = parse({"merge": [], "end": ["a", "zz", None, "c"]})

    assert [removal.id for removal in changes.removals] == ["c"]
    assert {refusal.reason for refusal in changes.refused} == {"it is not one of the old facts"}


@pytest.mark.parametrize("text", ["", "Nothing to do.", '{"newFacts": []}', '{"merge": "all"}', "[]"])
def test_anything_else_is_unreadable(text: str) -> None:
    """The model is told what was expected."""
    with pytest.raises(UnreadableError, match="merge and end"):
        parse(text)


@pytest.mark.parametrize("flag", ["cut_off", "refused"])
def test_what_is_cut_off_or_refused_is_unreadable(flag: str) -> None:
    """What is missing would count as kept."""
    with pytest.raises(UnreadableError):
        parse({"merge": [], "end": []}, **{flag: True})
