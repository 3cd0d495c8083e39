"""memgraph chat: a terminal that remembers."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from memgraph import Fact, Memory, Scope, open_storage
from memgraph.cli.chat import NO_PROVIDER, OFF, OFFLINE_CHOSEN, answer_from
from memgraph.llm import models as chat_models
from memgraph.testing import ScriptedModel, update_answer

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()", "chat", "--user", "ada"]

Memgraph = Callable[..., Any]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What every process is started with."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "OPENAI_"))}
    places = {"MEMGRAPH_STORAGE_PATH": str(tmp_path / "memories"), "XDG_DATA_HOME": str(tmp_path / "data")}
    return kept | places | {"PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.fixture
def talk(environment: dict[str, str], tmp_path: Path) -> Process:
    """Talk with a new process, a message a line."""

    def run(*said: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*MAIN, *options],
            env=environment,
            cwd=tmp_path,
            input="\n".join(said),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedModel:
    """A provider, `scripted:one`, that answers what it is told and learns a name."""

    def reply(prompt: Sequence[BaseMessage]) -> str:
        if "newFacts" in prompt[0].text:
            return update_answer("Name is Ada.")
        return "You are Ada." if "Name is Ada." in prompt[0].text else "Who are you?"

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    model = ScriptedModel(reply)
    models = {**chat_models.CHAT_MODELS, "scripted": lambda _: model}
    monkeypatch.setattr(chat_models, "CHAT_MODELS", MappingProxyType(models))
    return model


# -- without a provider --


def test_a_new_process_remembers_what_an_earlier_one_was_told(talk: Process) -> None:
    """What the command is for."""
    talk("Hi, my name is Ada.")

    answer = talk("What is my name?").stdout

    assert "I remember: Name is Ada." in answer


def test_what_was_learned_is_said(talk: Process) -> None:
    """On one line, after the answer."""
    done = talk("Hi, my name is Ada.")

    assert done.stdout.splitlines() == ["I know nothing about that yet.", "(learned: Name is Ada.)"]


def test_that_there_is_no_provider_is_said_in_one_line(talk: Process) -> None:
    """And the chat goes on."""
    done = talk()

    assert (done.returncode, done.stderr) == (0, f"{NO_PROVIDER}\n")


def test_who_chooses_the_offline_model_is_told_what_it_cannot(talk: Process) -> None:
    """Nothing is missing then."""
    assert talk(options=["--model", "offline"]).stderr == f"{OFFLINE_CHOSEN}\n"


def test_a_user_id_that_may_not_be_used_is_bad_input(talk: Process) -> None:
    """One line, and exit code 2."""
    done = talk("Hi.", options=["--user", "a\nb"])

    assert done.returncode == 2
    assert done.stderr.startswith("Error: user_id")
    assert len(done.stderr.splitlines()) == 1


def test_a_model_that_cannot_be_used_is_bad_input(talk: Process) -> None:
    """Said before anybody types anything."""
    assert talk("Hi.", options=["--model", "nonsense"]).returncode == 2


def test_ctrl_d_ends_it(environment: dict[str, str], tmp_path: Path) -> None:
    """In a terminal, where it is a key."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(MAIN, env=environment, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = _until(ours, "you> ")
        os.write(ours, b"Hi, my name is Ada.\n")
        shown += _until(ours, "you> ")
        os.write(ours, b"\x04")
        code = process.wait(30)
    os.close(ours)

    assert code == 0
    assert "(learned: Name is Ada.)" in shown


def test_ctrl_c_ends_it(environment: dict[str, str], tmp_path: Path) -> None:
    """As cleanly, and what was said before is learned."""
    with subprocess.Popen(
        MAIN, env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"Hi, my name is Ada.\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.readline()

        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)

    assert (process.returncode, err.decode()) == (0, f"{NO_PROVIDER}\n")
    assert _contents(tmp_path) == ["Name is Ada."]


def test_what_users_wrote_steers_no_terminal(talk: Process, tmp_path: Path) -> None:
    """A remembered escape sequence is written out."""
    storage = open_storage(f"file:{tmp_path / 'memories'}")
    storage.save(Scope("ada"), Memory(facts=(Fact(content="Likes \x1b[31mred\x1b[0m tea."),)))

    answer = talk("Do I like tea?").stdout

    assert "Likes \\x1b[31mred" in answer
    assert "\x1b" not in answer


