"""memgraph status tells what learns, what finds and where it is kept, and what would make it better."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph.config import checks_folder, load_settings, make_chat_model
from memgraph.llm.checkers import Checkers


def test_a_new_machine_learns_with_the_built_in_model(memgraph: Any) -> None:
    result = memgraph("status")

    assert result.code == 0
    assert "Learning: offline (no model provider is configured)" in result.out
    assert "Checking: the rules alone" in result.out
    assert "Finding:  words" in result.out
    assert "memgraph setup" in result.out


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (None, "the rules alone, until the model was probed"),
        (True, "the model, which passed its probe on 20"),
        (False, "the rules alone: the model failed its probe on 20"),
    ],
)
def test_it_tells_what_the_probe_of_the_model_has_shown(
    memgraph: Any, monkeypatch: pytest.MonkeyPatch, *, passed: bool | None, told: str
) -> None:
    """So does memgraph config."""
    monkeypatch.setenv("OPENAI_API_KEY", "hush")
    settings = load_settings()
    model = make_chat_model(settings)
    assert model is not None
    if passed is not None:
        Checkers(checks_folder(settings, "file:/x")).note(model, passed=passed)

    assert told in memgraph("status", "--json").json["checking"]
    assert told in memgraph("config").out


def test_it_counts_what_waits(memgraph: Any) -> None:
    assert memgraph("status", "--json").json["waiting"] == 0
    assert "Waiting:  0 conversations" in memgraph("status").out


@pytest.mark.parametrize(
    ("embedding", "installed", "machine", "told"),
    [
        ("auto", True, "x86_64", "words and meaning (local model: 95 MB"),
        ("auto", False, "x86_64", "words (install 'langgraph-memgraph[local]'"),
        ("auto", False, "riscv64", "words (the local model is not available for linux riscv64)"),
        ("none", True, "x86_64", "words (embedding: auto also finds by meaning)"),
        ("openai:small", False, "x86_64", "words and meaning (openai:small)"),
    ],
)
def test_it_tells_by_what_memory_is_found(
    memgraph: Any, monkeypatch: pytest.MonkeyPatch, embedding: str, *, installed: bool, machine: str, told: str
) -> None:
    """So do memgraph config and GET /memory/status."""
    monkeypatch.setenv("MEMGRAPH_EMBEDDING", embedding)
    monkeypatch.setattr("memgraph.retrieval.embedding_config.find_spec", lambda _: installed)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: machine)

    assert memgraph("status", "--json").json["finding"].startswith(told)
    assert memgraph("config", "--json").json["finding"].startswith(told)
