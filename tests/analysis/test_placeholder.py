"""Placeholders that a model writes if there is nothing to write."""

from __future__ import annotations

import pytest
from update_values import addition, draft

from memgraph.models import MemoryDocument, Rewrite, Section
from memgraph.rules.add import add, is_placeholder
from memgraph.rules.ground_summaries import rewrite

PLACEHOLDERS = [
    "None", "none.", "N/A", "n/a", "(nothing yet)", "(empty)", "No change.", "No changes", "Nothing new.", "[NONE]",
    "null", "Not applicable.", "No new information.", "unchanged",
    "无", "暂无", "（无）", "没有变化。", "无新信息", "暫無",
]  # fmt: skip


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder_is_neither_stored_nor_replaces_a_summary(text: str) -> None:
    """Nor does it remove the fact that it would replace."""
    memory = MemoryDocument().with_section("work_context", Section(summary="Runs a bakery."))

    added = add(draft(memory, additions=(addition(text),)))
    rewritten = rewrite(draft(memory, rewrites=(Rewrite(section="work_context", summary=text, base="Runs a bakery."),)))

    assert added.memory == rewritten.memory == memory
    assert [refusal.reason for refusal in added.refused] == ["it says nothing"]
    assert [refusal.reason for refusal in rewritten.refused] == ["the new summary says nothing"]


@pytest.mark.parametrize(
    "text", ["None of the user's cars is red.", "Likes nothing more than tea.", "Has no children.", "没有孩子。", "NA9"]
)
def test_a_sentence_with_such_a_word_is_not_a_placeholder(text: str) -> None:
    """Only the whole text counts."""
    assert not is_placeholder(text)


def test_what_a_reviewer_wrote_is_stored() -> None:
    """A person may have a reason."""
    assert len(add(draft(additions=(addition("None", edited_by_user=True),))).memory.facts) == 1
