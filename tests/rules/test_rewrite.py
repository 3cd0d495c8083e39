"""Summaries get their new text."""

from __future__ import annotations

import pytest
from update_values import AT, draft

from memgraph.analysis.tokens import count_tokens
from memgraph.models import MemoryDocument, Refusal, Rewrite, Section
from memgraph.policy import Policy
from memgraph.rules.ground_summaries import rewrite


def memory(summary: str, **fields: object) -> MemoryDocument:
    return MemoryDocument().with_section("work_context", Section.model_validate({"summary": summary} | fields))


def change(summary: str, base: str = "Old.", **fields: object) -> Rewrite:
    return Rewrite.model_validate({"section": "work_context", "summary": summary, "base": base} | fields)


def test_a_summary_gets_its_new_text_and_time() -> None:
    """Unknown keys of the section are preserved, and the other sections stay."""
    before = memory("Old.", note="mine").with_section("top_of_mind", Section(summary="Tea."))

    after = rewrite(draft(before, rewrites=(change(" New. "),))).memory

    assert after.user.work_context.model_dump(by_alias=True) == {"summary": "New.", "updatedAt": AT, "note": "mine"}
    assert after.user.top_of_mind == Section(summary="Tea.")


def test_a_summary_of_the_history_is_rewritten_there() -> None:
    """Sections are in two parts of the document."""
    changes = (Rewrite(section="recent_months", summary="Sailed.", base=""),)

    after = rewrite(draft(rewrites=changes)).memory

    assert after.history.recent_months == Section(summary="Sailed.", updated_at=AT)
    assert after.user == MemoryDocument().user


@pytest.mark.parametrize("summary", ["", "  ", "Old.", " Old. "])
def test_an_empty_or_unchanged_summary_changes_nothing(summary: str) -> None:
    """Not even the time; and nothing is refused."""
    before = draft(memory("Old."), rewrites=(change(summary),))

    assert rewrite(before) == before


def test_a_summary_changed_by_another_writer_is_kept() -> None:
    """The model could not know what it would overwrite."""
    result = rewrite(draft(memory("Changed meanwhile."), rewrites=(change("New."),)))

    assert result.memory == memory("Changed meanwhile.")
    assert result.refused == (
        Refusal(item="work_context", reason="the summary was changed by another writer meanwhile"),
    )


def test_the_text_that_another_writer_chose_too_is_not_a_conflict() -> None:
    """Both agree."""
    before = draft(memory("New."), rewrites=(change("New."),))

    assert rewrite(before) == before


def test_every_section_is_rewritten() -> None:
    """One conflict does not stop the others."""
    changes = (change("New.", base="Seen."), Rewrite(section="top_of_mind", summary="Tea.", base=""))

    result = rewrite(draft(memory("Old."), rewrites=changes))

    assert [section.summary for _, section in result.memory.sections()] == ["Old.", "", "Tea.", "", "", ""]
    assert len(result.refused) == 1


def test_a_long_summary_is_cut_at_a_sentence_end() -> None:
    """The document stays readable, and the prompt stays small."""
    policy = Policy(max_summary_tokens=50)

    summary = rewrite(
        draft(policy=policy, rewrites=(change("Builds ships. " * 100, base=""),))
    ).memory.user.work_context.summary

    assert count_tokens(summary) <= 50 < count_tokens(f"{summary} Builds ships.")
    assert summary.endswith("Builds ships.")


def test_the_summary_of_a_reviewer_is_not_cut() -> None:
    """A person knows what the limit is for."""
    text = ("Builds ships. " * 100).strip()

    after = rewrite(
        draft(policy=Policy(max_summary_tokens=50), rewrites=(change(text, base="", edited_by_user=True),))
    ).memory

    assert after.user.work_context.summary == text


def test_a_summary_that_says_nothing_is_refused() -> None:
    """The report names the section and the reason; the old summary stays."""
    after = rewrite(draft(memory("Old."), rewrites=(change("No change."),)))

    assert after.memory == memory("Old.")
    assert after.refused == (Refusal(item="work_context", reason="the new summary says nothing"),)
