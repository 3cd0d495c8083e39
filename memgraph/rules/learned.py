"""Which turns there are to learn from, and how many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memgraph.models import ThreadMark, Turn
from memgraph.text.marks import unlearned


def remaining(turns: Sequence[Turn], mark: ThreadMark | None) -> int:
    """How many of the last turns are new; none where nothing a person said is among them."""
    count = unlearned(turns, mark)
    new = turns[len(turns) - count :]
    return count if any(turn.is_human for turn in new) else 0


def first_batch(new: Sequence[Turn], max_tokens: int, cost: Callable[[Turn], int]) -> Sequence[Turn]:
    """The first of *new* that together cost at most *max_tokens*, at least one.

    A batch ends before a human turn where it can, so that a question and its answer stay together.
    """
    spent, whole = 0, 0
    for place, turn in enumerate(new):
        spent += cost(turn)
        if turn.is_human:
            whole = place
        if place and spent > max_tokens:
            return new[: whole or place]
    return new
