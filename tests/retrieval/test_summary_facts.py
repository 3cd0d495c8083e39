"""A sentence of a summary that rests on a fact that has ended is not shown."""

from __future__ import annotations

import pytest

from memgraph import MemoryDocument, recall
from memgraph.analysis.terms import content_terms
from memgraph.models import Fact, PastFact, Section
from memgraph.retrieval import summary_facts
from memgraph.retrieval.summary_facts import with_current_summaries

WRITTEN, CHANGED = "2026-03-01T00:00:00Z", "2026-05-10T00:00:00Z"


def memory_of(summary: str, old: str, new: str | None, *facts: str, written: str = WRITTEN) -> MemoryDocument:
    """A memory with a summary, in which *old* ended and *new* followed it."""
    past = PastFact(
        content=old,
        ended_at=CHANGED,
        ended_by="new" if new else "",
        reason="superseded" if new else "removed",
        created_at="2026-01-01T00:00:00Z",
    )
    current = [Fact(content=content, created_at="2026-01-01T00:00:00Z") for content in facts]
    following = [Fact(id="new", content=new, created_at=CHANGED)] if new else []
    memory = MemoryDocument(facts=(*current, *following), past=(past,))
    return memory.with_section("personal_context", Section(summary=summary, updated_at=written))


def shown(memory: MemoryDocument) -> str:
    return with_current_summaries(memory).user.personal_context.summary


@pytest.mark.parametrize(
    ("summary", "old", "new", "kept"),
    [
        ("Lives in Lisbon. Likes tea.", "Lives in Lisbon.", "Lives in Porto.", "Likes tea."),
        ("Ana is a nurse in Lisbon with two cats.", "Works as a nurse.", "Works as a teacher.", ""),
        ("Likes tea. Is allergic to nuts.", "Is allergic to nuts.", None, "Likes tea."),
        ("Plans to run the Berlin marathon.", "Plans to run the Berlin marathon.", "Cancelled the marathon.", ""),
        ("Likes tea. Has asthma.", "Has asthma.", "Does not have asthma.", "Likes tea."),
        ("喜欢喝茶。会开车。", "会开车。", "不会开车。", "喜欢喝茶。"),
        ("Has no car. Likes tea.", "Has no car.", "Has a car.", "Likes tea."),
        ("Lives in Lisbon and likes green tea.", "Lives in Lisbon.", None, "Likes green tea."),
        ("住在杭州。喜欢喝茶。", "住在杭州。", "住在成都。", "喜欢喝茶。"),
        ("目前在青藤软件做固件工程师。", "在青藤软件做固件工程师。", "在新禾出版社做舞台监督。", ""),
    ],
)
def test_a_sentence_goes_with_the_fact_that_it_rests_on(summary: str, old: str, new: str | None, kept: str) -> None:
    assert shown(memory_of(summary, old, new)) == kept


@pytest.mark.parametrize(
    ("summary", "old", "new", "facts"),
    [
        ("Moved from Lisbon to Porto.", "Lives in Lisbon.", "Lives in Porto.", ()),
        ("Works for a bakery in Lisbon.", "Lives in Lisbon.", "Lives in Porto.", ("Works for a bakery in Lisbon.",)),
        ("Does not have asthma.", "Has asthma.", "Does not have asthma.", ()),
        ("Lives near the river.", "Lives in Lisbon.", "Lives in Porto.", ()),
        ("Drinks tea in the morning.", "Drinks coffee in the morning.", "Drinks tea in the morning.", ()),
    ],
)
def test_a_sentence_that_holds_is_kept(summary: str, old: str, new: str, facts: tuple[str, ...]) -> None:
    assert shown(memory_of(summary, old, new, *facts)) == summary


def test_a_summary_that_was_written_after_the_change_is_kept() -> None:
    """Whoever wrote it knew."""
    memory = memory_of(
        "Lived in Lisbon for years.", "Lives in Lisbon.", "Lives in Porto.", written="2026-06-01T00:00:00Z"
    )

    assert shown(memory) == "Lived in Lisbon for years."


@pytest.mark.parametrize(("summary", "written"), [("", WRITTEN), ("Likes tea.", "2026-06-01T00:00:00Z")])
def test_facts_that_no_summary_can_rest_on_are_not_read(
    summary: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document has up to 1,000 past facts, most of which ended before its summaries were written."""
    read: list[str] = []

    def read_terms(text: str) -> frozenset[str]:
        read.append(text)
        return content_terms(text)

    monkeypatch.setattr(summary_facts, "content_terms", read_terms)

    shown(memory_of(summary, "Lives in Lisbon.", "Lives in Porto.", written=written))

    assert [text for text in read if "Lives" in text] == []


@pytest.mark.parametrize("reason", ["evicted", "merged"])
def test_a_fact_that_had_to_make_room_still_holds(reason: str) -> None:
    memory = memory_of("Lives in Lisbon.", "Lives in Lisbon.", None)
    past = tuple(fact.model_copy(update={"reason": reason}) for fact in memory.past)

    assert shown(memory.model_copy(update={"past": past})) == "Lives in Lisbon."


def test_recall_leaves_the_sentence_out_and_the_document_keeps_it() -> None:
    memory = memory_of("Lives in Lisbon. Likes tea.", "Lives in Lisbon.", "Lives in Porto.")

    text = recall(memory, ["Where do I live?"])

    assert ("Lisbon" in text, "Likes tea." in text) == (False, True)
    assert memory.user.personal_context.summary == "Lives in Lisbon. Likes tea."
