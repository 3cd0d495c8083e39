"""kill -9 of a real process at each node, in submit, and between save and removal: every turn is learned once."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import memgraph
from memgraph import Scope, open_outbox, open_storage

NODES = (
    *("filter_messages", "detect_signals", "load_memory", "build_prompt", "call_model"),
    *("parse_update", "apply_update", "scrub_uploads", "save_memory"),
)
PLACES = (
    *NODES,
    *("in submit", "after submit", "in the append", "between append and save"),
    *("before the revision", "in the revision", "before the rename"),
    *("between save and removal", "after removal"),
)
UPKEEP = "upkeep: "
UPKEEP_PLACES = tuple(UPKEEP + place for place in ("call_model", "parse_upkeep", "save_memory", "before the rename"))
TURNS = [f"turn-{number}" for number in range(4)]
LATER = [*TURNS, "turn-later"]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[int]]]:
    """Folders of processes that were each killed at a place and restarted, and their exit codes."""
    base = tmp_path_factory.mktemp("killed")
    folders = {place: base / place for place in (*PLACES, *UPKEEP_PLACES)}
    for folder in folders.values():
        folder.mkdir()
    killing = [
        {"folder": str(folder), "kill_at": place.removeprefix(UPKEEP), "turns": None if UPKEEP in place else TURNS}
        for place, folder in folders.items()
    ]
    resuming = [{**process, "kill_at": None, "turns": process["turns"] and LATER} for process in killing]
    parent = subprocess.run(
        [sys.executable, Path(__file__).with_name("killed_process.py")],
        cwd=Path(memgraph.__file__).parent.parent,
        input="".join(f"{json.dumps(line)}\n" for line in (killing, resuming)),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    first, second = (json.loads(line) for line in parent.stdout.splitlines())
    return base, {place: list(exit_codes) for place, *exit_codes in zip(folders, first, second, strict=True)}


@pytest.mark.parametrize("place", PLACES)
def test_killed_process_resumes_after_restart(killed: Any, place: str) -> None:
    base, exit_codes = killed

    memory = open_storage(f"file:{base / place}/memory").load(Scope("ada"))

    assert exit_codes[place] == [-signal.SIGKILL, 0]
    assert Counter(fact.content.partition(" #")[0] for fact in memory.facts) == Counter(LATER)


@pytest.mark.parametrize("place", PLACES)
def test_no_turn_is_kept_twice_and_none_is_lost(killed: Any, place: str) -> None:
    """The user's own words, as episodes."""
    base, _ = killed

    episodes = open_storage(f"file:{base / place}/memory").episodes(Scope("ada"))
    lines = (base / place / "memory/users/ada/episodes.jsonl").read_text().splitlines()

    assert Counter(episode.text for episode in episodes) == Counter(LATER)
    assert Counter(json.loads(line)["messageId"] for line in lines) == Counter(LATER)


@pytest.mark.parametrize("place", PLACES)
def test_kill_damages_no_file(killed: Any, place: str) -> None:
    base, _ = killed
    folder = base / place

    with closing(sqlite3.connect(folder / "outbox.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM submission").fetchone() == (0,)
    with open_outbox(f"sqlite:{folder}/outbox.db") as outbox:
        assert (outbox.pending(now=0), outbox.dead_letters()) == ((), ())
    document = json.loads((folder / "memory/users/ada/memory.json").read_text())
    assert document == json.loads((folder / "memory/users/ada/memory.json.last").read_text())


@pytest.mark.parametrize("place", UPKEEP_PLACES)
def test_a_killed_upkeep_loses_nothing_and_is_done_again(killed: Any, place: str) -> None:
    """It saves once, or not at all: what it merged is past."""
    base, exit_codes = killed

    memory = open_storage(f"file:{base / place}/memory").load(Scope("ada"))

    assert (exit_codes[place], memory.revision) == ([-signal.SIGKILL, 0], 2)
    assert [fact.content for fact in memory.facts] == ["Has 2 cats."]
    assert [(fact.content, fact.reason) for fact in memory.past] == [("has 2  cats.", "merged")]
