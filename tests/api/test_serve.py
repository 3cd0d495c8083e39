"""`memgraph serve` as a separate process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from memgraph import Scope, open_storage
from memgraph.cli.app import start

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()"]
CONFIGURED = "token-of-the-environment"
CONVERSATION = {"messages": [{"role": "user", "content": "I live in Paris and I like tea."}], "thread_id": "t1"}

START_SECONDS = 120


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment variables with every path in a folder of the test."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "OPENAI_"))}
    settings = {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "MEMGRAPH_STORAGE_PATH": str(tmp_path / "memories"),
        "MEMGRAPH_OUTBOX": str(tmp_path / "outbox.db"),
        "MEMGRAPH_API_BACKUPS": str(tmp_path / "backups"),
        "MEMGRAPH_MODEL_NAME": "offline",
        "MEMGRAPH_DEBOUNCE_SECONDS": "3600",
        "MEMGRAPH_MAX_WAIT_SECONDS": "3600",
    }
    return inherited | settings


class ServeProcess:
    """A running `memgraph serve`."""

    def __init__(self, environment: dict[str, str], *options: str) -> None:
        command = [*MAIN, "serve", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.output = ""
        watchdog = threading.Timer(START_SECONDS, self.process.kill)  # ends the loop if the last line never comes
        watchdog.start()
        while "Ctrl-C" not in self.output and (line := self.process.stdout.readline()):
            self.output += line
        watchdog.cancel()
        self.url = self.output.partition(" at ")[2].partition(" ")[0]

    @property
    def token(self) -> str:
        return self.output.partition("Generated token: ")[2].partition("\n")[0]

    def stop(self, number: int = signal.SIGTERM) -> tuple[str, str]:
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)


@pytest.fixture
def serving(environment: dict[str, str]) -> Iterator[ServeProcess]:
    serving = ServeProcess(environment)
    yield serving
    serving.process.kill()
    serving.process.communicate()


def test_a_token_is_generated_and_sigterm_stops_cleanly(serving: ServeProcess, tmp_path: Path) -> None:
    """The token is printed, submitted conversations are learned, and the exit code is 0."""
    headers = {"Authorization": f"Bearer {serving.token}"}
    refused = httpx.get(f"{serving.url}/document?user_id=ada")
    added = httpx.post(f"{serving.url}/facts?user_id=ada", headers=headers, json={"content": "Likes tea."})
    accepted = httpx.post(f"{serving.url}/conversations?user_id=ada", headers=headers, json=CONVERSATION)

    out, err = serving.stop()

    assert (refused.status_code, added.status_code, accepted.status_code) == (401, 201, 202)
    assert (serving.process.returncode, out, err) == (0, "Stopped.\n", "")
    learned = open_storage(f"file:{tmp_path / 'memories'}").load(Scope("ada")).facts
    assert [fact.content for fact in learned] == ["Likes tea.", "Lives in Paris."]
    assert (tmp_path / "outbox.db").is_file()


def test_open_prints_one_line_and_opens_the_page(environment: dict[str, str], tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(opened)
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', "utf-8")
    browser.chmod(0o700)

    serving = ServeProcess(environment | {"BROWSER": f"{browser} %s"}, "--open")
    address = opened.read_text("utf-8").strip()
    shown = httpx.get(address)
    serving.stop()

    assert serving.output == f"The page is at {address} until you press Ctrl-C.\n"
    assert shown.status_code == 200


def test_accepted_conversations_survive_a_kill(environment: dict[str, str], tmp_path: Path) -> None:
    """The next process has the pending conversation, and shows it to its own user only."""
    first = ServeProcess(environment | {"MEMGRAPH_API_TOKEN": CONFIGURED})
    headers = {"Authorization": f"Bearer {CONFIGURED}"}
    httpx.post(f"{first.url}/conversations?user_id=ada", headers=headers, json=CONVERSATION).raise_for_status()
    first.stop(signal.SIGKILL)
    storage = open_storage(f"file:{tmp_path / 'memories'}")

    second = ServeProcess(environment | {"MEMGRAPH_API_TOKEN": CONFIGURED})
    pending = httpx.get(f"{second.url}/updates?user_id=ada", headers=headers).json()["pending"]
    other = httpx.get(f"{second.url}/updates?user_id=bob", headers=headers).json()["pending"]
    second.stop(signal.SIGINT)

    assert ([job["thread_id"] for job in pending], other) == (["t1"], [])
    assert CONFIGURED not in first.output + second.output
    assert second.process.returncode == 0
    assert storage.load(Scope("ada")).revision == 0


@pytest.mark.parametrize("options", [["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--no-token"]])  # noqa: S104
def test_serving_other_machines_requires_a_configured_token(
    options: list[str], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    code = start(["serve", "--port", "0", *options])

    assert code == 2
    assert "requires a token: set MEMGRAPH_API_TOKEN" in capfd.readouterr().err


def test_a_port_in_use_is_reported(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        code = start(["serve", "--port", str(taken.getsockname()[1])])

    assert code == 2
    assert "choose another port with --port" in capfd.readouterr().err


def test_the_displayed_config_contains_no_token(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in (environment | {"MEMGRAPH_API_TOKEN": CONFIGURED}).items():
        monkeypatch.setenv(name, value)

    code = start(["config", "--json"])

    shown = capfd.readouterr().out
    assert code == 0
    assert json.loads(shown)["settings"]["api_token"]["from"] == "MEMGRAPH_API_TOKEN"
    assert CONFIGURED not in shown


@pytest.mark.parametrize(
    "name_and_value", [("MEMGRAPH_API_TOKEN", "too-short"), ("MEMGRAPH_API_TOKENS", "ada:a-secret-of-ada")]
)
def test_the_error_for_an_invalid_token_does_not_quote_it(
    name_and_value: tuple[str, str],
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name, value in (*environment.items(), name_and_value):
        monkeypatch.setenv(name, value)

    code = start(["serve", "--port", "0"])

    err = capfd.readouterr().err
    assert code == 2
    assert name_and_value[0] in err
    assert name_and_value[1] not in err
