"""Helpers that write to and search in stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from memgraph.attachments.item import take_snapshot
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult
from memgraph.models import Scope


def exchange(
    question: object, answer: object = "Noted.", *, node: str = "writer", user: str | None = None
) -> Interaction:
    """Return an interaction of a node."""
    scope = Scope(user) if user else None
    return Interaction(take_snapshot(question), take_snapshot(answer), node, scope=scope, thread_id="thread_1")  # pyright: ignore[reportArgumentType] - any content


def search(
    store: MemoryStore, text: str, *, top_k: int = 3, threshold: float = -1, user: str | None = None
) -> list[SearchResult]:
    """Return the results of *store*."""
    query = SearchQuery(text, scope=Scope(user) if user else None)
    return list(store.retrieve(query, top_k=top_k, threshold=threshold))


def summaries(results: list[SearchResult]) -> list[str]:
    """Return the texts that a prompt would show."""
    return [result.item.content_summary for result in results]


def write_earlier(folder: Path, name: str) -> None:
    """Write the file NAME.db as an earlier version did, which is in `data` as SQL."""
    statements = (Path(__file__).parent / "data" / f"{name}.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(folder / f"{name}.db")) as db:
        db.executescript(statements.replace("FOLDER", str(folder)))
