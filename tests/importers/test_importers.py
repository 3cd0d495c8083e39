"""Moving in from other systems."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.errors import EditError
from memgraph.importers import READERS, ExportDocument, ImportResult

DEERFLOW: dict[str, Any] = {
    "version": "1.0",
    "lastUpdated": "2025-11-03T10:00:00",
    "user": {
        "workContext": {"summary": "Data engineer at Acme.", "updatedAt": "2025-11-03T10:00:00"},
        "personalContext": {"summary": "", "updatedAt": ""},
        "cognitiveStyle": {"summary": "Thinks in diagrams.", "updatedAt": ""},
    },
    "history": {},
    "facts": [
        {"id": "fact_1", "content": "Prefers tabs.", "category": "preference", "confidence": 0.9, "source": "t1"},
        {"id": "fact_2", "content": "Is a founder.", "category": "identity", "confidence": "0.8"},
        {"id": "fact_3", "content": "prefers  TABS.", "category": "preference", "confidence": 0.7},
        {"id": "fact_4", "content": "  ", "category": "context", "confidence": 1},
    ],
}
FACT_FILE = """---
id: fact_uv
schemaVersion: 2
category: other
categoryExtension: correction
confidence: 0.98
status: active
source:
  type: conversation
  threadId: t9
createdAt: 2026-08-07T12:00:00.123456Z
lastConfirmedAt: "2026-08-09T12:00:00Z"
confirmationCount: 2
sourceError: used pip
revision: 1
user_id: ada
agent_name: lead
---

# Uses uv

Installs Python packages with uv.
It is never pip.
"""
MEM0: dict[str, Any] = {
    "results": [
        {
            "id": "0a-1",
            "memory": "Loves hiking in the Alps",
            "user_id": "ada",
            "categories": ["hobbies"],
            "created_at": "2025-10-01T09:00:00-07:00",
            "updated_at": "2025-10-05T09:00:00-07:00",
            "run_id": "run-7",
            "hash": "9f",
        },
        {"id": "0a-2", "memory": "Allergic to nuts", "user_id": "ada", "metadata": None, "created_at": "yesterday"},
    ],
    "relations": [{"source": "ada", "relationship": "loves", "destination": "hiking"}],
}
LANGMEM: list[dict[str, Any]] = [
    {
        "namespace": ["memories", "ada"],
        "key": "k1",
        "value": {"kind": "Memory", "content": {"content": "Prefers dark mode"}},
        "created_at": "2025-10-01T09:00:00+00:00",
        "updated_at": "2025-10-01T09:00:00+00:00",
    },
    {"namespace": ["memories", "ada"], "key": "k2", "value": {"kind": "Memory", "content": "Lives in Oslo"}},
    {
        "namespace": ["memories", "ada"],
        "key": "profile",
        "value": {"kind": "Profile", "content": {"name": "Ada", "favourite_tools": ["vim", "make"], "age": 36}},
    },
]


def moved(system: str, *exports: object, of: str | None = None) -> ImportResult:
    """What becomes of *exports*: each a document's value, or its name and text."""
    documents = [
        ExportDocument(*(export[0], export[1].encode()))
        if isinstance(export, tuple)
        else ExportDocument("export.json", json.dumps(export).encode())
        for export in exports
    ]
    return READERS[system](documents, of)


def left(result: ImportResult) -> dict[str, str]:
    return {note.what: note.why for note in result.report.left}


def test_a_deerflow_document_comes_in_whole() -> None:
    """Its shape is the one ours came from."""
    result = moved("deerflow", DEERFLOW)

    facts = {fact.content: fact for fact in result.memory.facts}
    assert list(facts) == ["Prefers tabs.", "Is a founder.", "Thinks in diagrams."]
    assert (facts["Prefers tabs."].id, facts["Prefers tabs."].source) == ("fact_1", "t1")
    assert (facts["Is a founder."].category, facts["Is a founder."].confidence) == ("context", 0.8)
    assert result.memory.user.work_context.summary == "Data engineer at Acme."
    assert (result.report.facts, result.report.summaries) == (3, 1)


def test_what_is_changed_on_the_way_is_told() -> None:
    """Nobody has to find it out later."""
    result = moved("deerflow", DEERFLOW)

    assert {note.what: note.why for note in result.report.changed} == {
        "Is a founder.": "its category 'identity' is 'context' here",
        "Thinks in diagrams.": "the section 'cognitiveStyle' is a fact here",
    }


def test_what_is_left_is_told_with_its_reason() -> None:
    """A repetition, and a fact that says nothing."""
    result = moved("deerflow", DEERFLOW)

    assert left(result) == {"prefers TABS.": "fact_1 says the same", "": "it says nothing"}


def test_a_markdown_fact_of_deerflow_comes_in() -> None:
    """The title is made of the text, so it is not repeated."""
    result = moved("deerflow", ("users/ada/agents/lead/facts/ab/fact_uv.md", FACT_FILE))

    fact = result.memory.facts[0]
    assert fact.content == "Installs Python packages with uv.\nIt is never pip."
    assert (fact.id, fact.category, fact.confidence, fact.source) == ("fact_uv", "correction", 0.98, "t9")
    assert (fact.source_error, fact.confirmations) == ("used pip", 2)
    assert fact.created_at.startswith("2026-08-07T12:00:00")


def test_a_manual_fact_of_deerflow_stays_a_persons_word() -> None:
    """No update may remove it."""
    text = FACT_FILE.replace("type: conversation", "type: manual").replace("threadId: t9", "threadId: null")

    result = moved("deerflow", ("fact.md", text))

    assert result.memory.facts[0].is_manual


