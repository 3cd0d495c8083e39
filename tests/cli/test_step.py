"""memgraph step shows and edits each stage, and saves nothing before the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from memgraph.cli.input import open_editor
from memgraph.cli.update_view import MAX_LINES, format_stage
from memgraph.errors import EditError
from memgraph.models import Turn

CONVERSATION = "User: My name is Ada. I live in Paris.\nAssistant: Noted.\n"
UNTIL_APPLY = "n\n" * 6
"""Runs the nodes before apply_update."""


@pytest.fixture(autouse=True)
def conversation(tmp_path: Path) -> Path:
    """A conversation in the working directory."""
    file = tmp_path / "talk.txt"
    file.write_text(CONVERSATION)
    return file


@pytest.fixture
def step(memgraph: Any) -> Any:
    """Run `memgraph step` with piped commands."""

    def run(commands: str, *options: str) -> Any:
        return memgraph("step", "talk.txt", "-u", "ada", "--model", "offline", *options, stdin=commands.encode())

    return run


def contents(document: Path) -> list[str]:
    return [fact["content"] for fact in json.loads(document.read_text())["facts"]]


def test_each_node_is_shown_with_what_it_reads_and_wrote(step: Any) -> None:
    result = step("\n\nn\n")

    shown = result.out
    assert "Next: filter_messages (reads messages)" in shown
    assert "filter_messages: 2 turns kept\n  turns      2 turns\n    user: My name is Ada. I live in Paris." in shown
    assert "Next: build_prompt (reads turns, origin, signals, memory, pending_turns)" in shown


@pytest.mark.parametrize("commands", ["", UNTIL_APPLY, "n\n" * 8, "n\n" * 8 + "q\nc\n"])
def test_stopping_before_the_save_saves_nothing(step: Any, document: Path, commands: str) -> None:
    """At the end of the input, and with q."""
    result = step(commands)

    assert (result.code, document.exists()) == (0, False)
    assert "nothing was saved." in result.err


def test_continuing_to_the_end_saves(step: Any, document: Path) -> None:
    result = step("c\n")

    assert (result.code, result.err) == (0, "")
    assert contents(document) == ["Name is Ada.", "Lives in Paris."]
    assert "applied    2 facts, revision 0\n    + [context | 0.95] Name is Ada." in result.out
    assert "Learned:" in result.out
    assert str(document) in result.out


def test_an_edit_takes_effect(step: Any, document: Path) -> None:
    step('e messages [{"role": "user", "content": "I live in Oslo."}]\nc\n')

    assert contents(document) == ["Lives in Oslo."]


def test_a_stage_is_shown_as_json(step: Any) -> None:
    result = step("n\ns turns\n")

    assert '"text": "My name is Ada. I live in Paris."' in result.out


def test_an_invalid_edit_ends_a_script(step: Any, document: Path) -> None:
    """Later commands rely on the edit, and would save something else."""
    result = step(UNTIL_APPLY + 'e changes {"additions": 3}\nc\n')

    assert (result.code, document.exists()) == (2, False)
    assert "Error: changes.at: Field required" in result.err
    assert "nothing was saved." in result.err


def test_an_invalid_command_before_the_save_saves_nothing(step: Any, document: Path) -> None:
    result = step("n\n" * 8 + "dance\n")

    assert (result.code, document.exists()) == (2, False)
    assert "Stopped before save_memory: nothing was saved." in result.err


@pytest.mark.parametrize(
    ("commands", "problem"),
    [
        ("dance\n", "unknown command 'dance'; h lists the commands"),
        ("e messages [\n", "messages is not valid JSON: Expecting value"),
        ("e messages\n", "e messages needs a value"),
        ("e messages " + "[" * 100_000 + "\n", "messages is not valid JSON"),
        ("s dreams\n", "no stage 'dreams' yet; available: messages"),
        ("b\n", "already at the beginning"),
        ("e \x1b[2J 1\n", "cannot be edited here"),
    ],
)
def test_an_invalid_command_is_one_error_line(step: Any, commands: str, problem: str) -> None:
    result = step(commands)

    errors = [line for line in result.err.splitlines() if line.startswith("Error: ")]
    assert (result.code, len(errors)) == (2, 1)
    assert problem in errors[0]
    assert "\x1b" not in result.out + result.err


def test_going_back_reports_that_the_save_is_kept(step: Any, document: Path) -> None:
    result = step("c\nb\nc\n")

    assert "Revision 1 was saved and is kept" in result.err
    assert "another run has learned from this conversation" in result.out
    assert json.loads(document.read_text())["revision"] == 1


def test_stopping_after_going_back_reports_the_save(step: Any) -> None:
    result = step("c\nb\n")

    assert "Stopped before save_memory: revision 1 was saved earlier and is kept." in result.err


def test_enter_at_the_end_quits(step: Any) -> None:
    """So that `yes '' | memgraph step` terminates."""
    result = step("\n" * 100 + "dance\n")

    assert result.code == 0


def test_json_is_one_document_with_all_steps(step: Any) -> None:
    found = step("n\nn\ns turns\nc\n", "--json").json

    assert (found["outcome"], found["next"], found["revision"]) == ("learned", None, 1)
    assert [step["node"] for step in found["steps"]][:3] == ["filter_messages", "detect_signals", "load_memory"]
    assert found["steps"][-1]["wrote"]["saved"]["facts"][0]["content"] == "Name is Ada."


def test_what_needs_a_review_is_pending(step: Any, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_REVIEW", "always")

    step("c\n")

    stored = json.loads(document.read_text())
    assert (stored["facts"], bool(stored["quarantine"])) == ([], True)


def test_the_conversation_cannot_come_from_stdin(memgraph: Any) -> None:
    result = memgraph("step", "-", "-u", "ada", stdin=CONVERSATION.encode())

    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "stdin is used for commands" in result.err


def test_disabled_memory_has_no_steps(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_ENABLED", "false")

    result = step("c\n", "--json")

    assert (result.code, result.json["outcome"]) == (0, None)


def test_a_long_stage_is_truncated() -> None:
    turns = tuple(Turn(id=str(n), role="human", text="word " * 1_000) for n in range(100))

    view = format_stage("turns", {}, turns)

    assert (view.summary, len(view.lines)) == ("100 turns", MAX_LINES + 1)
    assert view.lines[-1] == "... and 88 more (s turns shows all)"
    assert all(len(line) < 200 for line in view.lines)


def test_a_failing_editor_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "false")

    with pytest.raises(EditError, match="editing with false failed"):
        open_editor("{}", "changes")


@pytest.fixture
def terminal(tmp_path: Path, open_terminal: Any) -> Any:
    """A terminal whose editor first makes an invalid change, then repairs it and replaces Paris with Rome."""
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
        "broken = text.replace('\"content\"', '\"contend\"')\n"
        "fixed = text.replace('\"contend\"', '\"content\"').replace('Paris', 'Rome')\n"
        "file.write_text(fixed if 'contend' in text else broken)\n"
    )
    editor.chmod(0o700)
    return open_terminal("step", "talk.txt", "-u", "ada", EDITOR=str(editor), VISUAL="")


def test_an_invalid_edit_is_kept_for_the_next_attempt(terminal: Any, document: Path) -> None:
    """A typo does not lose the whole edit."""
    terminal.wait_for("step> ")
    terminal.type("\n" * 6)
    terminal.wait_for("Next: apply_update")
    terminal.type("e changes\n")
    terminal.wait_for("Extra inputs are not permitted")
    terminal.type("e changes\n")
    terminal.wait_for("Lives in Rome.")

    terminal.type("c\n")

    terminal.wait_for("The update has ended")
    assert contents(document) == ["Name is Ada.", "Lives in Rome."]


def test_ctrl_c_saves_nothing(terminal: Any, document: Path) -> None:
    terminal.wait_for("step> ")
    terminal.type("\n" * 3)
    terminal.wait_for("Next: build_prompt")

    terminal.interrupt()
    terminal.type("\n")  # wakes up readline, which may have checked for signals just before

    terminal.wait_for("Stopped before build_prompt: nothing was saved.")
    assert terminal.wait() == 130
    assert not document.exists()
