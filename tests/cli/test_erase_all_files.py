"""After `memgraph erase`, no file that memgraph wrote has a word of the user, whichever commands have run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from langchain_core.messages import HumanMessage

from memgraph import BackgroundInvoker, Scope, load_settings, open_storage
from memgraph.cli.app import app

WORD = "zorbexium"
"""Part of everything that the user says."""
UPDATE = f"User: I work at {WORD}works.\n\nAssistant: Good.\n\nUser: I have a cat called {WORD}cat.\n"
DUPLICATES = json.dumps({"facts": [f"Likes {WORD} tea.", f"Likes {WORD} tea!", f"Knows the password {WORD}.", "x"]})
SHOWN = ("show", "episodes", "history", "diff 1 2", "agents", "recall tea", "export")
RUN: tuple[tuple[str, str], ...] = (
    ("update - --thread t1", UPDATE),
    ("update - --thread t2 --agent coder", UPDATE),
    ("fact add", f"Likes {WORD} wine."),
    ("import -", DUPLICATES),
    ("audit --fix --yes", ""),
    ("import - --replace", DUPLICATES),
    ("import - --replace --agent coder", DUPLICATES),
    ("undo --yes", ""),
    ("update - --thread t3", UPDATE.replace("cat", "dog")),
    ("rebuild --model offline --dry-run", ""),
    ("revert --thread t3", ""),
    ("upkeep --model offline", ""),
    ("chat --model offline", f"I live near {WORD}ville.\n/quit\n"),
    *((command, "") for command in SHOWN),
)
"""Commands with what they read."""
FEW = frozenset({"step", "why", "review", "retry", "pending", "worker"})
"""Commands that store as `update` does, or show; what waits in the outbox is put there below."""
NOT_OF_A_USER = frozenset({"users", "new", "setup", "status", "config", "index", "draw", "bench", "forget", "erase"})
SERVERS = frozenset({"serve", "mcp"})
"""They write by the storage, the outbox and the backups that the other commands have."""


def test_every_command_is_in_the_walk() -> None:
    """One that is new has to say what it writes."""
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

    assert commands == {line.split()[0] for line, _ in RUN} | FEW | NOT_OF_A_USER | SERVERS


@pytest.fixture(params=["file:{}/memories", "sqlite:{}/memories/memory.db"], ids=["file", "sqlite"])
def walked(request: pytest.FixtureRequest, memgraph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A user after all commands, with conversations that wait; the user's own files are in another folder."""
    url = request.param.format(tmp_path)
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", url)
    monkeypatch.setenv("MEMGRAPH_MODEL_NAME", "offline")
    for line, text in RUN:
        words = line.split()
        is_fact = words[0] == "fact"
        arguments = [*words, text] if is_fact else words
        ran = memgraph(*arguments, "-u", "ada", stdin=b"" if is_fact else text.encode())
        assert ran.code == 0, (line, ran.err)
    settings = load_settings(debounce_seconds=3_600, max_wait_seconds=3_600)
    with open_storage(url) as storage, BackgroundInvoker(settings=settings, storage=storage) as invoker:
        invoker.submit([HumanMessage(f"I play the {WORD} piano.", id="w1")], Scope("ada"), "waiting")
    assert files_with_words(tmp_path)
    return memgraph


def files_with_words(folder: Path) -> list[str]:
    """Return the files whose bytes have the word: data, outbox and working folder are below *folder*."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files if WORD.encode() in path.read_bytes().lower())


def test_erase_leaves_no_word_of_the_user_in_any_file(walked: Any, tmp_path: Path) -> None:
    receipt = walked("erase", "-u", "ada", "--yes", "--json").json

    assert files_with_words(tmp_path) == []
    assert [place["removed"] for place in receipt["places"] if "backups" in place["removed"]] == [{"backups": 4}]


def test_only_the_file_that_an_export_was_asked_for_remains(walked: Any, tmp_path: Path) -> None:
    walked("export", "-u", "ada", "--output", "mine.json")

    receipt = walked("erase", "-u", "ada", "--yes", "--json").json

    assert files_with_words(tmp_path) == ["mine.json"]
    assert any("memgraph export" in each for each in receipt["out_of_reach"])


def test_forget_deletes_the_backups_of_its_memory_only(walked: Any, tmp_path: Path) -> None:
    """An agent has a memory of its own, with backups of its own."""
    forgotten = walked("forget", "-u", "ada", "--yes", "--json").json

    assert forgotten["backups"] == 3
    assert [path.parents[1].name for path in (tmp_path / "data").rglob("backups/*")] == ["coder"]
