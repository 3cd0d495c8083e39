"""memgraph chat answers with the memory and learns from the conversation."""

from __future__ import annotations

import json
import os
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
from memgraph.cli.chat import OFF, OFFLINE_CHOSEN, quote_memory
from memgraph.llm import models as chat_models
from memgraph.testing import ScriptedModel, update_answer

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()", "chat", "--user", "ada"]

Memgraph = Callable[..., Any]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment of every process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "OPENAI_"))}
    folders = {"MEMGRAPH_STORAGE_PATH": str(tmp_path / "memories"), "XDG_DATA_HOME": str(tmp_path / "data")}
    return inherited | folders | {"PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.fixture
def chat(environment: dict[str, str], tmp_path: Path) -> Process:
    """Run `memgraph chat` in a new process, with one message per line."""

    def run(*messages: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*MAIN, *options],
            env=environment,
            cwd=tmp_path,
            input="\n".join(messages),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedModel:
    """A provider, `scripted:one`, that uses the injected memory and learns a name."""

    def reply(prompt: Sequence[BaseMessage]) -> str:
        if "newFacts" in prompt[0].text:
            return update_answer("Name is Ada.")
        return "You are Ada." if "Name is Ada." in prompt[0].text else "Who are you?"

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    model = ScriptedModel(reply)
    models = {**chat_models.CHAT_MODELS, "scripted": lambda _name, _params: model}
    monkeypatch.setattr(chat_models, "CHAT_MODELS", MappingProxyType(models))
    return model


# -- without a provider --


def test_memory_survives_the_process(chat: Process) -> None:
    """The purpose of the command."""
    chat("Hi, my name is Ada.")

    answer = chat("What is my name?").stdout

    assert "I remember: Name is Ada." in answer


def test_learned_facts_are_printed(chat: Process) -> None:
    """On one line, after the answer."""
    done = chat("Hi, my name is Ada.")

    assert done.stdout.splitlines() == ["I know nothing about that yet.", "(learned: Name is Ada.)"]


def test_missing_provider_is_reported_in_one_line(chat: Process) -> None:
    """The chat continues without a model."""
    done = chat()

    assert done.returncode == 0
    assert done.stderr.startswith(
        "Answers only quote the memory: no model provider is configured; run `memgraph setup`"
    )
    assert done.stderr.count("\n") == 1


def test_the_offline_model_reports_that_it_cannot_chat(chat: Process) -> None:
    """An explicit choice is not a missing provider."""
    assert chat(options=["--model", "offline"]).stderr == f"{OFFLINE_CHOSEN}\n"


def test_an_invalid_user_id_is_bad_input(chat: Process) -> None:
    """One line, and exit code 2."""
    done = chat("Hi.", options=["--user", "a\nb"])

    assert done.returncode == 2
    assert done.stderr.startswith("Error: user_id")
    assert len(done.stderr.splitlines()) == 1


def test_an_invalid_model_is_bad_input(chat: Process) -> None:
    """Reported before the first message."""
    assert chat("Hi.", options=["--model", "nonsense"]).returncode == 2


def test_ctrl_d_ends_the_chat(open_terminal: Any, environment: dict[str, str]) -> None:
    """As typed at a terminal."""
    terminal = open_terminal("chat", "--user", "ada", **environment)
    terminal.wait_for("you> ")
    terminal.type("Hi, my name is Ada.\n")
    terminal.wait_for("(learned: Name is Ada.)")
    terminal.wait_for("you> ", times=2)

    terminal.type("\x04")

    assert terminal.wait() == 0


def test_ctrl_c_ends_the_chat(environment: dict[str, str], tmp_path: Path) -> None:
    """Exits cleanly, and earlier messages are learned."""
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
        _, err = process.communicate(timeout=60)

    assert process.returncode == 0
    assert err.count(b"\n") == 1, "no more than the notice about the missing provider"
    assert _contents(tmp_path) == ["Name is Ada."]


def test_control_characters_are_escaped(chat: Process, tmp_path: Path) -> None:
    """Escape sequences in stored text do not reach the terminal."""
    storage = open_storage(f"file:{tmp_path / 'memories'}")
    storage.save(Scope("ada"), Memory(facts=(Fact(content="Likes \x1b[31mred\x1b[0m tea."),)))

    answer = chat("Do I like tea?").stdout

    assert "Likes \\x1b[31mred" in answer
    assert "\x1b" not in answer


def test_invalid_utf8_does_not_end_the_chat(environment: dict[str, str], tmp_path: Path) -> None:
    """Invalid bytes are replaced."""
    typed = b"\xff\xfe\n\nHi, my name is Ada.\n"

    done = subprocess.run(
        MAIN, env=environment, cwd=tmp_path, input=typed, capture_output=True, check=False, timeout=60
    )

    assert (done.returncode, _contents(tmp_path)) == (0, ["Name is Ada."])


def test_json_prints_one_document(chat: Process) -> None:
    """Nothing else is written to stdout."""
    document = json.loads(chat("Hi, my name is Ada.", options=["--json", "--thread", "t1"]).stdout)

    assert (document["user_id"], document["thread_id"]) == ("ada", "t1")
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]
    assert [fact["source"] for fact in document["learned"]] == ["t1"]


