"""Imported documents are merged into a memory or replace it."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph.analysis.episodes import episode_id
from memgraph.analysis.normalize import fact_key
from memgraph.editing import admit_document, documents, merge_memory, read_document, replace_memory
from memgraph.editing.admission import NO_FACT, admit_episodes
from memgraph.errors import EditError
from memgraph.models import Episode, Fact, MemoryDocument, PastFact, Section, Watermark

TEA = Fact(id="fact_00000001", content="Likes tea.", category="preference", confidence=0.8, source="t1")
IMPORTED_TEA = TEA.model_copy(update={"origin": "import"})
POLARS = Fact(id="fact_00000002", content="Use Polars.", category="correction", source_error="pandas", source="t1")
KNOWN = MemoryDocument(facts=(TEA, POLARS))


def test_merging_adds_new_facts_only() -> None:
    swedish = Fact(id=TEA.id, content="Speaks Swedish.")

    merged = merge_memory(
        KNOWN, MemoryDocument(facts=(Fact(content="LIKES tea."), swedish, swedish, Fact(content=" ")))
    )

    assert [fact.content for fact in merged.facts] == ["Likes tea.", "Use Polars.", "Speaks Swedish."]
    assert len({fact.id for fact in merged.facts}) == 3


def test_merging_fills_only_empty_summaries() -> None:
    old = MemoryDocument().with_section("work_context", Section(summary="old"))
    new = MemoryDocument().with_section("work_context", Section(summary="new"))
    new = new.with_section("top_of_mind", Section(summary="new"))

    merged = merge_memory(old, new)

    assert (merged.user.work_context.summary, merged.user.top_of_mind.summary) == ("old", "new")


def test_merging_a_memory_with_itself_changes_nothing() -> None:
    assert merge_memory(KNOWN, KNOWN) == KNOWN


def test_replacing_a_memory_keeps_its_revision_and_watermarks() -> None:
    """Messages must not be learned again, so watermarks never move back."""
    old = MemoryDocument(revision=7, threads={"t1": Watermark(last_message_id="m9")})

    replaced = replace_memory(old, MemoryDocument(facts=(TEA,), threads={"t1": Watermark(last_message_id="m1")}))

    assert (replaced.facts, replaced.revision, replaced.threads["t1"].last_message_id) == ((IMPORTED_TEA,), 7, "m9")


def test_older_document_formats_are_read() -> None:
    memory = read_document(b'\xef\xbb\xbf{"facts": ["Likes tea.", {"content": "x", "confidence": "high"}]}', "file")

    assert [(fact.content, fact.confidence) for fact in memory.facts] == [("Likes tea.", 0.5), ("x", 0.5)]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"a": 1}', b'{"facts": 3}', b"\xff", b"[" * 100_000])
def test_anything_but_a_memory_document_is_rejected(data: bytes) -> None:
    with pytest.raises(EditError, match="file is not a memory document"):
        read_document(data, "file")


MANUAL_TEA = Fact(id="fact_00000003", content="Likes tea.", source="manual")
PASSED_ON = MemoryDocument(facts=(MANUAL_TEA,), threads={"t1": Watermark(last_message_id="m1")})
CHANGES = [merge_memory, replace_memory]


@pytest.mark.parametrize("change", CHANGES)
def test_an_imported_document_cannot_say_that_a_person_wrote_a_fact(change: Any) -> None:
    """Learning never corrects such a fact, and anybody can write a document."""
    assert [fact.source for fact in change(MemoryDocument(), PASSED_ON).facts] == ["unknown"]


@pytest.mark.parametrize("change", CHANGES)
def test_an_imported_document_cannot_say_that_a_thread_was_learned_from(change: Any) -> None:
    """The conversation would never be learned."""
    own = {"t2": Watermark(last_message_id="m2")}

    assert change(MemoryDocument(threads=own), PASSED_ON).threads == own


@pytest.mark.parametrize("change", CHANGES)
def test_a_trusted_document_keeps_manual_facts_and_watermarks(change: Any) -> None:
    """It is a backup, and the person who restores it says so."""
    restored = change(MemoryDocument(), PASSED_ON, trusted=True)

    assert (restored.facts, restored.threads) == (PASSED_ON.facts, PASSED_ON.threads)


def test_facts_that_are_manual_already_stay_manual_when_the_memory_is_replaced() -> None:
    """The document may be an export that its user edited."""
    replaced = replace_memory(MemoryDocument(facts=(MANUAL_TEA, POLARS)), MemoryDocument(facts=(MANUAL_TEA,)))

    assert replaced.facts == (MANUAL_TEA,)


def test_merging_into_an_empty_memory_keeps_unknown_keys() -> None:
    """Of the root, its two parts, sections and facts; the program that wrote them needs them."""
    document = {
        "mine": [1, {"a": None}],
        "user": {
            "workContext": {"summary": "", "note": "x"},
            "topOfMind": {"summary": "y", "z": 1},
            "hobbies": {"a": 1},
        },
        "history": {"recentMonths": {"summary": "", "updatedAt": "", "w": 2}, "childhood": "Oslo"},
        "facts": [{"id": "fact_1", "content": "x", "tags": ["a"]}, {"id": "fact_2", "content": 42}],
    }
    imported = MemoryDocument.model_validate(document)

    merged = merge_memory(MemoryDocument(), imported)

    assert merged.model_copy(update={"last_updated": "", "facts": imported.facts}) == imported
    assert merged.facts[0].model_extra == imported.facts[0].model_extra


def test_merging_does_not_change_unknown_keys() -> None:
    memory = MemoryDocument.model_validate({"mine": 1, "user": {"workContext": {"summary": "own", "note": 1}, "x": 1}})
    other = {"mine": 2, "user": {"workContext": {"summary": "new", "note": 2, "of_new": 2}, "x": 2}}

    assert merge_memory(memory, MemoryDocument.model_validate(other)) == memory


def test_a_document_has_a_limited_number_of_facts_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory is loaded and searched as a whole."""
    monkeypatch.setattr(documents, "MAX_FACTS", 2)
    monkeypatch.setattr(documents, "MAX_THREADS", 1)

    with pytest.raises(EditError, match="file has 3 facts; at most 2 can be imported"):
        read_document(b'{"facts": ["a", "b", "c"]}', "file")
    with pytest.raises(EditError, match="file has 2 threads; at most 1 can be imported"):
        read_document(b'{"facts": [], "threads": {"t1": {}, "t2": {}}}', "file")
    with pytest.raises(EditError, match="the memory would have 3 facts; at most 2 are possible"):
        merge_memory(KNOWN, MemoryDocument(facts=(Fact(content="new"),)))
    assert merge_memory(KNOWN, KNOWN) == KNOWN


