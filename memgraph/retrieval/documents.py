"""What is searched: facts and episodes as documents of weighted texts, with their thread and their time."""

from __future__ import annotations

from dataclasses import dataclass

from memgraph.models import MANUAL, UNKNOWN_THREAD

QUOTE_WEIGHT = 0.5
"""Weight of a word of a fact's quotes, or of the turn before an episode, relative to a word of its own text.

At 0 LoCoMo loses .028 (episode_recall.py), and RealMem wins .040 (long_talks.py).
"""
PRECEDING_WEIGHT = 0.25
"""Weight of a word of the turn before a quote; at 0 LoCoMo loses .012 (episode_recall.py)."""
NO_THREAD = frozenset({MANUAL, UNKNOWN_THREAD, ""})
"""Sources that are not a conversation."""


@dataclass(frozen=True, slots=True)
class Document:
    """A fact or an episode as it is searched."""

    text: str
    """Its own text, which an embedding model compares with the question."""
    context: tuple[tuple[str, float], ...] = ()
    """Further texts by which it is found, each with the weight of a word in it."""
    thread: str = ""
    """The conversation it is from; empty if there is none."""
    dates: tuple[str, ...] = ()
    """The times that it is about, as (partial) ISO 8601 dates: the first of them to the last."""
