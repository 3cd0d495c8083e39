"""Exchanges to remember."""

from __future__ import annotations

from memgraph.attachments.item import take_snapshot
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult
from memgraph.models import Scope


def exchange(given: object, answer: object = "Noted.", *, node: str = "writer", user: str | None = None) -> Interaction:
    """What a node was given and answered."""
    scope = Scope(user) if user else None
    return Interaction(take_snapshot(given), take_snapshot(answer), node, scope=scope, thread_id="thread_1")  # pyright: ignore[reportArgumentType] - any content


def ask(
    store: MemoryStore, text: str, *, top_k: int = 3, threshold: float = -1, user: str | None = None
) -> list[SearchResult]:
    """What *store* finds."""
    query = SearchQuery(text, scope=Scope(user) if user else None)
    return list(store.retrieve(query, top_k=top_k, threshold=threshold))


def shown(found: list[SearchResult]) -> list[str]:
    """What a prompt would be told."""
    return [one.item.content_summary for one in found]