def test_bytes_that_are_no_text_are_no_end(environment: dict[str, str], tmp_path: Path) -> None:
    """They are replaced."""
    said = b"\xff\xfe\n\nHi, my name is Ada.\n"

    done = subprocess.run(MAIN, env=environment, cwd=tmp_path, input=said, capture_output=True, check=False, timeout=60)

    assert (done.returncode, _contents(tmp_path)) == (0, ["Name is Ada."])


def test_it_can_be_scripted(talk: Process) -> None:
    """One document, and nothing else on stdout."""
    document = json.loads(talk("Hi, my name is Ada.", options=["--json", "--thread", "t1"]).stdout)

    assert (document["user_id"], document["thread_id"]) == ("ada", "t1")
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]
    assert [fact["source"] for fact in document["learned"]] == ["t1"]


def test_where_memory_is_off_that_is_said(memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch, document: Path) -> None:
    """Nothing is learned."""
    monkeypatch.setenv("MEMGRAPH_ENABLED", "false")

    done = memgraph("chat", "-u", "ada", stdin=b"Hi, my name is Ada.\n")

    assert OFF in done.err
    assert not document.exists()


# -- with one --


def test_the_model_is_told_what_is_remembered(memgraph: Memgraph, scripted: ScriptedModel) -> None:
    """By a later chat, after the first one was learned from at its end."""
    first = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"I'm Ada.\n")
    second = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"Who am I?\n")

    assert "Who are you?" in first.out
    assert "(learned: Name is Ada.)" in first.out
    assert "You are Ada." in second.out


def test_the_model_sees_the_conversation_so_far(memgraph: Memgraph, scripted: ScriptedModel) -> None:
    """Each message once, below what is remembered."""
    memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"One.\nTwo.\n")

    (second,) = [asked for asked in scripted.asked if asked[-1].text == "Two."]
    assert [message.text for message in second[1:]] == ["One.", "Who are you?", "Two."]


def test_a_model_that_fails_ends_no_chat(
    memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch, scripted: ScriptedModel
) -> None:
    """It is said, in one line, and the next message is answered."""
    model = ScriptedModel(ConnectionError("nobody\nthere"), "Here I am.", update_answer())
    monkeypatch.setattr(chat_models, "CHAT_MODELS", MappingProxyType({"scripted": lambda _: model}))

    done = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"Hi.\nStill there?\n")

    assert done.err == "the model did not answer: nobody there; say it again to have it learned\n"
    assert "Here I am." in done.out


# -- answers out of memory --


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Where do I work?", "I remember: Works at Acme."),
        ("What do you know about me?", "I remember: Likes tea; Works at Acme."),
        ("Have I been to Rome?", "I know nothing about that yet."),
        ("你知道我什么?", "我记得：Likes tea；Works at Acme。"),
        ("罗马在哪里?", "这个我还不知道。"),
    ],
)
def test_only_what_fits_is_told(text: str, answer: str) -> None:
    """Honest about the rest, in the language of the question."""
    memory = Memory(facts=(Fact(content="Works at Acme.", confidence=0.8), Fact(content="Likes tea", confidence=0.9)))

    assert answer_from(memory, text) == answer


def test_what_was_replaced_is_not_told() -> None:
    """Only what holds now."""
    old = Fact(id="fact_old", content="Lives in Porto.")
    new = Fact(id="fact_new", content="Lives in Lisbon.", replaces=("fact_old",))

    assert answer_from(Memory(facts=(old, new)), "Where do I live?") == "I remember: Lives in Lisbon."


def _contents(folder: Path) -> list[str]:
    return [fact.content for fact in open_storage(f"file:{folder / 'memories'}").load(Scope("ada")).facts]


def _until(terminal: int, awaited: str) -> str:
    """Read what a process shows until it shows *awaited*."""
    shown = ""
    while awaited not in shown:
        shown += os.read(terminal, 1_024).decode(errors="replace")
    return shown