def test_merging_takes_a_number_of_steps_in_proportion_to_the_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each content is normalized once, and no id is searched for among the facts."""
    keys: list[str] = []

    def count(content: str) -> str:
        keys.append(content)
        return fact_key(content)

    monkeypatch.setattr("memgraph.rules.add.fact_key", count)
    monkeypatch.setattr(MemoryDocument, "fact", None)
    stored, new = (tuple(Fact(id=f"fact_{i}", content=f"{word} {i}") for i in range(1_000)) for word in ("old", "new"))

    merged = merge_memory(MemoryDocument(facts=stored), MemoryDocument(facts=new))

    assert len({fact.id for fact in merged.facts}) == 2_000
    assert len(keys) == 2_000


def test_merging_adds_the_past_of_the_document() -> None:
    """Each id once: what is current here is not past, too."""
    past = PastFact(id="p1", content="Lived in Rome.", ended_at="2025-01-01T00:00:00Z", reason="superseded")
    known = PastFact(id=TEA.id, content="Likes tea.", reason="evicted")

    merged = merge_memory(KNOWN, MemoryDocument(past=(past, known)))

    assert merged.past == (past.model_copy(update={"origin": "import"}),)
    assert merge_memory(merged, MemoryDocument(past=(past,))) == merged


def test_an_export_of_a_conversation_imports_with_all_its_words() -> None:
    """The ids of episodes have many digits, and are no secrets."""
    episode = Episode(id=episode_id("t1", "m1"), thread_id="t1", message_id="m1", text="I keep bees.")

    admitted = admit_episodes([episode])

    assert admitted == ((episode,), ())


def test_what_is_no_fact_is_reported_and_replaces_nothing() -> None:
    imported = read_document(b'{"facts": [{"content": 5}, {"content": ""}, {"x": 1}, {"content": "Likes tea."}]}', "x")

    admitted = admit_document(imported, MemoryDocument())

    assert [fact.content for fact in admitted.memory.facts] == ["Likes tea."]
    assert {refusal.reason for refusal in admitted.held} == {NO_FACT}
    assert len(admitted.held) == 3
