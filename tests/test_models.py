"""The document: whatever was stored loads, and nothing of it is lost."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import Fact, IdentityError, MemoryDocument, Scope
from memgraph.models import Watermark, learned_source

SAMPLES = Path(__file__).parents[2] / "shared" / "data"
# the older shape, as other projects wrote it
OLDER: dict[str, Any] = {
    "version": "1.0",
    "lastUpdated": "2026-06-11 16:47:59",
    "user": {
        "workContext": {"summary": "后端工程师", "updatedAt": "2026-06-11 16:47:59"},
        "topOfMind": {"summary": "", "updatedAt": ""},
    },
    "facts": [
        {
            "id": "fact_e5f6g7h8",
            "content": "在杭州工作",
            "category": "context",
            "confidence": 0.95,
            "createdAt": "2026-03-12T10:30:00+08:00",
            "source": "memory_extraction",
        }
    ],
}


def loaded_fact(**fields: object) -> Fact:
    """A fact as it loads."""
    (fact,) = MemoryDocument.model_validate({"facts": [{"content": "Likes tea."} | fields]}).facts
    return fact


def test_an_older_document_loads() -> None:
    """No revision, no threads, no history, empty dates, times without a zone, ids of another form."""
    memory = MemoryDocument.model_validate(OLDER)

    assert (memory.revision, memory.threads, memory.history.recent_months.summary) == (0, {}, "")
    assert memory.last_updated == "2026-06-11T16:47:59Z"
    assert memory.user.top_of_mind.updated_at == ""
    assert (memory.facts[0].id, memory.facts[0].created_at) == ("fact_e5f6g7h8", "2026-03-12T02:30:00Z")


@pytest.mark.parametrize("name", ["memory_sample_1.json", "memory_sample_2.json"])
def test_the_samples_load_whole(name: str) -> None:
    """Real documents of the older shape."""
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"no sample documents at {SAMPLES}")
    stored = json.loads(path.read_text(encoding="utf-8"))

    memory = MemoryDocument.model_validate(stored)

    assert [fact.content for fact in memory.facts] == [fact["content"] for fact in stored["facts"]]
    assert memory.user.work_context.summary == stored["user"]["workContext"]["summary"]


def test_unknown_keys_survive_everywhere() -> None:
    """Somebody put them there."""
    stored = {
        "mine": [1, {"a": None}],
        "user": {"workContext": {"summary": "", "note": "x"}, "hobbies": {"summary": "chess"}},
        "facts": [{"id": "fact_1", "content": "x", "tags": ["a"]}],
        "threads": {"t1": {"lastMessageId": "m", "seen": 3}},
    }

    dumped = MemoryDocument.model_validate(stored).model_dump(by_alias=True)

    assert dumped["mine"] == stored["mine"]
    assert dumped["user"]["hobbies"] == {"summary": "chess"}
    assert dumped["user"]["workContext"]["note"] == "x"
    assert dumped["facts"][0]["tags"] == ["a"]
    assert dumped["threads"]["t1"]["seen"] == 3


@pytest.mark.parametrize("bad", ["high", None, True, [], {}, float("nan"), float("inf")])
def test_a_bad_confidence_reads_as_a_half(bad: object) -> None:
    """One malformed number does not cost the document."""
    assert loaded_fact(confidence=bad).confidence == 0.5


@pytest.mark.parametrize(("stored", "read_as"), [("0.9", 0.9), (1.7, 1.0), (-1, 0.0), (1, 1.0)])
def test_a_number_in_another_form_is_read(stored: object, read_as: float) -> None:
    """Strings too; out of range is clamped."""
    assert loaded_fact(confidence=stored).confidence == read_as


def test_an_unknown_category_stays_and_counts_as_context() -> None:
    """It was stored, so it is kept."""
    fact = loaded_fact(category="hobby")

    assert (fact.category, fact.effective_category) == ("hobby", "context")


def test_over_long_content_stays() -> None:
    """Bounds are for what is newly written."""
    assert len(loaded_fact(content="x" * 5_000).content) == 5_000


def test_a_text_that_is_no_time_stays() -> None:
    """It is not ours to lose."""
    assert loaded_fact(createdAt="last Tuesday").created_at == "last Tuesday"


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-00:01"])
def test_a_time_that_no_year_of_utc_has_stays(at: str) -> None:
    """Neither as a text nor as a datetime does it cost the document."""
    assert loaded_fact(createdAt=at).created_at == at
    assert loaded_fact(createdAt=datetime.fromisoformat(at)).created_at == at.replace("T", " ")


def test_a_time_of_an_early_year_is_read_in_the_canonical_form() -> None:
    assert loaded_fact(createdAt="0476-09-04T12:00:00+01:00").created_at == "0476-09-04T11:00:00Z"


def test_missing_and_double_ids_are_replaced_the_same_way_at_every_load() -> None:
    """Else an id that was shown would not be found again."""
    stored = {"facts": [{"content": "a"}, {"id": "x", "content": "b"}, {"id": "x", "content": "c"}, "bare"]}

    first, second = MemoryDocument.model_validate(stored), MemoryDocument.model_validate(stored)

    assert first == second
    assert len({fact.id for fact in first.facts}) == 4
    assert [fact.content for fact in first.facts] == ["a", "b", "c", "bare"]


@pytest.mark.parametrize("said", ["Me and my crew row at dawn.", "WE HAVE TWO CATS.", "OUR SON IS MAX.", "俺是河南人"])
def test_a_fact_in_the_first_person_is_shown_as_a_quotation(said: str) -> None:
    """However the user writes: the reader of a prompt or a page is not meant."""
    assert Fact(content=said).shown == f'"{said}"'


def test_what_is_not_there_is_not_written() -> None:
    """The document stays readable."""
    assert set(loaded_fact().model_dump(by_alias=True)) == {
        "id", "content", "category", "confidence", "createdAt", "source",
    }  # fmt: skip


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
stored_facts = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            name: json_values | st.text()
            for name in ("id", "content", "category", "confidence", "createdAt", "source", "replaces", "odd")
        },
    )
    | st.text(),
    max_size=5,
)


@given(stored_facts, st.dictionaries(st.text(min_size=1), json_values, max_size=3))
def test_loading_is_stable(facts: list[Any], others: dict[str, Any]) -> None:
    """What was loaded once, whatever its shape, loads again as the same value."""
    reserved = {"version", "revision", "lastUpdated", "user", "history", "facts", "threads", "forgotten"}
    names = reserved | {"last_updated", "unreadableFacts", "unreadable_facts"}
    memory = MemoryDocument.model_validate({"facts": facts} | {k: v for k, v in others.items() if k not in names})

    again = MemoryDocument.model_validate(json.loads(memory.model_dump_json(by_alias=True)))

    assert again == memory
    assert len(memory.facts) + len(memory.unreadable_facts) == len(facts)


def test_a_mark_of_an_older_document_knows_its_one_message() -> None:
    """Only the last id was kept once."""
    assert Watermark(last_message_id="m1").known == {"m1"}


def test_an_agent_name_is_lower_cased() -> None:
    """Names that differ by case alone are one agent."""
    assert Scope("ada", "Coder") == Scope("ada", "coder")


@pytest.mark.parametrize("agent", ["a b", "../x", "é", "a" * 65, "a/b", "a.b"])
def test_an_agent_name_outside_its_letters_is_refused(agent: str) -> None:
    """It becomes a folder."""
    with pytest.raises(IdentityError, match="agent_name"):
        Scope("ada", agent)


@pytest.mark.parametrize("user", ["", "x" * 257, "a\nb", "a\x7fb", "\ud800"])
def test_a_user_id_that_cannot_serve_is_refused(user: str) -> None:
    """Empty, over-long, or with characters that no store or log can hold."""
    with pytest.raises(IdentityError, match="user_id"):
        Scope(user)


def test_an_empty_agent_name_is_no_agent() -> None:
    """As everywhere: empty counts as absent."""
    assert Scope("ada", "") == Scope("ada")


@pytest.mark.parametrize("content", [42, 4.5, True, ["list"], {"text": "x"}])
def test_a_fact_whose_content_is_not_a_text_is_kept_but_is_no_fact(content: object) -> None:
    """Else "['list']" would be recalled as if it was known about the user."""
    stored = {"id": "fact_1", "content": content, "confidence": 0.9}

    memory = MemoryDocument.model_validate({"facts": [stored, {"id": "fact_2", "content": "Likes tea."}]})
    again = MemoryDocument.model_validate_json(memory.model_dump_json(by_alias=True))

    assert [fact.content for fact in memory.facts] == ["Likes tea."]
    assert memory.model_dump(by_alias=True)["unreadableFacts"] == (stored,)
    assert [*again.unreadable_facts] == [stored]
    assert not again.with_facts(()).is_empty


@pytest.mark.parametrize("key", ["quarantine", "pending", "storeItems"])
@pytest.mark.parametrize(
    "stored", [["x", 5], [{"facts": "tea", "value": 3}], [{"summaries": [], "value": []}], {"a": 1}, 7]
)
def test_what_is_no_pending_change_or_store_item_is_kept_and_not_used(key: str, stored: object) -> None:
    memory = MemoryDocument.model_validate({"facts": [{"content": "Likes tea."}], key: stored})
    again = MemoryDocument.model_validate_json(memory.model_dump_json(by_alias=True))

    assert (memory.pending, memory.store_items) == ((), ())
    assert [*again.unreadable_facts] == (stored if isinstance(stored, list) else [stored])


def test_unreadable_facts_of_several_loads_are_all_kept() -> None:
    """The document may be edited between them."""
    memory = MemoryDocument.model_validate({"unreadableFacts": [{"content": 1}], "facts": [{"content": 2}]})

    assert memory.unreadable_facts == ({"content": 1}, {"content": 2})


def test_a_memory_with_equal_facts_without_ids_loads_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each id takes one hash, however many facts have the same content."""
    hashes: list[bytes] = []
    sha256 = hashlib.sha256

    def count(data: bytes) -> Any:
        hashes.append(data)
        return sha256(data)

    monkeypatch.setattr(hashlib, "sha256", count)

    memory = MemoryDocument.model_validate({"facts": ["same"] * 2_000})

    assert len({fact.id for fact in memory.facts}) == 2_000
    assert len(hashes) < 2_100


def test_a_thread_called_manual_is_not_the_source_of_a_person() -> None:
    """A client chooses the id of its thread."""
    assert [learned_source(thread) for thread in ("t1", "manual", "", None)] == ["t1", *["unknown"] * 3]
