"""What an update wrote about uploads is removed again."""

from __future__ import annotations

import pytest
from update_values import AT, contents, fact

from memgraph.models import MemoryDocument, Refusal, Section
from memgraph.rules.scrub import scrub

REASON = "it mentions an uploaded file"
UPLOAD = "User uploaded q3.pdf."
OSLO, DOG = fact("Lives in Oslo.", id="f1"), fact("Has a dog.", id="f2")


def test_a_new_fact_about_an_upload_is_removed() -> None:
    """The file is gone in the next session."""
    result = scrub(MemoryDocument(facts=(OSLO,)), MemoryDocument(facts=(OSLO, fact(UPLOAD, id="n1"), DOG)))

    assert contents(result.memory) == ["Lives in Oslo.", "Has a dog."]
    assert result.refused == (Refusal(item=UPLOAD, reason=REASON),)


def test_what_was_in_the_memory_before_stays() -> None:
    """An update answers for what it wrote; `memgraph audit` looks at the rest."""
    old = fact(UPLOAD, id="f3")

    result = scrub(MemoryDocument(facts=(old,)), MemoryDocument(facts=(old.model_copy(update={"confirmations": 1}),)))

    assert contents(result.memory) == [UPLOAD]
    assert result.refused == ()


def test_a_known_id_with_a_new_text_is_new() -> None:
    """A client may have edited the stage between the nodes."""
    result = scrub(MemoryDocument(facts=(OSLO,)), MemoryDocument(facts=(OSLO.model_copy(update={"content": UPLOAD}),)))

    assert result.memory.facts == ()


def test_a_manual_fact_stays() -> None:
    """A reviewer may write what they like."""
    written = fact(UPLOAD, id="n1", source="manual")

    result = scrub(MemoryDocument(), MemoryDocument(facts=(written,)))

    assert (result.memory.facts, result.refused) == ((written,), ())


def test_a_memory_without_uploads_is_returned_unchanged() -> None:
    """And nothing is reported."""
    after = MemoryDocument(facts=(OSLO, DOG)).with_section("top_of_mind", Section(summary="Tea."))

    result = scrub(MemoryDocument(), after)

    assert (result.memory, result.refused) == (after, ())


def test_what_a_removed_fact_replaced_is_restored() -> None:
    """In the order of the old memory, before the facts that were kept; as it was."""
    upload = fact(UPLOAD, id="n1", replaces=("f2", "f1"))
    kept = fact("Has a cat.", id="f3")

    result = scrub(MemoryDocument(facts=(OSLO, DOG, kept)), MemoryDocument(facts=(kept, upload)))

    assert result.memory.facts == (OSLO, DOG, kept)


def test_what_another_kept_fact_replaced_stays_gone() -> None:
    """A fact that one kept fact and one removed fact replaced is outdated all the same."""
    upload = fact(UPLOAD, id="n1", replaces=("f1", "f2"))
    rome = fact("Lives in Rome.", id="n2", replaces=("f1",))

    result = scrub(MemoryDocument(facts=(OSLO, DOG)), MemoryDocument(facts=(upload, rome)))

    assert result.memory.facts == (DOG, rome)


def test_what_is_still_there_is_not_restored_twice() -> None:
    """A replacement that was refused leaves the old fact in place."""
    written = fact("Lives in Oslo.", id="f1", source="manual")
    upload = fact(UPLOAD, id="n1", replaces=("f1",))

    result = scrub(MemoryDocument(facts=(written,)), MemoryDocument(facts=(written, upload)))

    assert result.memory.facts == (written,)


def test_facts_that_were_removed_for_another_reason_stay_gone() -> None:
    """Only what the removed fact replaced comes back; an id that never existed does not."""
    upload = fact(UPLOAD, id="n1", replaces=("f2", "f_unknown"))

    result = scrub(MemoryDocument(facts=(OSLO, DOG)), MemoryDocument(facts=(upload,)))

    assert result.memory.facts == (DOG,)


def test_facts_stay_gone_without_any_upload() -> None:
    """No removed fact, no restoration."""
    rome = fact("Lives in Rome.", id="n1", replaces=("f1",))

    assert scrub(MemoryDocument(facts=(OSLO,)), MemoryDocument(facts=(rome,))).memory.facts == (rome,)


def test_a_summary_loses_the_sentence() -> None:
    """The rest of the new text and its time stay."""
    before = MemoryDocument().with_section("work_context", Section(summary="Old.", updated_at="2025-01-01T00:00:00Z"))
    new = Section(summary=f"Engineer. {UPLOAD} Likes tea.", updated_at="2026-01-01T00:00:00Z")

    result = scrub(before, before.with_section("work_context", new))

    assert result.memory.user.work_context == new.model_copy(update={"summary": "Engineer. Likes tea."})
    assert result.refused == (Refusal(item="work_context", reason=REASON),)


def test_a_summary_of_nothing_else_keeps_its_old_text() -> None:
    """And its old time."""
    old = Section(summary="Old.", updated_at="2025-01-01T00:00:00Z")
    before = MemoryDocument().with_section("recent_months", old)

    result = scrub(before, before.with_section("recent_months", Section(summary=UPLOAD, updated_at="2026")))

    assert result.memory == before
    assert result.refused == (Refusal(item="recent_months", reason=REASON),)


def test_an_unchanged_summary_is_not_touched() -> None:
    """It was there before."""
    memory = MemoryDocument().with_section("work_context", Section(summary=UPLOAD))

    assert scrub(memory, memory) == (memory, ())


@pytest.mark.parametrize(("edited", "kept"), [(("work_context",), UPLOAD), (("top_of_mind",), ""), ((), "")])
def test_a_summary_that_a_reviewer_wrote_stays(edited: tuple[str, ...], kept: str) -> None:
    """The others are scrubbed."""
    after = MemoryDocument().with_section("work_context", Section(summary=UPLOAD))

    result = scrub(MemoryDocument(), after, edited_by_user=edited)

    assert result.memory.user.work_context.summary == kept


def test_facts_and_summaries_are_reported_in_order() -> None:
    """Facts first."""
    after = (
        MemoryDocument(facts=(fact(UPLOAD),))
        .with_section("recent_months", Section(summary=UPLOAD))
        .with_section("work_context", Section(summary=UPLOAD))
    )

    assert [refusal.item for refusal in scrub(MemoryDocument(), after).refused] == [
        UPLOAD,
        "work_context",
        "recent_months",
    ]


def test_what_a_dropped_fact_replaced_is_not_past() -> None:
    before = MemoryDocument(facts=(fact("Has a dog.", id="f1"),))
    new = fact("Uploaded a photo of a dog.", id="f2", replaces=("f1",))
    after = before.end_facts({"f1"}, "superseded", at=AT, by="f2", limit=10).with_facts((new,))

    assert scrub(before, after).memory == before
