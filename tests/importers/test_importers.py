"""Exports of other systems become facts and summaries, with a report of every change."""

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


def import_from(system: str, *exports: object, owner: str | None = None) -> ImportResult:
    """Import *exports*: each is the value of a JSON document, or its name and text."""
    documents = [
        ExportDocument(*(export[0], export[1].encode()))
        if isinstance(export, tuple)
        else ExportDocument("export.json", json.dumps(export).encode())
        for export in exports
    ]
    return READERS[system](documents, owner)


def skipped(result: ImportResult) -> dict[str, str]:
    return {note.what: note.why for note in result.report.left}


def test_a_deerflow_document_is_imported() -> None:
    """Its format is a predecessor of memgraph's."""
    result = import_from("deerflow", DEERFLOW)

    facts = {fact.content: fact for fact in result.memory.facts}
    assert list(facts) == ["Prefers tabs.", "Is a founder.", "Thinks in diagrams."]
    assert (facts["Prefers tabs."].id, facts["Prefers tabs."].source) == ("fact_1", "t1")
    assert (facts["Is a founder."].category, facts["Is a founder."].confidence) == ("context", 0.8)
    assert result.memory.user.work_context.summary == "Data engineer at Acme."
    assert (result.report.facts, result.report.summaries) == (3, 1)


def test_changes_are_reported() -> None:
    """Each with its reason."""
    result = import_from("deerflow", DEERFLOW)

    assert {note.what: note.why for note in result.report.changed} == {
        "Is a founder.": "its category 'identity' became 'context'",
        "Thinks in diagrams.": "the section 'cognitiveStyle' became a fact",
    }


def test_skipped_items_are_reported() -> None:
    """Here a duplicate and an empty fact."""
    result = import_from("deerflow", DEERFLOW)

    assert skipped(result) == {"prefers TABS.": "fact_1 has the same content", "": "it has no content"}


def test_a_markdown_fact_of_deerflow_is_imported() -> None:
    """Without its title, which repeats the text."""
    result = import_from("deerflow", ("users/ada/agents/lead/facts/ab/fact_uv.md", FACT_FILE))

    fact = result.memory.facts[0]
    assert fact.content == "Installs Python packages with uv.\nIt is never pip."
    assert (fact.id, fact.category, fact.confidence, fact.source) == ("fact_uv", "correction", 0.98, "t9")
    assert (fact.source_error, fact.confirmations) == ("used pip", 2)
    assert fact.created_at.startswith("2026-08-07T12:00:00")


def test_only_the_first_line_of_a_markdown_fact_is_a_title() -> None:
    """Not what follows a "#" in its text."""
    text = FACT_FILE.replace("Installs Python packages with uv.", "Writes C# daily.\n# Not F#")

    imported = [import_from("deerflow", ("fact.md", given)) for given in (text, text.replace("# Uses uv\n", ""))]

    assert [result.memory.facts[0].content for result in imported] == [
        "Writes C# daily.\n# Not F#\nIt is never pip.",
        "Writes C# daily.\n# Not F#\nIt is never pip.",
    ]


def test_a_manual_fact_of_deerflow_stays_manual() -> None:
    """So no update removes it."""
    text = FACT_FILE.replace("type: conversation", "type: manual").replace("threadId: t9", "threadId: null")

    result = import_from("deerflow", ("fact.md", text))

    assert result.memory.facts[0].is_manual


def test_a_thread_called_manual_of_another_system_makes_no_manual_facts() -> None:
    """Only DeerFlow's own mark does."""
    text = FACT_FILE.replace("threadId: t9", "threadId: manual")
    runs = [{"memory": "Likes tea.", "run_id": "manual"}]

    results = [import_from("deerflow", ("fact.md", text)), import_from("mem0", runs)]

    assert [result.memory.facts[0].source for result in results] == ["unknown", "unknown"]


def test_a_deerflow_fact_whose_content_is_not_a_text_is_skipped() -> None:
    result = import_from("deerflow", {"facts": [{"content": ["a", "list"]}, {"content": "Likes tea."}]})

    assert [fact.content for fact in result.memory.facts] == ["Likes tea."]
    assert [*skipped(result).values()] == ["its content is not a text"]


