"""memgraph step shows each node's work, takes edits, and saves nothing before the end."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memgraph.cli.prompts import edited
from memgraph.cli.step_view import MOST_LINES, format_stage
from memgraph.errors import EditError
from memgraph.models import Turn

TALK = "User: My name is Ada. I live in Paris.\nAssistant: Noted.\n"
MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()", "step", "talk.txt", "-u", "ada"]
UNTIL_APPLY = "n\n" * 6
"""Runs the nodes before apply_update."""


@pytest.fixture(autouse=True)
def talk(tmp_path: Path) -> Path:
    """A conversation in the working folder."""
    file = tmp_path / "talk.txt"
    file.write_text(TALK)
    return file


@pytest.fixture
def step(memgraph: Any) -> Any:
    """Step through the conversation by commands."""

    def run(commands: str, *options: str) -> Any:
        return memgraph("step", "talk.txt", "-u", "ada", "--model", "offline", *options, stdin=commands.encode())

    return run


def contents(document: Path) -> list[str]:
    return [fact["content"] for fact in json.loads(document.read_text())["facts"]]


def test_each_node_is_shown_with_what_it_reads_and_wrote(step: Any) -> None:
    result = step("\n\nn\n")

    shown = result.out
    assert "Next: filter_messages, which reads messages" in shown
    assert "filter_messages: 2 turns kept\n  turns      2 turns\n    user: My name is Ada. I live in Paris." in shown
    assert "Next: build_prompt, which reads turns, origin, signals, memory, pending_turns" in shown


@pytest.mark.parametrize("commands", ["", UNTIL_APPLY, "n\n" * 8, "n\n" * 8 + "q\nc\n"])
def test_whoever_stops_before_the_save_saves_nothing(step: Any, document: Path, commands: str) -> None:
    """At the end of what was piped in, and at q."""
    result = step(commands)

    assert (result.code, document.exists()) == (0, False)
    assert "nothing was saved." in result.err


def test_continuing_to_the_end_learns(step: Any, document: Path) -> None:
    result = step("c\n")

    assert (result.code, result.err) == (0, "")
    assert contents(document) == ["Name is Ada.", "Lives in Paris."]
    assert "applied    2 facts, revision 0\n    + [context | 0.95] Name is Ada." in result.out
    assert "Learned:" in result.out
    assert str(document) in result.out


def test_an_edit_counts(step: Any, document: Path) -> None:
    step('e messages [{"role": "user", "content": "I live in Oslo."}]\nc\n')

    assert contents(document) == ["Lives in Oslo."]


def test_a_stage_is_shown_whole_as_json(step: Any) -> None:
    result = step("n\ns turns\n")

    assert '"text": "My name is Ada. I live in Paris."' in result.out


def test_what_cannot_be_edited_is_refused_and_ends_a_script(step: Any, document: Path) -> None:
    """What follows in a script relies on the edit, and would save something else."""
    result = step(UNTIL_APPLY + 'e changes {"additions": 3}\nc\n')

    assert (result.code, document.exists()) == (2, False)
    assert "Error: changes.at: Field required" in result.err
    assert "nothing was saved." in result.err


def test_a_command_that_is_refused_at_the_save_is_no_save(step: Any, document: Path) -> None:
    result = step("n\n" * 8 + "dance\n")

    assert (result.code, document.exists()) == (2, False)
    assert "Stopped before save_memory: nothing was saved." in result.err


@pytest.mark.parametrize(
    ("commands", "problem"),
    [
        ("dance\n", "there is no command 'dance'; h tells which there are"),
        ("e messages [\n", "messages is no JSON: Expecting value"),
        ("e messages\n", "say the new value after it"),
        ("e messages " + "[" * 100_000 + "\n", "messages is no JSON"),
        ("s dreams\n", "there is no stage 'dreams' yet; there are messages"),
        ("b\n", "this is the beginning"),
        ("a\n", "nothing is asked"),
        ('"accept"\n', "nothing is asked"),
        ("i\n", "there is nothing to decide"),
        ("e \x1b[2J 1\n", "no stage"),
    ],
)
def test_a_command_that_is_none_says_so_in_one_line(step: Any, commands: str, problem: str) -> None:
    result = step(commands)

    said = [line for line in result.err.splitlines() if line.startswith("Error: ")]
    assert (result.code, len(said)) == (2, 1)
    assert problem in said[0]
    assert "\x1b" not in result.out + result.err


def test_going_back_before_a_save_says_that_the_save_stays(step: Any, document: Path) -> None:
    result = step("c\nb\nc\n")

    assert "saved as revision 1 and stays so" in result.err
    assert "another run learned from this conversation meanwhile" in result.out
    assert json.loads(document.read_text())["revision"] == 1


def test_stopping_after_going_back_tells_of_the_save(step: Any) -> None:
    result = step("c\nb\n")

    assert "Stopped before save_memory: it was saved as revision 1 before, and stays so." in result.err


def test_enter_at_the_end_quits(step: Any) -> None:
    """So that `yes '' | memgraph step` comes to an end."""
    result = step("\n" * 100 + "dance\n")

    assert result.code == 0


def test_json_is_one_document_of_all_steps(step: Any) -> None:
    found = step("n\nn\ns turns\nc\n", "--json").json

    assert (found["outcome"], found["next"], found["revision"]) == ("learned", None, 1)
    assert [step["node"] for step in found["steps"]][:3] == ["filter_messages", "detect_signals", "load_memory"]
    assert found["steps"][-1]["wrote"]["saved"]["facts"][0]["content"] == "Name is Ada."


def test_changes_that_need_review_are_decided_here(step: Any, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_REVIEW", "always")

    result = step("c\nr\nc\n")

    assert "Decide: a accepts all" in result.out
    assert "refused in review" in result.out
    assert contents(document) == []


def test_the_conversation_cannot_come_from_where_the_commands_do(memgraph: Any) -> None:
    result = memgraph("step", "-", "-u", "ada", stdin=TALK.encode())

    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "the commands come from stdin" in result.err


def test_memory_that_is_off_has_no_steps(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_ENABLED", "false")

    result = step("c\n", "--json")

    assert (result.code, result.json["outcome"]) == (0, None)


def test_a_stage_of_many_lines_is_cut() -> None:
    turns = tuple(Turn(id=str(n), role="human", text="word " * 1_000) for n in range(100))

    said = format_stage("turns", {}, turns)

    assert (said.summary, len(said.lines)) == ("100 turns", MOST_LINES + 1)
    assert said.lines[-1] == "... and 88 more (s turns shows all)"
    assert all(len(line) < 200 for line in said.lines)


def test_an_editor_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "false")

    with pytest.raises(EditError, match="editing with false failed"):
        edited("{}", "changes")


class Terminal:
    """A person at a real terminal."""

    def __init__(self, folder: Path, **environment: str) -> None:
        ours, theirs = pty.openpty()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        self.screen = ""
        self.process = subprocess.Popen(
            MAIN,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={**kept, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm", **environment},
            start_new_session=True,
        )
        os.close(theirs)
        self._terminal = ours

    def type(self, line: str) -> None:
        os.write(self._terminal, line.encode())

    def wait_for(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + 20
        while self.screen.count(text) < times:
            assert time.monotonic() < deadline, self.screen
            if select.select([self._terminal], [], [], 0.1)[0]:
                self.screen += os.read(self._terminal, 65_536).decode(errors="replace")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._terminal)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal whose editor first breaks what it is given, and the second time mends it and moves Ada to Rome."""
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
        "broken = text.replace('\"content\"', '\"contend\"')\n"
        "mended = text.replace('\"contend\"', '\"content\"').replace('Paris', 'Rome')\n"
        "file.write_text(mended if 'contend' in text else broken)\n"
    )
    editor.chmod(0o700)
    opened = Terminal(tmp_path, EDITOR=str(editor), VISUAL="")
    yield opened
    opened.close()


def test_a_person_edits_in_an_editor_and_a_refused_text_is_not_lost(terminal: Terminal, document: Path) -> None:
    """Nothing is worse than an editor's work that is gone for a comma."""
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


def test_ctrl_c_saves_nothing(terminal: Terminal, document: Path) -> None:
    terminal.wait_for("step> ")
    terminal.type("\n" * 3)
    terminal.wait_for("Next: build_prompt")

    terminal.process.send_signal(signal.SIGINT)
    terminal.type("\n")  # readline may just be writing its prompt, and looks for signals only afterwards

    terminal.wait_for("Stopped before build_prompt: nothing was saved.")
    assert terminal.process.wait(30) == 130
    assert not document.exists()
