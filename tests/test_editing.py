"""What a person changes in a memory is checked, is theirs from then on, and loses no race."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph.editing import (
    add_fact,
    edit_fact,
    merge_memory,
    read_document,
    remove_fact,
    replace_memory,
    update_memory,
)
from memgraph.errors import EditError, RevisionConflictError
from memgraph.models import Fact, Memory, Scope, Section, Watermark
from memgraph.storage import open_storage

ADA = Scope("ada")
TEA = Fact(id="fact_00000001", content="Likes tea.", category="preference", confidence=0.8, source="t1")
POLARS = Fact(id="fact_00000002", content="Use Polars.", category="correction", source_error="pandas", source="t1")
KNOWN = Memory(facts=(TEA, POLARS))


def test_an_added_fact_is_a_persons() -> None:
    fact = add_fact(KNOWN, "  Speaks Swedish.\n").facts[-1]

    assert (fact.content, fact.category, fact.confidence, fact.source) == ("Speaks Swedish.", "context", 1.0, "manual")
    assert fact.created_at


def test_nothing_else_changes() -> None:
    assert add_fact(KNOWN, "Speaks Swedish.").facts[:-1] == KNOWN.facts
    assert KNOWN.facts == (TEA, POLARS)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"content": " \n"}, "1 to 2,000 characters, not 0"),
        ({"content": "x" * 2_001}, "1 to 2,000 characters, not 2,001"),
        ({"content": "a\0b"}, "control characters"),
        ({"content": "a\ud800b"}, "control characters"),
        ({"content": "likes  TEA."}, "fact_00000001 says the same already"),
        ({"category": "hobby"}, "there is no category 'hobby'; there are preference, knowledge, context"),
        ({"confidence": 1.1}, "confidence is from 0 to 1, not 1.1"),
        ({"confidence": float("nan")}, "confidence is from 0 to 1, not nan"),
        ({"source_error": "x"}, "of a correction, not of a fact of category context"),
        ({"source_error": " ", "category": "correction"}, "1 to 2,000 characters, not 0"),
    ],
)
def test_a_fact_that_may_not_be_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(EditError) as refused:
        add_fact(KNOWN, **({"content": "Speaks Swedish."} | given))

    assert problem in str(refused.value)


@pytest.mark.parametrize("content", ["x", "x" * 2_000, "two\nlines\tand a tab", "喜欢茶"])
def test_a_fact_may_be_short_or_long(content: str) -> None:
    assert add_fact(KNOWN, content).facts[-1].content == content


def test_an_edited_fact_is_a_persons_and_stays_in_its_place() -> None:
    fact = edit_fact(KNOWN, TEA.id, confidence=0.5).facts[0]

    assert fact == TEA.model_copy(update={"confidence": 0.5, "source": "manual"})


def test_a_fact_may_be_given_another_spelling() -> None:
    assert edit_fact(KNOWN, TEA.id, content="likes tea").facts[0].content == "likes tea"


def test_only_a_correction_keeps_what_went_wrong() -> None:
    assert edit_fact(KNOWN, POLARS.id, content="Use Polars 1.0.").facts[1].source_error == "pandas"
    assert edit_fact(KNOWN, POLARS.id, category="preference").facts[1].source_error is None


def test_an_edit_of_nothing_is_refused() -> None:
    with pytest.raises(EditError, match="nothing to change"):
        edit_fact(KNOWN, TEA.id)


def test_a_fact_cannot_be_made_the_same_as_another() -> None:
    with pytest.raises(EditError, match="fact_00000002 says the same already"):
        edit_fact(KNOWN, TEA.id, content="use polars.")


def test_anybodys_fact_can_be_removed() -> None:
    assert remove_fact(KNOWN, TEA.id).facts == (POLARS,)


@pytest.mark.parametrize("change", [remove_fact, lambda memory, fact_id: edit_fact(memory, fact_id, confidence=1)])
def test_an_unknown_fact_names_the_nearest(change: Callable[[Memory, str], Memory]) -> None:
    with pytest.raises(EditError, match="there is no fact 'fact_0000002'; did you mean 'fact_00000002'"):
        change(KNOWN, "fact_0000002")


# -- whole documents ------------------------------------------------------------------------------


def test_merging_adds_what_is_not_known() -> None:
    swedish = Fact(id=TEA.id, content="Speaks Swedish.")

    merged = merge_memory(KNOWN, Memory(facts=(Fact(content="LIKES tea."), swedish, swedish, Fact(content=" "))))

    assert [fact.content for fact in merged.facts] == ["Likes tea.", "Use Polars.", "Speaks Swedish."]
    assert len({fact.id for fact in merged.facts}) == 3


def test_merging_fills_empty_summaries_only() -> None:
    ours = Memory().with_section("work_context", Section(summary="ours"))
    theirs = Memory().with_section("work_context", Section(summary="theirs"))
    theirs = theirs.with_section("top_of_mind", Section(summary="theirs"))

    merged = merge_memory(ours, theirs)

    assert (merged.user.work_context.summary, merged.user.top_of_mind.summary) == ("ours", "theirs")


def test_merging_what_is_known_changes_nothing() -> None:
    assert merge_memory(KNOWN, KNOWN) == KNOWN


def test_a_replaced_memory_still_knows_what_was_learned() -> None:
    """What was said before must not be learned again, so the marks never move back."""
    ours = Memory(revision=7, threads={"t1": Watermark(last_message_id="m9")})

    replaced = replace_memory(ours, Memory(facts=(TEA,), threads={"t1": Watermark(last_message_id="m1")}))

    assert (replaced.facts, replaced.revision, replaced.threads["t1"].last_message_id) == ((TEA,), 7, "m9")


def test_a_document_of_an_older_shape_is_read() -> None:
    memory = read_document(b'\xef\xbb\xbf{"facts": ["Likes tea.", {"content": "x", "confidence": "high"}]}', "file")

    assert [(fact.content, fact.confidence) for fact in memory.facts] == [("Likes tea.", 0.5), ("x", 0.5)]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"a": 1}', b'{"facts": 3}', b"\xff", b"[" * 100_000])
def test_what_is_no_document_is_refused(data: bytes) -> None:
    with pytest.raises(EditError, match="file is not a memory document"):
        read_document(data, "file")


# -- saving ---------------------------------------------------------------------------------------


def test_an_edit_is_saved(tmp_path: Path) -> None:
    storage = open_storage(f"file:{tmp_path}")

    saved = update_memory(storage, ADA, lambda memory: add_fact(memory, "Likes tea."))

    assert storage.load(ADA) == saved
    assert json.loads((tmp_path / "users/ada/memory.json").read_text())["revision"] == 1


def test_a_change_of_nothing_is_not_saved() -> None:
    storage = open_storage("memory:")

    assert update_memory(storage, ADA, lambda memory: memory).revision == 0
    assert list(storage.scopes()) == []


@pytest.mark.parametrize("meanwhile", ["saved", "deleted"])
def test_a_lost_race_is_run_again(meanwhile: str) -> None:
    storage = open_storage("memory:")
    rounds: list[int] = []

    def change(memory: Memory) -> Memory:
        rounds.append(memory.revision)
        if len(rounds) == 1:
            _ = storage.save(ADA, memory) if meanwhile == "saved" else storage.delete(ADA)
        return add_fact(memory, "Likes tea.")

    saved = update_memory(storage, ADA, change)

    assert rounds == [0, 1]
    assert [fact.content for fact in saved.facts] == ["Likes tea."]


def test_a_race_that_is_always_lost_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage("memory:")
    monkeypatch.setattr("memgraph.editing.update.MAX_RACES", 3)

    def change(memory: Memory) -> Memory:
        storage.save(ADA, memory)
        return add_fact(memory, "Likes tea.")

    with pytest.raises(RevisionConflictError):
        update_memory(storage, ADA, change)


def test_an_edit_that_is_refused_saves_nothing() -> None:
    storage = open_storage("memory:")

    with pytest.raises(EditError):
        update_memory(storage, ADA, lambda memory: remove_fact(memory, "fact_1"))

    assert list(storage.scopes()) == []
