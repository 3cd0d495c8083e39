"""The watermark: how far each thread was learned from.

A watermark keeps the ids of the last learned messages, not only the newest, so that a deleted or regenerated
message does not make the whole conversation new again. It is saved together with the facts learned from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from memgraph.analysis.turns import HASHED
from memgraph.models import MemoryDocument, Turn, Upkeep, Watermark
from memgraph.policy import Policy
from memgraph.rules.draft import Draft

MIN_IDS_FOR_PREVIOUS = 3
"""A watermark that keeps this many ids or more also keeps the position that it moved from."""


_PROGRESS = "#chars="
"""In an id of a watermark: so many characters of a long turn were learned; the rest of it is still new."""


def progress_id(turn_id: str, chars: int) -> str:
    """Return the id under which a watermark knows the first *chars* characters of a turn."""
    return f"{turn_id}{_PROGRESS}{chars}"


def progress_of(turn_id: str, watermark: Watermark | None) -> int:
    """Return how many characters of a long turn were learned; 0 if none, or if it was learned as a whole."""
    prefix = turn_id + _PROGRESS
    counts = [known.removeprefix(prefix) for known in watermark.known if known.startswith(prefix)] if watermark else []
    return max((int(count) for count in counts if count.isdecimal()), default=0)


def without_progress(message_id: str) -> str:
    """Return the id of the turn that *message_id* is a part of."""
    turn_id, marker, chars = message_id.rpartition(_PROGRESS)
    return turn_id if marker and chars.isdecimal() else message_id


def advance_watermark(draft: Draft) -> Draft:
    """Move the thread's watermark past the messages of this update."""
    changes = draft.changes
    memory = with_watermark(draft.memory, changes.thread, changes.message_ids, changes.at, draft.policy)
    return replace(draft, memory=memory)


def with_watermark(
    memory: MemoryDocument, thread: str, message_ids: tuple[str, ...], at: str, policy: Policy
) -> MemoryDocument:
    """Return *memory* with *message_ids* of *thread* learned; the oldest threads beyond the limit are evicted."""
    if not message_ids:
        return memory
    moved = advance(memory.threads.get(thread), message_ids, at, policy.thread_mark_ids)
    others = [(name, known) for name, known in memory.threads.items() if name != thread]
    if len(others) >= policy.max_threads:
        newest = sorted(range(len(others)), key=lambda index: others[index][1].at, reverse=True)
        kept = set(newest[: policy.max_threads - 1])
        others = [other for index, other in enumerate(others) if index in kept]
    return memory.model_copy(update={"threads": {**dict(others), thread: moved}})


def new_turns(turns: Sequence[Turn], watermark: Watermark | None) -> tuple[Turn, ...]:
    """Return those of *turns* that *watermark* does not know.

    Turns may be learned out of order, by several writers of one thread, so a turn between known ones is new. Only the
    last ids are kept, so a turn counts as learned if the next known one is in `gaps`, or if it is the first known one.
    A turn identified by a hash counts as known only if the turn before it is known too, since short texts such as
    "yes" are often repeated.
    """
    ids = [turn.id for turn in turns]
    known = watermark.known if watermark else frozenset[str]()
    gaps = watermark.gaps if watermark else ()
    is_known = [_is_known(ids, index, known, gaps) for index in range(len(ids))]
    first = next((index for index in range(len(ids)) if is_known[index] or progress_of(ids[index], watermark)), 0)
    new: list[Turn] = []
    next_known: str | None = None
    for index in range(len(ids) - 1, first - 1, -1):
        if is_known[index]:
            next_known = ids[index]
        elif next_known not in gaps:
            new.append(turns[index])
    return tuple(reversed(new))


def _is_known(ids: Sequence[str], index: int, known: frozenset[str], gaps: tuple[str, ...]) -> bool:
    """Return whether the turn at *index* was learned, by the ids *known* to a watermark and its *gaps*.

    A watermark with a single id cannot know the turn before it; nor can one that has evicted the id of the turn
    before, so there the turn after it has to be known.
    """
    if ids[index] not in known:
        return False
    if not ids[index].startswith(HASHED) or index == 0 or len(known) == 1 or ids[index - 1] in known:
        return True
    return ids[index] in gaps and index + 1 < len(ids) and ids[index + 1] in known


