"""The watermark: how far each thread was learned from.

A watermark keeps the last ids that were learned, not only the newest, so that a deleted or regenerated
message does not make the whole conversation new again. It is saved with the facts it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from memgraph.models import Memory, Turn, Watermark
from memgraph.policy import Policy
from memgraph.rules.draft import Draft
from memgraph.text.turns import HASHED

VOUCHING = 3
"""A watermark that keeps this many ids or more has room for the place it moved from."""


def advance_watermark(draft: Draft) -> Draft:
    """Move the thread's mark past the messages of this update."""
    changes = draft.changes
    return replace(
        draft, memory=with_watermark(draft.memory, changes.thread, changes.message_ids, changes.at, draft.policy)
    )


def with_watermark(memory: Memory, thread: str, message_ids: tuple[str, ...], at: str, policy: Policy) -> Memory:
    """A copy of *memory* that has learned from *message_ids* of *thread*; old threads beyond the limit are let go."""
    moved = advance(memory.threads.get(thread), message_ids, at, policy.thread_mark_ids)
    others = [(name, known) for name, known in memory.threads.items() if name != thread]
    if len(others) >= policy.max_threads:
        newest = sorted(range(len(others)), key=lambda place: others[place][1].at, reverse=True)
        kept = set(newest[: policy.max_threads - 1])
        others = [other for place, other in enumerate(others) if place in kept]
    return memory.model_copy(update={"threads": {**dict(others), thread: moved}})


def count_new(turns: Sequence[Turn], mark: Watermark | None) -> int:
    """Return how many of the last *turns* are new: all after the last one that *mark* knows.

    A turn known by a hash counts only together with the turn before it, since "yes" is easily said twice.
    """
    known = mark.known if mark else frozenset[str]()
    ids = [turn.id for turn in turns]
    last = next((at for at in reversed(range(len(ids))) if _is_known(ids, at, known)), -1)
    return len(ids) - 1 - last


def _is_known(ids: Sequence[str], at: int, known: AbstractSet[str]) -> bool:
    """Tell whether the turn at *at* was learned. A mark of a single id has nothing that could vouch for it."""
    if ids[at] not in known:
        return False
    return not ids[at].startswith(HASHED) or at == 0 or len(known) == 1 or ids[at - 1] in known


def advance(mark: Watermark | None, message_ids: Sequence[str], at: str, keep: int) -> Watermark:
    """Return the mark after learning *message_ids*, the newest last; it never moves back.

    Args:
        mark: How far the conversation was learned before; None for not at all.
        message_ids: What was learned now, in the order of the conversation.
        at: The time, ISO 8601.
        keep: How many ids are kept, at least 1.

    Returns:
        *mark* itself where it knows all of them; else one that knows the last *keep* of them, and the
        place it moved from, so that an old part of the conversation, learned late, does not undo newer parts.
    """
    mark = mark or Watermark(message_ids=())
    if mark.known.issuperset(message_ids):
        return mark
    before = [known for known in _in_order(mark) if known not in set(message_ids)]
    kept = [*before, *message_ids][-keep:]
    if keep >= VOUCHING and before and before[-1] not in kept:
        kept[0] = before[-1]
    return mark.model_copy(update={"last_message_id": message_ids[-1], "at": at, "message_ids": tuple(kept)})


def _in_order(mark: Watermark) -> list[str]:
    """Return the ids *mark* knows, the newest last; an older document has the last one only."""
    last = [mark.last_message_id] if mark.last_message_id else []
    return [*(known for known in mark.message_ids if known not in {"", *last}), *last]


def count_unlearned(turns: Sequence[Turn], mark: Watermark | None) -> int:
    """How many of the last turns are new; none where nothing a person said is among them."""
    count = count_new(turns, mark)
    new = turns[len(turns) - count :]
    return count if any(turn.role == "human" for turn in new) else 0


def first_batch(new: Sequence[Turn], max_tokens: int, cost: Callable[[Turn], int]) -> Sequence[Turn]:
    """The first of *new* that together cost at most *max_tokens*, at least one.

    A batch ends before a human turn where it can, so that a question and its answer stay together.
    """
    spent, whole = 0, 0
    for place, turn in enumerate(new):
        spent += cost(turn)
        if turn.role == "human":
            whole = place
        if place and spent > max_tokens:
            return new[: whole or place]
    return new
