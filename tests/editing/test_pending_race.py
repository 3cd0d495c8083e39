"""Pending changes are added and decided at once."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from memgraph import MemoryClient
from memgraph.editing import update_memory
from memgraph.editing.update import Change
from memgraph.errors import AlreadyDecidedError, RevisionConflictError
from memgraph.models import REVIEW_ASKED, Fact, MemoryDocument, PendingChange, Scope
from memgraph.rules.pending import make_pending
from memgraph.storage import MemoryStorage, open_storage

ADA = Scope("ada")
THREADS, CHANGES = 8, 6


def add(storage: MemoryStorage, who: int) -> list[tuple[str, str]]:
    """Propose changes, as the updates of a worker do."""
    for number in range(CHANGES):
        fact = Fact(content=f"Knows {who}-{number}.")
        change = make_pending(REVIEW_ASKED, at="", thread=f"t{who}", facts=[fact])
        while not _was_saved(storage, partial(_with_pending, change=change)):
            pass
    return []


def _with_pending(memory: MemoryDocument, change: PendingChange) -> MemoryDocument:
    return memory.with_pending(change)


def _was_saved(storage: MemoryStorage, change: Change) -> bool:
    try:
        update_memory(storage, ADA, change)
    except RevisionConflictError:
        return False
    return True


def decide(storage: MemoryStorage, who: int) -> list[tuple[str, str]]:
    """Decide what waits, as one of several people, and return what was decided here."""
    rng, decided = random.Random(who), list[tuple[str, str]]()  # noqa: S311 - a fixed seed
    for _ in range(3 * CHANGES):
        for item in storage.load(ADA).pending[:3]:
            verdict = "accept" if rng.random() < 0.5 else "reject"
            try:
                MemoryClient(storage, user_id="ada").decide(item.id, verdict)
            except (AlreadyDecidedError, RevisionConflictError):
                continue
            decided.append((item.facts[0].content, verdict))
    return decided


@pytest.mark.parametrize("url", ["memory:", "sqlite:memory.db", "file:memory"])
@pytest.mark.parametrize("seed", range(4))
def test_no_change_is_lost_or_decided_twice(
    url: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever workers add while people decide, each change is pending or was decided by one of them."""
    monkeypatch.chdir(tmp_path)
    start = Barrier(THREADS)

    def run(who: int) -> list[tuple[str, str]]:
        start.wait()
        return (decide if who % 2 else add)(storage, who + seed * THREADS)

    with open_storage(url) as storage, ThreadPoolExecutor(THREADS) as threads:
        storage.save(ADA, MemoryDocument())
        decided = [one for found in threads.map(run, range(THREADS)) for one in found]
        memory = storage.load(ADA)

    waiting = [item.facts[0].content for item in memory.pending]
    added = [f"Knows {who + seed * THREADS}-{number}." for who in range(0, THREADS, 2) for number in range(CHANGES)]
    accepted = [content for content, verdict in decided if verdict == "accept"]
    assert sorted([*waiting, *(content for content, _ in decided)]) == sorted(added)
    assert sorted(fact.content for fact in memory.facts) == sorted(accepted)
