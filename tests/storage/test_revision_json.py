"""A revision is stored without what follows from the rest of it, and is read as it was."""

from __future__ import annotations

import json

import pytest

from memgraph.history.diff import changes_between
from memgraph.models import AsSaid, Fact, MemoryDocument, PastFact, PendingChange, Revision
from memgraph.storage.revisions import decode_revision, encode_revision

TEA = Fact(id="tea", content="Likes tea.", confidence=0.9)
PAST_TEA = PastFact(**TEA.model_dump(), ended_at="2026-01-01T00:00:00Z", reason="evicted")


def make_revision(before: MemoryDocument, after: MemoryDocument) -> Revision:
    return Revision(revision=7, at="2026-01-01T00:00:00Z", by="update", changes=changes_between(before, after))


def test_a_fact_that_became_past_is_stored_once() -> None:
    revision = make_revision(MemoryDocument(facts=(TEA,)), MemoryDocument(past=(PAST_TEA,)))

    stored = encode_revision(revision)

    assert stored.count("Likes tea.") == 1
    assert decode_revision(stored) == revision


def test_of_a_changed_fact_only_the_change_is_stored() -> None:
    confirmed = TEA.model_copy(update={"confirmations": 1})
    revision = make_revision(MemoryDocument(facts=(TEA,)), MemoryDocument(facts=(confirmed,)))

    stored = encode_revision(revision)

    assert json.loads(stored)["changes"]["facts"][0]["changed"] == {"confirmations": 1}
    assert decode_revision(stored) == revision


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MemoryDocument(facts=(TEA,)), MemoryDocument(facts=(TEA.model_copy(update={"confidence": 0.5}),))),
        (MemoryDocument(facts=(TEA.model_copy(update={"source_error": "Coffee."}),)), MemoryDocument(facts=(TEA,))),
        (MemoryDocument(facts=(TEA,)), MemoryDocument(past=(PAST_TEA.model_copy(update={"confidence": 0.5}),))),
        (MemoryDocument(past=(PAST_TEA,)), MemoryDocument(facts=(TEA,))),
        (MemoryDocument(as_said=(AsSaid(id="a", content="x", reason="y"),)), MemoryDocument(facts=(TEA,))),
        (MemoryDocument(pending=(PendingChange(id="q"), PendingChange(id="q", reason="odd"))), MemoryDocument()),
        (MemoryDocument(), MemoryDocument(pending=(PendingChange(id=""), PendingChange(id="")))),
        (MemoryDocument(facts=(Fact.model_validate({"id": "a", "content": "", "mood": {"id": 1}}),)), MemoryDocument()),
    ],
)
def test_a_revision_is_read_as_it_was(before: MemoryDocument, after: MemoryDocument) -> None:
    """Also if a key is missing afterwards, and if entries have the same id."""
    revision = make_revision(before, after)

    assert decode_revision(encode_revision(revision)) == revision


def test_a_revision_with_nothing_left_out_is_read() -> None:
    revision = make_revision(MemoryDocument(facts=(TEA,)), MemoryDocument(past=(PAST_TEA,)))

    assert decode_revision(revision.model_dump_json(by_alias=True)) == revision


@pytest.mark.parametrize(
    "data",
    [
        *("", "{", "7", "[]", "null", '{"revision":1,"changes":7}', '{"revision":1,"changes":{"facts":[7]}}'),
        '{"revision":1,"changes":{"past":[{"key":"a","changed":{"content":"x"}}]}}'[:-1],
    ],
)
def test_what_is_no_revision_is_none(data: str) -> None:
    assert decode_revision(data) is None
