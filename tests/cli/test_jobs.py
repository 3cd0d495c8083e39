"""memgraph pending and memgraph retry."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from memgraph import Scope, open_outbox
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.cli.app import start

TIMING = DebouncePolicy(60, 300)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_OUTBOX", str(tmp_path / "outbox.db"))
    return f"sqlite:{tmp_path}/outbox.db"


@pytest.fixture
def filled(url: str) -> str:
    """One that waits, one that runs, one that failed once, one that was set aside."""
    now = time.time()
    with open_outbox(url) as outbox:

        def put(user: str, at: float) -> None:
            outbox.enqueue(ConversationKey(Scope(user), "t1"), "[]", now=at, timing=TIMING, max_jobs=9)

        for user in ("aside", "failed", "running"):
            put(user, now - 100)
            (claim,) = outbox.claim(now=now, lease_seconds=60)
            if user == "aside":
                outbox.dead_letter(claim, error="ConfigError: no \x1b[31mkey", timing=TIMING)
            if user == "failed":
                outbox.failed(claim, error="ModelError: down", retry_at=now + 80)
        put("waiting", now)
    return url


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = start(arguments)
    return code, capsys.readouterr().out


def test_pending_lists_what_waits_and_what_failed(filled: str, capsys: Any) -> None:
    code, out = run(capsys, "pending")

    assert code == 0
    assert "running, thread t1: 1 submission, being learned from" in out
    assert "waiting, thread t1: 1 submission, due in" in out
    assert "failed, thread t1: 1 submission, due in" in out
    assert "failed 1 times: ModelError: down" in out
    assert "Set aside; `memgraph retry` puts them back:" in out
    assert "aside, thread t1: 1 submission, ConfigError: no" in out
    assert "\x1b" not in out


def test_pending_is_told_to_machines(filled: str, capsys: Any) -> None:
    told = json.loads(run(capsys, "pending", "--json")[1])

    assert told["outbox"] == filled
    assert [(job["user"], job["running"], job["tries"]) for job in told["waiting"]] == [
        ("running", True, 0),
        ("waiting", False, 0),
        ("failed", False, 1),
    ]
    assert [(job["user"], job["error"]) for job in told["aside"]] == [("aside", "ConfigError: no \x1b[31mkey")]


def test_retry_puts_back_what_was_set_aside(filled: str, capsys: Any) -> None:
    assert run(capsys, "retry", "--user", "nobody") == (0, "Put 0 conversations back.\n")
    assert run(capsys, "retry", "--user", "aside", "--thread", "t1") == (0, "Put 1 conversation back.\n")

    with open_outbox(filled) as outbox:
        assert outbox.dead_letters() == ()
        assert len(outbox.pending(now=0)) == 4


def test_looking_makes_no_file(url: str, capsys: Any, tmp_path: Path) -> None:
    assert run(capsys, "pending") == (0, f"Nothing waits in {url}.\n")
    assert run(capsys, "retry") == (0, "Put 0 conversations back.\n")
    assert list(tmp_path.iterdir()) == []


def test_an_outbox_can_be_named(filled: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMGRAPH_OUTBOX")

    assert "waiting, thread t1" in run(capsys, "pending", "--outbox", filled)[1]


def test_an_agent_needs_a_user(url: str, capsys: Any) -> None:
    assert start(["retry", "--agent", "bot"]) == 2
    assert "--agent needs --user" in capsys.readouterr().err
