"""What several submissions say together. Messages are raw JSON here; none is lost, and none is there twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

M = TypeVar("M", bound=Mapping[str, Any])


def merged(submissions: Sequence[Sequence[M]]) -> list[M]:
    """All of *submissions*, the earliest first, as one conversation."""
    return reduce(merge, submissions, list[M]())


def merge(waiting: Sequence[M], new: Sequence[M]) -> list[M]:
    """*waiting* and then *new*, where each message that is in both is there once.

    - A message is known by its id; the later version takes the place of the earlier one.
    - Messages without ids are the same where the end of *waiting* is the beginning of *new*, as far as it goes; where
      all of *waiting* is a part of *new*; and beside messages that are the same by their ids.
    - What is new goes to the end, except where a message follows that waits already: a history that begins earlier,
      or has something in between, keeps its order.
    """
    new = _last_versions(new)
    places = _places(waiting, new)
    kept, inserted, end = list(waiting), dict[int, list[M]](), list[M]()
    block, furthest = list[M](), -1
    for message, place in zip(new, places, strict=True):
        if place is None:
            block.append(message)
            continue
        kept[place] = message
        if place > furthest:
            inserted.setdefault(place, []).extend(block)
        else:
            end.extend(block)
        block, furthest = [], max(furthest, place)
    result = list[M]()
    for place, message in enumerate(kept):
        result += [*inserted.get(place, ()), message]
    return [*result, *end, *block]


def order_for_watermark(
    conversation: Sequence[M], submissions: Sequence[Sequence[M]], known: Collection[str]
) -> list[M]:
    """*conversation*, merged from *submissions*, such that nothing new stands before what was learned already.

    A memory takes all before the last message it knows for learned. That holds for each submission, and for those that
    overlap, but not for their sum, where an old part of a conversation may have been handed over after a new one.

    Args:
        conversation: What *submissions* say together.
        submissions: Each in the order of the conversation.
        known: Ids of the last messages learned from.
    """
    learned = set(known)
    views = [[id_of(message) or "" for message in submission] for submission in submissions]
    while more := {one for view in views for one in _before_last(view, learned)} - learned:
        learned |= more
    return sorted(conversation, key=lambda message: bool(known) and id_of(message) not in learned)


def _before_last(view: list[str], learned: Collection[str]) -> list[str]:
    """The ids of *view* up to the last one that was learned."""
    last = next((at for at in reversed(range(len(view))) if view[at] in learned), -1)
    return [one for one in view[: last + 1] if one]


def id_of(message: Mapping[str, Any]) -> str | None:
    """Its own id; None where it has none."""
    return message.get("id") or None


def _last_versions(messages: Sequence[M]) -> list[M]:
    """*messages* with the last version of each at the place of the first."""
    seen: dict[object, M] = {}
    for place, message in enumerate(messages):
        seen[id_of(message) or place] = message
    return list(seen.values())


def _places(waiting: Sequence[M], new: Sequence[M]) -> list[int | None]:
    """Where in *waiting* each message of *new* is; None where it is not."""
    by_id = {own: place for place, message in enumerate(waiting) if (own := id_of(message))}
    places = [by_id.get(id_of(message) or "") for message in new]
    if all(id_of(message) for message in new):
        return places
    start = _overlap(waiting, new)
    for at, message in enumerate(new):
        beside = places[at - 1] if at else None
        place = beside + 1 if beside is not None else None if start is None else start + at
        if places[at] is None and place is not None and 0 <= place < len(waiting) and _same(waiting[place], message):
            places[at] = place
    for at in reversed(range(len(new) - 1)):
        beside = places[at + 1]
        if places[at] is None and beside and beside - 1 not in places and _same(waiting[beside - 1], new[at]):
            places[at] = beside - 1
    return places


def _overlap(waiting: Sequence[M], new: Sequence[M]) -> int | None:
    """Where in *waiting* the first of *new* is, below 0 where *new* begins earlier; None where they do not overlap."""
    for start in range(len(waiting) - len(new), 0):
        if all(_same(*pair) for pair in zip(waiting, new[-start:], strict=False)):
            return start
    for start in range(len(waiting)):
        if len(waiting) - start <= len(new) and all(_same(*pair) for pair in zip(waiting[start:], new, strict=False)):
            return start
    return None


def _same(one: M, other: M) -> bool:
    own, others = id_of(one), id_of(other)
    return own == others if own or others else one == other
