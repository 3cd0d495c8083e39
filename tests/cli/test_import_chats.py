"""memgraph import --from chatgpt and claude learns from each conversation, once, with its dates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def chat(chat_id: str, text: str, at: str) -> dict[str, Any]:
    message = {"uuid": f"m-{chat_id}", "sender": "human", "text": text, "created_at": at}
    return {"uuid": chat_id, "name": f"Chat {chat_id}", "created_at": at, "chat_messages": [message]}


CHATS = [
    chat("c2", "I live in Paris now.", "2024-03-02T10:00:00Z"),
    chat("c1", "I live in Oslo. My name is Ada.", "2023-05-08T10:00:00Z"),
    chat("c0", "", "2023-01-01T10:00:00Z"),
]
IMPORT = ("import", "chats.json", "--from", "claude", "--user", "ada", "--model", "offline")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(CHATS))
    return path


def facts(memgraph: Any) -> dict[str, dict[str, Any]]:
    return {fact["content"]: fact for fact in memgraph("show", "--user", "ada", "--json").json["facts"]}


def test_facts_have_the_dates_and_threads_of_their_conversations(memgraph: Any, export: Path) -> None:
    """What was said in 2023 is a memory of 2023."""
    result = memgraph(*IMPORT)

    assert result.code == 0, result.err
    assert "Read 2 conversations with 2 messages (2023-05-08 - 2024-03-02); 1 skipped." in result.out
    assert "Learned from 2 conversations" in result.out
    name = facts(memgraph)["Name is Ada."]
    assert (name["saidAt"], name["source"]) == ("2023-05-08T10:00:00Z", "claude:c1")


def test_a_later_conversation_replaces_what_an_earlier_one_said(memgraph: Any, export: Path) -> None:
    """Although the export begins with the newest."""
    memgraph(*IMPORT)

    homes = [content for content in facts(memgraph) if content.startswith("Lives in")]
    assert homes == ["Lives in Paris."]


def test_a_second_import_learns_nothing_and_calls_no_model(memgraph: Any, export: Path) -> None:
    first = memgraph(*IMPORT, "--json").json
    again = memgraph(*IMPORT, "--json").json

    assert (first["counts"]["conversations"], first["usage"]["calls"]) == (2, 2)
    assert (again["counts"]["conversations"], again["counts"]["added"], again["usage"]["calls"]) == (0, 0, 0)


def test_an_import_learns_only_from_what_is_new_in_a_later_export(memgraph: Any, export: Path) -> None:
    memgraph(*IMPORT)
    export.write_text(json.dumps([chat("c3", "I prefer tea.", "2024-04-01T10:00:00Z"), *CHATS]))

    again = memgraph(*IMPORT, "--json").json

    assert (again["counts"]["conversations"], again["usage"]["calls"]) == (1, 1)


def test_a_dry_run_reports_and_learns_nothing(memgraph: Any, export: Path) -> None:
    result = memgraph(*IMPORT, "--dry-run", "--json").json

    assert (result["conversations"], result["messages"], result["dry_run"]) == (2, 2, True)
    assert [note["what"] for note in result["skipped"]] == ["Chat c0"]
    assert "No memory for user 'ada'" in memgraph("show", "--user", "ada").err


def test_a_wrong_shape_is_an_error_before_anything_is_learned(memgraph: Any, export: Path) -> None:
    export.write_text(json.dumps([*CHATS, {"mapping": {}}]))

    result = memgraph(*IMPORT)

    assert result.code == 2
    assert "chats.json, conversation 4: it is not a conversation of Claude" in result.err
    assert "No memory for user 'ada'" in memgraph("show", "--user", "ada").err


@pytest.mark.parametrize("option", [["--replace"], ["--trusted"], ["--of", "x"]])
def test_options_of_memories_do_not_apply_to_conversations(memgraph: Any, export: Path, option: list[str]) -> None:
    assert "do not apply to the conversations of claude" in memgraph(*IMPORT, *option).err


def test_a_review_is_not_skipped(memgraph: Any, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_REVIEW", "always")

    result = memgraph(*IMPORT)

    assert result.code == 2
    assert "changes need a review (review: always)" in result.err


def test_more_conversations_than_threads_are_warned_about(
    memgraph: Any, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The progress of the oldest is not kept."""
    monkeypatch.setenv("MEMGRAPH_MAX_THREADS", "1")

    assert "(max_threads)" in memgraph(*IMPORT, "--dry-run").err


def test_a_model_does_not_apply_to_memories(memgraph: Any, tmp_path: Path) -> None:
    (tmp_path / "mem0.json").write_text("[]")

    result = memgraph("import", "mem0.json", "--from", "mem0", "--user", "ada", "--model", "offline")

    assert "--model applies to conversations" in result.err


def test_markdown_is_exported_and_imported(memgraph: Any, tmp_path: Path) -> None:
    """A memory as a file to read and edit."""
    memgraph("fact", "add", "Prefers tea.", "--user", "ada", "--category", "preference")

    exported = memgraph("export", "--user", "ada", "--format", "markdown", "--output", "ada.md")
    memgraph("import", "ada.md", "--from", "markdown", "--user", "bob", "--trusted")

    assert exported.code == 0, exported.err
    assert (tmp_path / "ada.md").read_text() == "# Memory\n\n## Facts (preference)\n\n- Prefers tea.\n"
    (fact,) = memgraph("show", "--user", "bob", "--json").json["facts"]
    assert (fact["content"], fact["category"], fact["source"]) == ("Prefers tea.", "preference", "manual")
    assert memgraph("export", "--user", "ada", "--format", "markdown").out == (tmp_path / "ada.md").read_text()


def test_an_import_learns_all_of_a_long_message_and_says_first_what_it_costs(memgraph: Any, export: Path) -> None:
    """It is started once, by a person: `max_calls` is for the conversations of a service."""
    export.write_text(json.dumps([chat("c1", "嗯，今天的天气还是这样。" * 2_500, "2024-04-01T10:00:00Z")]))

    first, second = memgraph(*IMPORT), memgraph(*IMPORT[:5], "bob", *IMPORT[6:], "--json").json

    calls = second["usage"]["calls"]
    assert calls > 8
    assert f"Learning takes at least {calls} calls of the model." in first.out
