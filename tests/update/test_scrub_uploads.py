"""Uploaded files stay out of the memory."""

from __future__ import annotations

import pytest
from update_values import contents, fact, update

from memgraph import MemoryDocument, Section
from memgraph.models import Refusal, Rewrite
from memgraph.update.nodes import scrub_uploads

UPLOAD = "User uploaded q3.pdf."


def test_new_facts_about_uploads_are_removed_and_reported() -> None:
    """Old ones stay."""
    old = fact("User uploaded q1.pdf.", id="f1")
    applied = MemoryDocument(facts=(old, fact(UPLOAD, id="f2"), fact("Prefers PDF to Word.", id="f3")))

    output = scrub_uploads(
        {"memory": MemoryDocument(facts=(old,)), "pending_turns": 1, "applied": applied, "changes": update()}
    )

    assert contents(output["scrubbed"]) == ["User uploaded q1.pdf.", "Prefers PDF to Word."]
    assert output["uploads"] == (Refusal(item=UPLOAD, reason="it mentions an uploaded file"),)


@pytest.mark.parametrize(("edited", "summary"), [(True, UPLOAD), (False, "")])
def test_only_the_summary_of_a_reviewer_may_mention_an_upload(edited: bool, summary: str) -> None:  # noqa: FBT001
    """A person knows what it is for."""
    change = Rewrite(section="work_context", summary=UPLOAD, base="", edited_by_user=edited)
    applied = MemoryDocument().with_section("work_context", Section(summary=UPLOAD))

    output = scrub_uploads(
        {"memory": MemoryDocument(), "pending_turns": 1, "applied": applied, "changes": update(rewrites=(change,))}
    )

    assert output["scrubbed"].user.work_context.summary == summary
