"""Invalid input ends in one line and an exit code, never in a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memgraph.errors import DamagedMemoryError

COMMANDS = [
    ["update", "-"],
    ["show"],
    ["recall", "what?"],
    ["fact", "add", "Likes tea."],
    ["fact", "edit", "fact_1", "--content", "x"],
    ["fact", "remove", "fact_1"],
    ["forget", "--yes"],
    ["export"],
    ["import", "-"],
]


def assert_error(result: Any, code: int, *words: str) -> None:
    assert result.code == code
    assert result.err.startswith("Error: ")
    assert result.err.count("\n") == 1
    for word in words:
        assert word in result.err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("user", "problem"), [("", "user_id is empty"), ("a\0b", "control character"), ("a" * 257, "257 characters")]
)
def test_invalid_user_id(memgraph: Any, tmp_path: Path, command: list[str], user: str, problem: str) -> None:
    result = memgraph(*command, "--user", user, stdin=b"{}")

    assert_error(result, 2, problem)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_invalid_agent_name(memgraph: Any, tmp_path: Path, command: list[str]) -> None:
    result = memgraph(*command, "--user", "ada", "--agent", "../evil", stdin=b"{}")

    assert_error(result, 2, "agent_name '../evil'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_user(memgraph: Any, command: list[str]) -> None:
    assert_error(memgraph(*command), 2, "--user", "(see memgraph")


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["show", "-u", "ada", "--nonsense"], ["recall", "x", "-u", "ada", "--budget", "0"], ["fact"]],
)
def test_invalid_command_line(memgraph: Any, arguments: list[str]) -> None:
    assert_error(memgraph(*arguments), 2)
    assert memgraph(*arguments, "--json").json["error"]["type"] == "UsageError"


def test_invalid_thread(memgraph: Any) -> None:
    assert_error(
        memgraph("update", "-", "-u", "ada", "--thread", "a\0", stdin=b"User: hi"), 2, "thread", "control character"
    )


def test_path_traversal_stays_inside_the_storage(memgraph: Any, tmp_path: Path) -> None:
    memgraph("fact", "add", "Likes tea.", "-u", "../evil", "--storage", str(tmp_path / "a/b"))

    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert "Likes tea." in memgraph("show", "-u", "../evil", "--storage", str(tmp_path / "a/b")).out


@pytest.mark.parametrize(
    ("command", "file"), [("update", "nowhere.txt"), ("import", "nowhere.json"), ("update", "."), ("update", "a\0b")]
)
def test_unreadable_file(memgraph: Any, command: str, file: str) -> None:
    assert_error(memgraph(command, file, "-u", "ada"), 2, "cannot read")


def test_invalid_conversation_names_its_line(memgraph: Any) -> None:
    assert_error(memgraph("update", "-", "-u", "ada", stdin=b"hello"), 2, "stdin, line 1")


@pytest.mark.parametrize("command", [command for command in COMMANDS if command[0] not in {"update", "import"}])
def test_a_damaged_document_is_not_changed(memgraph: Any, document: Path, command: list[str]) -> None:
    document.parent.mkdir(parents=True)
    document.write_text('{"facts": [')

    result = memgraph(*command, "-u", "ada", "--json")

    assert_error(result, 1, str(document))
    assert result.json["error"]["type"] == DamagedMemoryError.__name__
    assert document.read_text() == '{"facts": ['


def test_update_does_not_overwrite_a_damaged_document(memgraph: Any, document: Path) -> None:
    document.parent.mkdir(parents=True)
    document.write_text("{")

    result = memgraph("update", "-", "-u", "ada", "--model", "offline", stdin=b"User: I live in Paris.")

    assert_error(result, 1, str(document))
    assert document.read_text() == "{"


def test_debug_shows_the_traceback(memgraph: Any, document: Path) -> None:
    document.parent.mkdir(parents=True)
    document.write_text("{")

    with pytest.raises(DamagedMemoryError):
        memgraph("show", "-u", "ada", "--debug")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("memory: {max_fact: 3}", "did you mean max_facts?"),
        ("memory: {storage_path: 'nope:x'}", "'nope'"),
        ("[", "not valid YAML"),
    ],
)
def test_invalid_settings(memgraph: Any, tmp_path: Path, monkeypatch: Any, text: str, word: str) -> None:
    monkeypatch.delenv("MEMGRAPH_STORAGE_PATH")
    (tmp_path / "memgraph.yaml").write_text(text)

    assert_error(memgraph("show", "-u", "ada"), 2, word)


def test_hidden_characters_in_stored_text_are_shown(memgraph: Any, document: Path) -> None:
    """Text of one user may be displayed on the terminal of another."""
    evil = "\x1b[2J[bold red]boo[/] \u202egnp.exe \x9b31m\r\x07 [/nope]\u200b\u3164\U000e0041"
    document.parent.mkdir(parents=True)
    document.write_text(json.dumps({"facts": [{"id": "f\x1b[2J", "content": evil, "category": "\x1b]0;x\x07"}]}))

    results = [
        memgraph(*command, "-u", "ada")
        for command in (["show"], ["recall", "x"], ["export"], ["show", "--json"], ["fact", "remove", "f"])
    ]

    for result in results:
        hidden = {"\x1b", "\u202e", "\x9b", "\r", "\x07", "\u200b", "\u3164", "\U000e0041"}
        assert not hidden & set(result.out + result.err)
    assert "<U+001B>[2J[bold red]boo[/] <U+202E>gnp.exe" in results[0].out
    assert "[/nope]<U+200B><U+3164><U+E0041>" in results[0].out
    assert results[3].json["facts"][0]["content"] == evil