def test_a_folder_of_deerflow_is_one_memory() -> None:
    """Summaries are in one file, and each fact is in a file of its own."""
    result = import_from(
        "deerflow", ("users/ada/memory.json", json.dumps(DEERFLOW)), ("users/ada/facts/uv.md", FACT_FILE)
    )

    assert len(result.memory.facts) == 4
    assert result.memory.user.work_context.summary == "Data engineer at Acme."


def test_json_in_a_markdown_file_of_deerflow_is_imported() -> None:
    """It is in a fenced block."""
    result = import_from("deerflow", ("memory.md", f"# Memory\n\n```memory-json\n{json.dumps(DEERFLOW)}\n```\n"))

    assert result.report.facts == 3


def test_markdown_without_front_matter_is_skipped() -> None:
    """It may be any file."""
    result = import_from("deerflow", ("notes.md", "Some notes."))

    assert skipped(result) == {"notes.md": "it has no YAML front matter"}


def test_mem0_memories_become_facts() -> None:
    """Their times are converted to UTC, and the run id becomes the source."""
    result = import_from("mem0", MEM0)

    first, second = result.memory.facts
    assert (first.content, first.category, first.source) == ("Loves hiking in the Alps", "preference", "run-7")
    assert (first.created_at, first.last_confirmed_at) == ("2025-10-01T16:00:00Z", "2025-10-05T16:00:00Z")
    assert (second.confidence, second.source, second.created_at) == (0.8, "mem0", "")
    assert skipped(result) == {"relations": "memgraph has no graph of relations"}


def test_langmem_items_become_facts() -> None:
    """Each text of a profile becomes a fact; numbers are skipped."""
    result = import_from("langmem", LANGMEM)

    assert [fact.content for fact in result.memory.facts] == [
        "Prefers dark mode",
        "Lives in Oslo",
        "name: Ada",
        "favourite tools: vim",
        "favourite tools: make",
    ]
    assert skipped(result) == {"age: 36": "it is not a text"}


def test_items_of_a_real_store_are_imported() -> None:
    """In the format of LangGraph's own store."""
    from langgraph.store.memory import InMemoryStore

    store = InMemoryStore()
    for item in LANGMEM[:2]:
        store.put(tuple(item["namespace"]), item["key"], item["value"])
    export = [item.dict() for item in store.search(("memories",))]

    result = import_from("langmem", export)

    assert sorted(fact.content for fact in result.memory.facts) == ["Lives in Oslo", "Prefers dark mode"]
    assert all(fact.created_at for fact in result.memory.facts)


@pytest.mark.parametrize(
    ("system", "export", "said_at"),
    [
        ("mem0", MEM0, "2025-10-01T16:00:00Z"),
        ("langmem", LANGMEM, "2025-10-01T09:00:00Z"),
        (
            "deerflow",
            {"facts": [{"content": "Likes tea.", "createdAt": "2025-10-01T09:00:00"}]},
            "2025-10-01T09:00:00Z",
        ),
        ("mem0", [{"memory": "Likes tea", "created_at": 1_759_309_200}], "2025-10-01T09:00:00Z"),
        ("mem0", [{"memory": "Likes tea", "created_at": "yesterday"}], ""),
    ],
)
def test_imported_fact_was_said_when_it_was_learned_there(system: str, export: object, said_at: str) -> None:
    """These systems learn a conversation as it goes on, and keep no other time."""
    first = import_from(system, ("memory.json", json.dumps(export))).memory.facts[0]

    assert (first.said_at, first.created_at) == (said_at, said_at)


def test_time_at_which_an_imported_fact_was_said_is_kept() -> None:
    """A memory of this project, as an export of DeerFlow."""
    fact = {"content": "Likes tea.", "createdAt": "2025-10-01T09:00:00Z", "saidAt": "2023-05-08T13:56:00Z"}

    (imported,) = import_from("deerflow", ("memory.json", json.dumps({"facts": [fact]}))).memory.facts

    assert (imported.said_at, imported.created_at) == ("2023-05-08T13:56:00Z", "2025-10-01T09:00:00Z")


