"""What a user can cause ends in one line and an exit code, never in a traceback."""

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


def refused(result: Any, code: int, *words: str) -> None:
    assert result.code == code
    assert result.err.startswith("Error: ")
    assert result.err.count("\n") == 1
    for word in words:
        assert word in result.err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("user", "problem"), [("", "user_id is empty"), ("a\0b", "control character"), ("a" * 257, "257 characters")]
)
def test_a_user_that_may_not_be(memgraph: Any, tmp_path: Path, command: list[str], user: str, problem: str) -> None:
    result = memgraph(*command, "--user", user, stdin=b"{}")

    refused(result, 2, problem)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_an_agent_that_may_not_be(memgraph: Any, tmp_path: Path, command: list[str]) -> None:
    result = memgraph(*command, "--user", "ada", "--agent", "../evil", stdin=b"{}")

    refused(result, 2, "agent_name '../evil'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_user_at_all(memgraph: Any, command: list[str]) -> None:
    refused(memgraph(*command), 2, "--user", "--help tells more")


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["show", "-u", "ada", "--nonsense"], ["recall", "x", "-u", "ada", "--budget", "0"], ["fact"]],
)
def test_a_command_line_that_is_none(memgraph: Any, arguments: list[str]) -> None:
    refused(memgraph(*arguments), 2)
    assert memgraph(*arguments, "--json").json["error"]["type"] == "UsageError"


def test_a_thread_that_may_not_be(memgraph: Any) -> None:
    refused(
        memgraph("update", "-", "-u", "ada", "--thread", "a\0", stdin=b"User: hi"), 2, "thread", "control character"
    )


def test_a_traversal_stays_inside(memgraph: Any, tmp_path: Path) -> None:
    memgraph("fact", "add", "Likes tea.", "-u", "../evil", "--storage", str(tmp_path / "a/b"))

    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert "Likes tea." in memgraph("show", "-u", "../evil", "--storage", str(tmp_path / "a/b")).out


@pytest.mark.parametrize(
    ("command", "file"), [("update", "nowhere.txt"), ("import", "nowhere.json"), ("update", "."), ("update", "a\0b")]
)
def test_a_file_that_cannot_be_read(memgraph: Any, command: str, file: str) -> None:
    refused(memgraph(command, file, "-u", "ada"), 2, "cannot be read")


def test_a_file_that_is_no_conversation_names_its_line(memgraph: Any) -> None:
    refused(memgraph("update", "-", "-u", "ada", stdin=b"hello"), 2, "stdin, line 1")


@pytest.mark.parametrize("command", [command for command in COMMANDS if command[0] not in {"update", "import"}])
def test_a_damaged_document_is_left_as_it_is(memgraph: Any, document: Path, command: list[str]) -> None:
    document.parent.mkdir(parents=True)
    document.write_text('{"facts": [')

    result = memgraph(*command, "-u", "ada", "--json")

    refused(result, 1, str(document))
    assert result.json["error"]["type"] == DamagedMemoryError.__name__
    assert document.read_text() == '{"facts": ['


def test_a_damaged_document_learns_nothing(memgraph: Any, document: Path) -> None:
    document.parent.mkdir(parents=True)
    document.write_text("{")

    result = memgraph("update", "-", "-u", "ada", "--model", "offline", stdin=b"User: I live in Paris.")

    refused(result, 1, str(document))
    assert document.read_text() == "{"


def test_debug_shows_where_an_error_comes_from(memgraph: Any, document: Path) -> None:
    document.parent.mkdir(parents=True)
    document.write_text("{")

    with pytest.raises(DamagedMemoryError):
        memgraph("show", "-u", "ada", "--debug")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("memory: {max_fact: 3}", "did you mean max_facts?"),
        ("memory: {storage_path: 'nope:x'}", "'nope'"),
        ("[", "no YAML"),
    ],
)
def test_settings_that_may_not_be(memgraph: Any, tmp_path: Path, monkeypatch: Any, text: str, word: str) -> None:
    monkeypatch.delenv("MEMGRAPH_STORAGE_PATH")
    (tmp_path / "memgraph.yaml").write_text(text)

    refused(memgraph("show", "-u", "ada"), 2, word)


def test_hostile_text_is_shown_harmlessly(memgraph: Any, document: Path) -> None:
    """What somebody said may end up on somebody else's terminal."""
    evil = "\x1b[2J[bold red]boo[/] \u202egnp.exe \x9b31m\r\x07 [/nope]"
    document.parent.mkdir(parents=True)
    document.write_text(json.dumps({"facts": [{"id": "f\x1b[2J", "content": evil, "category": "\x1b]0;x\x07"}]}))

    results = [
        memgraph(*command, "-u", "ada")
        for command in (["show"], ["recall", "x"], ["export"], ["show", "--json"], ["fact", "remove", "f"])
    ]

    for result in results:
        assert not {"\x1b", "\u202e", "\x9b", "\r", "\x07"} & set(result.out + result.err)
    assert "[bold red]boo[/]" in results[0].out
    assert results[3].json["facts"][0]["content"] == evil