def unlearned_turns(turns: Sequence[Turn], watermark: Watermark | None) -> tuple[Turn, ...]:
    """Return the new ones of *turns*, or nothing if no turn of the user is among them."""
    new = new_turns(turns, watermark)
    return new if any(turn.is_users for turn in new) else ()


def advance(watermark: Watermark | None, message_ids: Sequence[str], at: str, keep: int) -> Watermark:
    """Return the watermark after learning *message_ids*, the newest last; it never moves back.

    Args:
        watermark: How far the conversation was learned before; None if it was not.
        message_ids: The messages learned now, in the order of the conversation.
        at: The time, ISO 8601.
        keep: How many ids are kept, at least 1.

    Returns:
        *watermark* itself if it knows all of them; otherwise one with the last *keep* ids. The position that it moved
        from is among them, and `gaps` names the ids before which ids were evicted, so that an old part of the
        conversation, learned late, does not make newer parts new.
    """
    watermark = watermark or Watermark()
    if watermark.known.issuperset(message_ids):
        return watermark
    learned = frozenset(map(without_progress, message_ids))
    before = [known for known in _in_order(watermark) if without_progress(known) not in learned]
    ordered = [*before, *message_ids]
    kept = ordered[-keep:]
    if keep >= MIN_IDS_FOR_PREVIOUS and before and before[-1] not in kept:
        kept[0] = before[-1]
    follows_evicted = {after for previous, after in pairwise(ordered) if previous not in kept}
    gaps = tuple(known for known in kept if known in follows_evicted or known in watermark.gaps)
    return watermark.model_copy(
        update={"last_message_id": message_ids[-1], "at": at, "message_ids": tuple(kept), "gaps": gaps}
    )


def _in_order(watermark: Watermark) -> list[str]:
    """Return the ids that *watermark* knows, the newest last; older documents have only the last one."""
    last = [watermark.last_message_id] if watermark.last_message_id else []
    return [*(known for known in watermark.message_ids if known not in {"", *last}), *last]


def first_batch(
    new: Sequence[Turn],
    max_tokens: int,
    cost: Callable[[Turn], int],
    highest_cost: Callable[[Turn], int] | None = None,
) -> Sequence[Turn]:
    """Return the first turns of *new* that together cost at most *max_tokens*, at least one.

    A batch ends before a user turn if possible, so that a question and its answer stay together.

    Args:
        new: Turns in the order of the conversation.
        max_tokens: What a batch may cost.
        cost: The tokens of a turn.
        highest_cost: What a turn costs at most, if that is known faster: once all that is left certainly fits, its
            tokens are not counted.
    """
    left = sum(map(highest_cost, new)) if highest_cost else math.inf
    spent, last_user_turn = 0, 0
    for index, turn in enumerate(new):
        if spent + left <= max_tokens:
            return new
        spent += cost(turn)
        left -= highest_cost(turn) if highest_cost else 0
        if turn.role == "human":
            last_user_turn = index
        if index and spent > max_tokens:
            return new[: last_user_turn or index]
    return new


MAX_ASKED = 1_000
"""Maximum number of questions that are remembered, the latest ones."""


def mark_upkeep(draft: Draft) -> Draft:
    """Note the time, the revision and the questions of an upkeep; an update changes nothing here."""
    changes, memory = draft.changes, draft.memory
    if changes.asked is None:
        return draft
    before = memory.upkeep or Upkeep()
    asked = tuple(dict.fromkeys((*before.asked, *changes.asked)))[-MAX_ASKED:]
    upkeep = before.model_copy(update={"at": changes.at, "revision": memory.revision + 1, "asked": asked})
    return replace(draft, memory=memory.model_copy(update={"upkeep": upkeep}))