TWO_USERS = [
    ("mem0", [{"id": "1", "memory": "Likes tea", "user_id": who} for who in ("ada", "bob")]),
    ("langmem", [{"namespace": ["m", who], "key": who, "value": {"content": "Likes tea"}} for who in ("ada", "bob")]),
]


@pytest.mark.parametrize(("system", "export"), TWO_USERS, ids=["mem0", "langmem"])
def test_memories_of_two_users_are_never_mixed(system: str, export: object) -> None:
    """The owner has to be selected."""
    with pytest.raises(EditError, match=r"has memories of '.*ada', '.*bob': select one of them with --of"):
        import_from(system, export)


def test_only_the_selected_user_is_imported() -> None:
    """Items of the other user are reported as skipped."""
    result = import_from("mem0", [{"memory": f"Likes {who}", "user_id": who} for who in ("ada", "bob")], owner="bob")

    assert [fact.content for fact in result.memory.facts] == ["Likes bob"]
    assert skipped(result) == {"Likes ada": "it belongs to 'ada'"}


def test_only_the_selected_user_of_a_deerflow_folder_is_imported() -> None:
    """The path contains the user."""
    folder = [(f"users/{who}/facts/x.md", FACT_FILE.replace("uv", who)) for who in ("ada", "bob")]

    result = import_from("deerflow", *folder, owner="bob")

    assert [fact.id for fact in result.memory.facts] == ["fact_bob"]


def test_a_long_memory_is_truncated_at_a_sentence() -> None:
    """The limits of new facts apply."""
    result = import_from("mem0", [{"memory": "This goes on and on. " * 200}])

    assert len(result.memory.facts[0].content) <= 2_000
    assert result.memory.facts[0].content.endswith("on.")
    assert "was truncated to 2,000" in result.report.changed[0].why


@pytest.mark.parametrize("system", sorted({*READERS} - {"markdown"}))  # any text is Markdown
@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"no json", b"\xff\xfe\x00", b"3", b"null", b'{"a": 1}', b"[" * 100_000, b'"text"', b"{}"],
    ids=repr,
)
def test_anything_but_an_export_is_an_error_with_its_name(system: str, data: bytes) -> None:
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
def test_malformed_items_do_not_affect_others(system: str, items: list[object]) -> None:
    """Each is either imported or skipped."""
    export = {"facts": items} if system == "deerflow" else items

    try:
        result = READERS[system]([ExportDocument("odd.json", json.dumps(export).encode())], None)
    except EditError:
        return

    assert all(fact.content and 0 <= fact.confidence <= 1 for fact in result.memory.facts)
    assert len({fact.id for fact in result.memory.facts}) == len(result.memory.facts)


CHATDEV = [
    {
        "id": "1",
        "content_summary": "The shop uses PostgreSQL.",
        "metadata": {"agent_role": "Writer"},
        "timestamp": 1767225600.5,
    },
    {"id": "2", "content_summary": "The logo is green.", "metadata": {}, "embedding": [1.0], "timestamp": None},
]


@pytest.mark.parametrize("export", [CHATDEV, {"file_metadata": {}, "contents": CHATDEV, "config": {"chunk_size": 500}}])
def test_the_stored_memories_of_chatdev_are_imported(export: object) -> None:
    result = import_from("chatdev", export)

    assert [fact.content for fact in result.memory.facts] == ["The shop uses PostgreSQL.", "The logo is green."]
    assert result.memory.facts[0].created_at.startswith("2026-01-01T00:00:00")


@pytest.mark.parametrize("export", [{"0": {"memory": "a card"}}, [{"content": "x"}], [3]])
def test_another_file_of_chatdev_is_refused_by_a_sentence(export: object) -> None:
    with pytest.raises(EditError, match="is not a memory of ChatDev"):
        import_from("chatdev", export)


def test_the_memories_of_chatdev_have_no_owner() -> None:
    with pytest.raises(EditError, match="leave out --of"):
        import_from("chatdev", CHATDEV, owner="ada")
