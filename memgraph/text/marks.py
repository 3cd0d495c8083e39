"""How far a conversation was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from memgraph.models import ThreadMark, Turn
from memgraph.text.identify import HASHED

VOUCHING = 3
"""A mark that keeps this many ids or more has room for the place it moved from."""


def unlearned(turns: Sequence[Turn], mark: ThreadMark | None) -> int:
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


def advance(mark: ThreadMark | None, message_ids: Sequence[str], at: str, keep: int) -> ThreadMark:
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
    mark = mark or ThreadMark(message_ids=())
    if mark.known.issuperset(message_ids):
        return mark
    before = [known for known in _in_order(mark) if known not in set(message_ids)]
    kept = [*before, *message_ids][-keep:]
    if keep >= VOUCHING and before and before[-1] not in kept:
        kept[0] = before[-1]
    return mark.model_copy(update={"last_message_id": message_ids[-1], "at": at, "message_ids": tuple(kept)})


def _in_order(mark: ThreadMark) -> list[str]:
    """Return the ids *mark* knows, the newest last; an older document has the last one only."""
    last = [mark.last_message_id] if mark.last_message_id else []
    return [*(known for known in mark.message_ids if known not in {"", *last}), *last]
