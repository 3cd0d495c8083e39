"""memgraph pending lists jobs, memgraph retry requeues failed ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from memgraph import Scope, open_outbox
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy

TIMING = DebouncePolicy(60, 300)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MEMGRAPH_OUTBOX", str(tmp_path / "outbox.db"))
    return f"sqlite:{tmp_path}/outbox.db"


@pytest.fixture
def filled(url: str) -> str:
    """An outbox with a pending, a running, a once failed and a dead-lettered job."""
    now = time.time()
    with open_outbox(url) as outbox:

        def enqueue(user: str, at: float) -> None:
            outbox.enqueue(ConversationKey(Scope(user), "t1"), "[]", now=at, timing=TIMING, max_jobs=1_000)

        for user in ("dead", "failed", "running"):
            enqueue(user, now - 100)
            (claim,) = outbox.claim(now=now, lease_seconds=60)
            if user == "dead":
                outbox.dead_letter(claim, error="ConfigError: no \x1b[31mkey", timing=TIMING)
            if user == "failed":
                outbox.failed(claim, error="ModelError: down", retry_at=now + 80)
        enqueue("waiting", now)
    return url


def test_pending_lists_pending_and_failed_jobs(filled: str, memgraph: Any) -> None:
    result = memgraph("pending")

    assert result.code == 0
    assert "running, thread t1: 1 submission, running" in result.out
    assert "waiting, thread t1: 1 submission, due in" in result.out
    assert "failed, thread t1: 1 submission, due in" in result.out
    assert "failed once: ModelError: down" in result.out
    assert "Failed (requeue with `memgraph retry`):" in result.out
    assert "dead, thread t1: 1 submission, ConfigError: no" in result.out
    assert "\x1b" not in result.out


def test_pending_as_json(filled: str, memgraph: Any) -> None:
    document = memgraph("pending", "--json").json

    assert document["outbox"] == filled
    assert [(job["user"], job["running"], job["tries"]) for job in document["waiting"]] == [
        ("running", True, 0),
        ("waiting", False, 0),
        ("failed", False, 1),
    ]
    assert [(job["user"], job["error"]) for job in document["aside"]] == [("dead", "ConfigError: no \x1b[31mkey")]


def test_retry_requeues_failed_jobs(filled: str, memgraph: Any) -> None:
    results = [memgraph("retry", "--user", "unknown"), memgraph("retry", "--user", "dead", "--thread", "t1")]

    printed = ["Requeued 0 conversations.\n", "Requeued 1 conversation.\n"]
    assert [(result.code, result.out) for result in results] == [(0, text) for text in printed]

    with open_outbox(filled) as outbox:
        assert outbox.dead_letters() == ()
        assert len(outbox.pending(now=0)) == 4


def test_listing_creates_no_file(url: str, memgraph: Any, tmp_path: Path) -> None:
    results = [memgraph("pending"), memgraph("retry")]

    printed = [f"No pending conversations in {url}.\n", "Requeued 0 conversations.\n"]
    assert [(result.code, result.out) for result in results] == [(0, text) for text in printed]
    assert list(tmp_path.iterdir()) == []


def test_an_outbox_can_be_given(filled: str, memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMGRAPH_OUTBOX")

    assert "waiting, thread t1" in memgraph("pending", "--outbox", filled).out


def test_an_agent_needs_a_user(url: str, memgraph: Any) -> None:
    result = memgraph("retry", "--agent", "bot")

    assert result.code == 2
    assert "--agent needs --user" in result.err
