"""The watermark: how far each thread was learned from.

A watermark keeps the ids of the last learned messages, not only the newest, so that a deleted or regenerated
message does not make the whole conversation new again. It is saved together with the facts learned from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from memgraph.models import Memory, Turn, Watermark
from memgraph.policy import Policy
from memgraph.rules.draft import Draft
from memgraph.text.turns import HASHED

MIN_IDS_FOR_PREVIOUS = 3
"""A watermark that keeps this many ids or more also keeps the position that it moved from."""


def advance_watermark(draft: Draft) -> Draft:
    """Move the thread's watermark past the messages of this update."""
    changes = draft.changes
    memory = with_watermark(draft.memory, changes.thread, changes.message_ids, changes.at, draft.policy)
    return replace(draft, memory=memory)


def with_watermark(memory: Memory, thread: str, message_ids: tuple[str, ...], at: str, policy: Policy) -> Memory:
    """Return *memory* with *message_ids* of *thread* learned; the oldest threads beyond the limit are evicted."""
    moved = advance(memory.threads.get(thread), message_ids, at, policy.thread_mark_ids)
    others = [(name, known) for name, known in memory.threads.items() if name != thread]
    if len(others) >= policy.max_threads:
        newest = sorted(range(len(others)), key=lambda index: others[index][1].at, reverse=True)
        kept = set(newest[: policy.max_threads - 1])
        others = [other for index, other in enumerate(others) if index in kept]
    return memory.model_copy(update={"threads": {**dict(others), thread: moved}})


def count_new(turns: Sequence[Turn], watermark: Watermark | None) -> int:
    """Return how many of the last *turns* are new: those after the last one that *watermark* knows.

    A turn identified by a hash counts as known only if the turn before it is known too, since short texts such as
    "yes" are often repeated.
    """
    known = watermark.known if watermark else frozenset[str]()
    ids = [turn.id for turn in turns]
    last = next((index for index in reversed(range(len(ids))) if _is_known(ids, index, known)), -1)
    return len(ids) - 1 - last


def _is_known(ids: Sequence[str], index: int, known: AbstractSet[str]) -> bool:
    """Return whether the turn at *index* was learned; a watermark with a single id cannot know the turn before it."""
    if ids[index] not in known:
        return False
    return not ids[index].startswith(HASHED) or index == 0 or len(known) == 1 or ids[index - 1] in known


def count_unlearned(turns: Sequence[Turn], watermark: Watermark | None) -> int:
    """Return how many of the last *turns* are new, or 0 if no user turn is among them."""
    count = count_new(turns, watermark)
    new = turns[len(turns) - count :]
    return count if any(turn.role == "human" for turn in new) else 0


def advance(watermark: Watermark | None, message_ids: Sequence[str], at: str, keep: int) -> Watermark:
    """Return the watermark after learning *message_ids*, the newest last; it never moves back.

    Args:
        watermark: How far the conversation was learned before; None if it was not.
        message_ids: The messages learned now, in the order of the conversation.
        at: The time, ISO 8601.
        keep: How many ids are kept, at least 1.

    Returns:
        *watermark* itself if it knows all of them; otherwise one with the last *keep* ids. The position that it moved
        from is among them, so that an old part of the conversation, learned late, does not make newer parts new.
    """
    watermark = watermark or Watermark(message_ids=())
    if watermark.known.issuperset(message_ids):
        return watermark
    before = [known for known in _in_order(watermark) if known not in set(message_ids)]
    kept = [*before, *message_ids][-keep:]
    if keep >= MIN_IDS_FOR_PREVIOUS and before and before[-1] not in kept:
        kept[0] = before[-1]
    return watermark.model_copy(update={"last_message_id": message_ids[-1], "at": at, "message_ids": tuple(kept)})


def _in_order(watermark: Watermark) -> list[str]:
    """Return the ids that *watermark* knows, the newest last; older documents have only the last one."""
    last = [watermark.last_message_id] if watermark.last_message_id else []
    return [*(known for known in watermark.message_ids if known not in {"", *last}), *last]


def first_batch(new: Sequence[Turn], max_tokens: int, cost: Callable[[Turn], int]) -> Sequence[Turn]:
    """Return the first turns of *new* that together cost at most *max_tokens*, at least one.

    A batch ends before a user turn if possible, so that a question and its answer stay together.
    """
    spent, last_user_turn = 0, 0
    for index, turn in enumerate(new):
        spent += cost(turn)
        if turn.role == "human":
            last_user_turn = index
        if index and spent > max_tokens:
            return new[: last_user_turn or index]
    return new
