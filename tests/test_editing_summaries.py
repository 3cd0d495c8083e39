"""A summary that a person wrote is theirs, whole."""

from __future__ import annotations

import pytest

from memgraph import EditError, Memory, Section
from memgraph.editing.update import edit_section

KNOWN = Memory().with_section("work_context", Section(summary="Is a pilot.", updated_at="2026-01-01T00:00:00Z"))


def test_a_summary_is_replaced_and_nothing_else() -> None:
    edited = edit_section(KNOWN, "work_context", "  Flies gliders.\n")

    assert edited.section("work_context").summary == "Flies gliders."
    assert edited.section("work_context").updated_at > "2026-01-01"
    assert edited.with_section("work_context", Section()).model_copy(update={"last_updated": ""}) == Memory()


def test_the_same_again_changes_nothing() -> None:
    """So that nothing is saved, and no other editor is disturbed."""
    assert edit_section(KNOWN, "work_context", " Is a pilot. ") is KNOWN


def test_an_empty_one_removes_it() -> None:
    assert edit_section(KNOWN, "work_context", " ").is_empty


@pytest.mark.parametrize(
    ("text", "problem"), [("word " * 1_200, "at most 1,000 tokens"), ("a\0b", "control characters")]
)
def test_what_may_not_be_is_refused(text: str, problem: str) -> None:
    with pytest.raises(EditError, match=problem):
        edit_section(KNOWN, "work_context", text)
