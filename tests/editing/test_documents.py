"""Imported documents are merged into a memory or replace it."""

from __future__ import annotations

import pytest

from memgraph.editing import merge_memory, read_document, replace_memory
from memgraph.errors import EditError
from memgraph.models import Fact, Memory, Section, Watermark

TEA = Fact(id="fact_00000001", content="Likes tea.", category="preference", confidence=0.8, source="t1")
POLARS = Fact(id="fact_00000002", content="Use Polars.", category="correction", source_error="pandas", source="t1")
KNOWN = Memory(facts=(TEA, POLARS))


def test_merging_adds_new_facts_only() -> None:
    swedish = Fact(id=TEA.id, content="Speaks Swedish.")

    merged = merge_memory(KNOWN, Memory(facts=(Fact(content="LIKES tea."), swedish, swedish, Fact(content=" "))))

    assert [fact.content for fact in merged.facts] == ["Likes tea.", "Use Polars.", "Speaks Swedish."]
    assert len({fact.id for fact in merged.facts}) == 3


def test_merging_fills_only_empty_summaries() -> None:
    old = Memory().with_section("work_context", Section(summary="old"))
    new = Memory().with_section("work_context", Section(summary="new"))
    new = new.with_section("top_of_mind", Section(summary="new"))

    merged = merge_memory(old, new)

    assert (merged.user.work_context.summary, merged.user.top_of_mind.summary) == ("old", "new")


def test_merging_a_memory_with_itself_changes_nothing() -> None:
    assert merge_memory(KNOWN, KNOWN) == KNOWN


def test_replacing_a_memory_keeps_its_revision_and_watermarks() -> None:
    """Messages must not be learned again, so watermarks never move back."""
    old = Memory(revision=7, threads={"t1": Watermark(last_message_id="m9")})

    replaced = replace_memory(old, Memory(facts=(TEA,), threads={"t1": Watermark(last_message_id="m1")}))

    assert (replaced.facts, replaced.revision, replaced.threads["t1"].last_message_id) == ((TEA,), 7, "m9")


def test_older_document_formats_are_read() -> None:
    memory = read_document(b'\xef\xbb\xbf{"facts": ["Likes tea.", {"content": "x", "confidence": "high"}]}', "file")

    assert [(fact.content, fact.confidence) for fact in memory.facts] == [("Likes tea.", 0.5), ("x", 0.5)]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"a": 1}', b'{"facts": 3}', b"\xff", b"[" * 100_000])
def test_anything_but_a_memory_document_is_rejected(data: bytes) -> None:
    with pytest.raises(EditError, match="file is not a memory document"):
        read_document(data, "file")