def test_a_folder_of_deerflow_is_one_memory() -> None:
    """Summaries lie in one file, and each fact in its own."""
    result = moved("deerflow", ("users/ada/memory.json", json.dumps(DEERFLOW)), ("users/ada/facts/uv.md", FACT_FILE))

    assert len(result.memory.facts) == 4
    assert result.memory.user.work_context.summary == "Data engineer at Acme."


def test_a_markdown_summary_of_deerflow_holds_json() -> None:
    """Between fences."""
    result = moved("deerflow", ("memory.md", f"# Memory\n\n```memory-json\n{json.dumps(DEERFLOW)}\n```\n"))

    assert result.report.facts == 3


def test_markdown_without_front_matter_is_left() -> None:
    """What it is cannot be told."""
    result = moved("deerflow", ("notes.md", "Some notes."))

    assert left(result) == {"notes.md": "there is no YAML front matter in it"}


def test_mem0_memories_come_in_as_facts() -> None:
    """With their times in UTC, and the run as source."""
    result = moved("mem0", MEM0)

    first, second = result.memory.facts
    assert (first.content, first.category, first.source) == ("Loves hiking in the Alps", "preference", "run-7")
    assert (first.created_at, first.last_confirmed_at) == ("2025-10-01T16:00:00Z", "2025-10-05T16:00:00Z")
    assert (second.confidence, second.source, second.created_at) == (0.8, "mem0", "")
    assert left(result) == {"relations": "there is no graph of relations here"}


def test_langmem_items_come_in_as_facts() -> None:
    """A profile's texts one by one; a number says nothing by itself."""
    result = moved("langmem", LANGMEM)

    assert [fact.content for fact in result.memory.facts] == [
        "Prefers dark mode",
        "Lives in Oslo",
        "name: Ada",
        "favourite tools: vim",
        "favourite tools: make",
    ]
    assert left(result) == {"age: 36": "it is no text"}


def test_a_real_langmem_store_comes_in() -> None:
    """As LangGraph's own store hands its items out."""
    from langgraph.store.memory import InMemoryStore

    store = InMemoryStore()
    for item in LANGMEM[:2]:
        store.put(tuple(item["namespace"]), item["key"], item["value"])
    export = [item.dict() for item in store.search(("memories",))]

    result = moved("langmem", export)

    assert sorted(fact.content for fact in result.memory.facts) == ["Lives in Oslo", "Prefers dark mode"]
    assert all(fact.created_at for fact in result.memory.facts)


TWO_USERS = [
    ("mem0", [{"id": "1", "memory": "Likes tea", "user_id": who} for who in ("ada", "bob")]),
    ("langmem", [{"namespace": ["m", who], "key": who, "value": {"content": "Likes tea"}} for who in ("ada", "bob")]),
]


@pytest.mark.parametrize(("system", "export"), TWO_USERS, ids=["mem0", "langmem"])
def test_two_users_are_never_mixed(system: str, export: object) -> None:
    """Whose memories are wanted must be said."""
    with pytest.raises(EditError, match=r"holds memories of '.*ada', '.*bob': say whose are wanted, by --of"):
        moved(system, export)


def test_of_two_users_the_one_that_is_named_comes_in() -> None:
    """The other's are left, and said so."""
    result = moved("mem0", [{"memory": f"Likes {who}", "user_id": who} for who in ("ada", "bob")], of="bob")

    assert [fact.content for fact in result.memory.facts] == ["Likes bob"]
    assert left(result) == {"Likes ada": "it is of 'ada'"}


def test_of_two_users_of_a_deerflow_folder_the_one_that_is_named_comes_in() -> None:
    """A folder says whose it is."""
    folder = [(f"users/{who}/facts/x.md", FACT_FILE.replace("uv", who)) for who in ("ada", "bob")]

    result = moved("deerflow", *folder, of="bob")

    assert [fact.id for fact in result.memory.facts] == ["fact_bob"]


def test_a_long_memory_is_cut_at_a_sentence() -> None:
    """The bounds of what is newly written hold."""
    result = moved("mem0", [{"memory": "This goes on and on. " * 200}])

    assert len(result.memory.facts[0].content) <= 2_000
    assert result.memory.facts[0].content.endswith("on.")
    assert "was cut to 2,000" in result.report.changed[0].why


@pytest.mark.parametrize("system", sorted(READERS))
@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"no json", b"\xff\xfe\x00", b"3", b"null", b'{"a": 1}', b"[" * 100_000, b'"text"', b"{}"],
    ids=repr,
)
def test_what_is_no_export_is_an_error_that_names_it(system: str, data: bytes) -> None:
    """Before anything is written."""
    with pytest.raises(EditError, match=r"odd\.json"):
        READERS[system]([ExportDocument("odd.json", data)], None)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["id", "memory", "metadata", "categories", "created_at", "run_id", "value", "content", "key", "category", "facts"]
)


@pytest.mark.parametrize("system", sorted(READERS))
@given(items=st.lists(st.dictionaries(KEYS, JSON, max_size=6) | JSON, max_size=5))
def test_odd_items_cost_only_themselves(system: str, items: list[object]) -> None:
    """Each is taken or left; nothing else can come of it."""
    export = {"facts": items} if system == "deerflow" else items

    try:
        result = READERS[system]([ExportDocument("odd.json", json.dumps(export).encode())], None)
    except EditError:
        return

    assert all(fact.content and 0 <= fact.confidence <= 1 for fact in result.memory.facts)
    assert len({fact.id for fact in result.memory.facts}) == len(result.memory.facts)
