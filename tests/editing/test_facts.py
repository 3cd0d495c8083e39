"""Manual edits of facts and summaries are validated, and manual from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memgraph.editing import add_fact, edit_fact, edit_section, remove_fact
from memgraph.errors import EditError
from memgraph.models import Fact, MemoryDocument, PastFact, Section

TEA = Fact(id="fact_00000001", content="Likes tea.", category="preference", confidence=0.8, source="t1")
POLARS = Fact(id="fact_00000002", content="Use Polars.", category="correction", source_error="pandas", source="t1")
KNOWN = MemoryDocument(facts=(TEA, POLARS))
WITH_SUMMARY = MemoryDocument().with_section(
    "work_context", Section(summary="Is a pilot.", updated_at="2026-01-01T00:00:00Z")
)


def test_an_added_fact_is_manual() -> None:
    fact = add_fact(KNOWN, "  Speaks Swedish.\n").facts[-1]

    assert (fact.content, fact.category, fact.confidence, fact.source) == ("Speaks Swedish.", "context", 1.0, "manual")
    assert fact.created_at


def test_adding_a_fact_leaves_the_others_unchanged() -> None:
    assert add_fact(KNOWN, "Speaks Swedish.").facts[:-1] == KNOWN.facts
    assert KNOWN.facts == (TEA, POLARS)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"content": " \n"}, "1 to 2,000 characters, not 0"),
        ({"content": "x" * 2_001}, "1 to 2,000 characters, not 2,001"),
        ({"content": "a\0b"}, "hidden characters"),
        ({"content": "a\ud800b"}, "hidden characters"),
        ({"content": "likes  TEA."}, "fact_00000001 already has the same content"),
        ({"category": "hobby"}, "there is no category 'hobby'; there are preference, knowledge, context"),
        ({"confidence": 1.1}, "confidence is from 0 to 1, not 1.1"),
        ({"confidence": float("nan")}, "confidence is from 0 to 1, not nan"),
        ({"source_error": "x"}, "only a correction has a source_error, not a fact of category context"),
        ({"source_error": " ", "category": "correction"}, "1 to 2,000 characters, not 0"),
    ],
)
def test_an_invalid_fact_is_rejected(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(EditError) as caught:
        add_fact(KNOWN, **({"content": "Speaks Swedish."} | arguments))

    assert problem in str(caught.value)


@pytest.mark.parametrize("content", ["x", "x" * 2_000, "two\nlines\tand a tab", "喜欢茶"])
def test_the_length_of_a_fact_is_1_to_2000_characters(content: str) -> None:
    assert add_fact(KNOWN, content).facts[-1].content == content


def test_an_edited_fact_is_manual_and_keeps_its_position() -> None:
    fact = edit_fact(KNOWN, TEA.id, confidence=0.5).facts[0]

    assert fact == TEA.model_copy(update={"confidence": 0.5, "source": "manual"})


def test_the_spelling_of_a_fact_can_be_changed() -> None:
    assert edit_fact(KNOWN, TEA.id, content="likes tea").facts[0].content == "likes tea"


def test_only_a_correction_keeps_its_source_error() -> None:
    assert edit_fact(KNOWN, POLARS.id, content="Use Polars 1.0.").facts[1].source_error == "pandas"
    assert edit_fact(KNOWN, POLARS.id, category="preference").facts[1].source_error is None


def test_an_edit_without_changes_is_rejected() -> None:
    with pytest.raises(EditError, match="nothing to change"):
        edit_fact(KNOWN, TEA.id)


def test_a_fact_cannot_get_the_content_of_another() -> None:
    with pytest.raises(EditError, match="fact_00000002 already has the same content"):
        edit_fact(KNOWN, TEA.id, content="use polars.")


def test_a_learned_fact_can_be_removed() -> None:
    assert remove_fact(KNOWN, TEA.id).facts == (POLARS,)


@pytest.mark.parametrize("change", [remove_fact, lambda memory, fact_id: edit_fact(memory, fact_id, confidence=1)])
def test_the_error_for_an_unknown_fact_names_no_other_fact(
    change: Callable[[MemoryDocument, str], MemoryDocument],
) -> None:
    """One that is spelled alike has nothing to do with it, and would be changed instead."""
    with pytest.raises(EditError, match=r"there is no fact 'fact_0000002'; known facts: 2$"):
        change(KNOWN, "fact_0000002")


def test_the_error_for_a_past_fact_names_the_one_that_replaced_it() -> None:
    """Also by way of others."""
    older = PastFact.of(Fact(id="fact_a", content="Drinks coffee."), "superseded", at="2026-05", by="fact_b")
    newer = PastFact.of(Fact(id="fact_b", content="Drinks mate."), "superseded", at="2026-06", by=TEA.id)
    memory = KNOWN.model_copy(update={"past": (older, newer)})

    with pytest.raises(EditError, match=f"there is no fact 'fact_a'; '{TEA.id}' replaced it"):
        edit_fact(memory, "fact_a", confidence=1)


# -- summaries ------------------------------------------------------------------------------------


def test_editing_a_summary_changes_nothing_else() -> None:
    edited = edit_section(WITH_SUMMARY, "work_context", "  Flies gliders.\n")

    assert edited.section("work_context").summary == "Flies gliders."
    assert edited.section("work_context").updated_at > "2026-01-01"
    assert edited.with_section("work_context", Section()).model_copy(update={"last_updated": ""}) == MemoryDocument()


def test_editing_a_summary_to_the_same_text_returns_the_same_memory() -> None:
    """So nothing is saved and no other writer gets a conflict."""
    assert edit_section(WITH_SUMMARY, "work_context", " Is a pilot. ") is WITH_SUMMARY


def test_an_empty_text_removes_the_summary() -> None:
    assert edit_section(WITH_SUMMARY, "work_context", " ").is_empty


@pytest.mark.parametrize(
    ("text", "problem"), [("word " * 1_200, "at most 1,000 tokens"), ("a\0b", "hidden characters")]
)
def test_an_invalid_summary_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(EditError, match=problem):
        edit_section(WITH_SUMMARY, "work_context", text)


def test_a_summary_that_a_person_wrote_stays_when_a_fact_is_removed() -> None:
    memory = MemoryDocument(facts=(Fact(id="f1", content="Lives in Lisbon."),))
    memory = edit_section(memory, "personal_context", "Lives in Lisbon, and loves it.", by_person=True)

    assert remove_fact(memory, "f1").user.personal_context.summary == "Lives in Lisbon, and loves it."