def test_disabled_memory_is_reported(memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch, document: Path) -> None:
    """Nothing is learned."""
    monkeypatch.setenv("MEMGRAPH_ENABLED", "false")

    done = memgraph("chat", "-u", "ada", stdin=b"Hi, my name is Ada.\n")

    assert OFF in done.err
    assert not document.exists()


# -- with one --


def test_the_memory_is_injected(memgraph: Memgraph, scripted: ScriptedModel) -> None:
    """A later chat uses what the first one has learned at its end."""
    first = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"I'm Ada.\n")
    second = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"Who am I?\n")

    assert "Who are you?" in first.out
    assert "(learned: Name is Ada.)" in first.out
    assert "You are Ada." in second.out


def test_the_model_receives_the_conversation_so_far(memgraph: Memgraph, scripted: ScriptedModel) -> None:
    """Each message once, after the memory."""
    memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"One.\nTwo.\n")

    (second,) = [prompt for prompt in scripted.asked if prompt[-1].text == "Two."]
    assert [message.text for message in second[1:]] == ["One.", "Who are you?", "Two."]


def test_a_model_error_does_not_end_the_chat(
    memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch, scripted: ScriptedModel
) -> None:
    """The error is one line, and the next message is answered."""
    model = ScriptedModel(ConnectionError("connection\nrefused"), "Here I am.", update_answer())
    monkeypatch.setattr(chat_models, "CHAT_MODELS", MappingProxyType({"scripted": lambda _name, _params: model}))

    done = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"Hi.\nStill there?\n")

    assert done.err == "the model did not answer: connection refused; send the message again to have it learned\n"
    assert "Here I am." in done.out


# -- answers quoted from memory --


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
def test_only_matching_facts_are_quoted(text: str, answer: str) -> None:
    """Otherwise says so, in the language of the question."""
    memory = Memory(facts=(Fact(content="Works at Acme.", confidence=0.8), Fact(content="Likes tea", confidence=0.9)))

    assert quote_memory(memory, text) == answer


def test_superseded_facts_are_not_quoted() -> None:
    """Only current facts are quoted."""
    old = Fact(id="fact_old", content="Lives in Porto.")
    new = Fact(id="fact_new", content="Lives in Lisbon.", replaces=("fact_old",))

    assert quote_memory(Memory(facts=(old, new)), "Where do I live?") == "I remember: Lives in Lisbon."


def _contents(folder: Path) -> list[str]:
    return [fact.content for fact in open_storage(f"file:{folder / 'memories'}").load(Scope("ada")).facts]
