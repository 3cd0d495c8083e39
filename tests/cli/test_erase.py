"""memgraph erase removes what is kept of a user from every file, whichever commands have run, and prints a receipt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from langchain_core.messages import HumanMessage

from memgraph import BackgroundInvoker, Scope, open_storage
from memgraph.cli.app import app
from memgraph.config import load_settings, make_storage

TEA = "Likes jasmine tea with honey."


@pytest.fixture
def with_users(memgraph: Any) -> Any:
    """Memories of ada and bob, and one that an agent has of ada."""
    memgraph("fact", "add", TEA, "-u", "ada")
    memgraph("fact", "add", "Writes Rust in Vim.", "-u", "ada", "--agent", "coder")
    memgraph("fact", "add", TEA, "-u", "bob")
    return memgraph


def test_erase_removes_the_memories_of_all_agents(with_users: Any) -> None:
    result = with_users("erase", "-u", "ada", "--yes")

    assert (result.code, result.err) == (0, "")
    assert [line.split(":")[0] for line in with_users("users").out.splitlines()] == ["bob"]


def test_the_receipt_has_a_line_for_each_place(with_users: Any) -> None:
    lines = with_users("erase", "-u", "ada", "--yes").out.splitlines()

    assert lines[0] == "Erased user ada: 7 entries."
    assert lines[1].endswith(": memories 2, facts 3, revisions 2; erased texts left: 0")
    assert "Out of reach:" in lines


def test_the_json_receipt_names_places_counts_and_what_is_out_of_reach(with_users: Any) -> None:
    receipt = with_users("erase", "-u", "ada", "--yes", "--json").json

    assert receipt["places"][0]["removed"] == {"memories": 2, "facts": 3, "revisions": 2}
    assert {place["remaining"] for place in receipt["places"]} == {0}
    assert any("checkpointer" in each for each in receipt["out_of_reach"])


def test_attachable_memories_of_the_settings_are_erased_too(
    memgraph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memgraph.attachments.item import take_snapshot
    from memgraph.attachments.manager import MemoryManager
    from memgraph.attachments.store import Interaction

    monkeypatch.chdir(tmp_path)
    Path("memgraph.yaml").write_text("memories: [{name: notes, type: simple, config: {memory_path: auto}}]\n")
    with MemoryManager.from_settings(load_settings()) as manager:
        exchange = Interaction(take_snapshot(TEA), take_snapshot("Noted."), node="writer", scope=Scope("ada"))
        manager.update("notes", exchange)

    places = memgraph("erase", "-u", "ada", "--yes", "--json").json["places"]

    assert {"name": "memory notes", "removed": {"items": 1}, "remaining": 0, "of_others": 0, "error": None} in places
    assert TEA.encode() not in Path("notes.db").read_bytes()


def test_erase_asks_first(with_users: Any) -> None:
    """Without a terminal nothing is erased."""
    result = with_users("erase", "-u", "ada")

    assert (result.code, "add --yes" in result.err) == (2, True)
    assert make_storage(load_settings()).load(Scope("ada")).facts


def test_a_document_that_cannot_be_read_is_named_and_the_command_fails(with_users: Any) -> None:
    """The rest is erased all the same."""
    storage = make_storage(load_settings())
    Path(storage.location(Scope("ada"))).write_text("not json")

    result = with_users("erase", "-u", "ada", "--yes")

    assert (result.code, "is not a memory document" in " ".join(result.out.split())) == (1, True)
    assert storage.load(Scope("ada", "coder")).facts == ()


# -- every file -----------------------------------------------------------------------------------

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
