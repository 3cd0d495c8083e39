"""Find what a person edited in a change set that a node wrote, as in Studio or by the threads API of a server."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import TypeVar

from memgraph.models import Addition, MemoryUpdate, ProfileChange, Removal, Rewrite

Item = TypeVar("Item", Addition, Removal, Rewrite, ProfileChange)


def item_digests(changes: MemoryUpdate) -> tuple[str, ...]:
    """Return the digests of the items of *changes* that a person may write; they survive a round trip through JSON."""
    return tuple(map(_digest, (*changes.additions, *changes.removals, *changes.rewrites, *changes.profile)))


def mark_edited(changes: MemoryUpdate, written: Collection[str] | None) -> MemoryUpdate:
    """Return *changes* with the items marked as a person's that are not among *written*, the digests of a node's.

    None is an unknown origin, as in a checkpoint of an earlier release: nothing is marked.
    """
    if written is None or set(item_digests(changes)) <= set(written):
        return changes
    return changes.model_copy(
        update={
            "additions": _marked(changes.additions, written),
            "removals": _marked(changes.removals, written),
            "rewrites": _marked(changes.rewrites, written),
            "profile": _marked(changes.profile, written),
        }
    )


def _marked(items: Sequence[Item], written: Collection[str]) -> tuple[Item, ...]:
    return tuple(
        item if _digest(item) in written else item.model_copy(update={"edited_by_user": True}) for item in items
    )


def _digest(item: Addition | Removal | Rewrite | ProfileChange) -> str:
    text = f"{type(item).__name__} {item.model_dump_json()}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
