"""An id for every turn: the message's own, or a hash that stands for it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from memgraph.models import Turn
from memgraph.text.said import Said

HASHED = "sha256:"
"""How the id of a message begins that has none of its own."""


def identified(kept: Iterable[Said]) -> tuple[Turn, ...]:
    """Return *kept* as turns whose ids are unique among them.

    A message without an id, or with one that an earlier message has, is known by what was said, by whom,
    and after what. Said again after the same words, it is the second, third... of its kind.
    """
    turns: list[Turn] = []
    seen: Counter[str] = Counter()
    for said in kept:
        own = said.id if said.id and said.id not in seen else _numbered(_hash(said, turns[-1:]), seen)
        seen[own] += 1
        turns.append(Turn(id=own, role=said.role, text=said.text))
    return tuple(turns)


def _hash(said: Said, before: list[Turn]) -> str:
    """Hash what was said and the turn before; texts hold no NUL, so the parts cannot run into each other."""
    parts = [said.role, said.text, *(part for turn in before for part in (turn.role, turn.text))]
    return HASHED + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _numbered(name: str, seen: Counter[str]) -> str:
    """Return *name*, with a number where it was used before."""
    own = name
    while own in seen:
        seen[name] += 1
        own = f"{name}:{seen[name]}"
    return own
