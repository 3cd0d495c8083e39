"""What a job learns: its submissions merged into one conversation, without what was said before a deletion.

Messages are raw JSON here. None is lost, and none appears twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from memgraph.analysis.dates import parse_time
from memgraph.background.outbox import Submission
from memgraph.background.serialization import Raw, is_same_text, load_raw, with_first_time, with_submission_time
from memgraph.models import UNKNOWN_THREAD, MemoryDocument


class Plan(NamedTuple):
    """A conversation to learn from, and one that is only marked as learned."""

    learn: Sequence[Raw]
    skipped: Sequence[Raw]


def plan_learning(
    submissions: Sequence[Submission], deletion: str, memory: MemoryDocument, thread_id: str | None
) -> Plan:
    """Split the *submissions* of a thread by whether they came before or after *memory* was last deleted.

    Args:
        submissions: In order.
        deletion: The last deletion that the outbox has recorded; "" if there is none.
        memory: The memory that would learn them.
        thread_id: Their conversation.
    """
    old, new = list[list[Raw]](), list[list[Raw]]()
    for submission in submissions:
        (old if precedes_deletion(submission, deletion, memory) else new).append(_parse(submission))
    watermark = memory.threads.get(thread_id or UNKNOWN_THREAD)
    known = watermark.known if watermark else ()
    return Plan(order_for_watermark(merge_all(new), new, known), merge_all(old))


def precedes_deletion(submission: Submission, deletion: str, memory: MemoryDocument) -> bool:
    """Whether *submission* arrived before *memory* was last deleted.

    The outbox knows the order, unless the storage itself was called to delete the memory and no job has been run
    since: then the clocks decide.
    """
    if submission.is_forgotten or memory.forgotten is None:
        return submission.is_forgotten
    deleted_at = parse_time(memory.forgotten.at)
    return memory.forgotten.at != deletion and deleted_at is not None and submission.at <= deleted_at.timestamp()


def _parse(submission: Submission) -> list[Raw]:
    """Return the messages, those without a time with that of the submission: the update may run much later."""
    return with_submission_time(load_raw(submission.messages), None, submission.at)


def last_deletion(memory: MemoryDocument) -> str:
    """Return what identifies the last deletion of *memory*; empty if it never was deleted."""
    return memory.forgotten.at if memory.forgotten else ""


def merge_all(submissions: Sequence[Sequence[Raw]]) -> list[Raw]:
    """Merge *submissions*, the earliest first, into one conversation."""
    return reduce(merge_messages, submissions, list[Raw]())


def merge_messages(pending: Sequence[Raw], new: Sequence[Raw]) -> list[Raw]:
    """Append *new* to *pending*, keeping each message that is in both only once.

    - Messages with the same id are the same message; the later version replaces the earlier one, but keeps the time of
      the first submission.
    - Messages without ids are matched if *new* starts with the end of *pending*, as far as that reaches; if *new*
      contains all of *pending*; and next to messages that match by id.
    - A new message goes to the end, unless a pending one follows it: a history that starts earlier, or has something
      in between, keeps its order.
    """
    new = _last_versions(new)
    result, insertions, tail = list(pending), dict[int, list[Raw]](), list[Raw]()
    block, furthest = list[Raw](), -1
    for message, position in zip(new, _find_positions(pending, new), strict=True):
        if position is None:
            block.append(message)
            continue
        result[position] = with_first_time(message, result[position])
        if position > furthest:
            insertions.setdefault(position, []).extend(block)
        else:
            tail.extend(block)
        block, furthest = [], max(furthest, position)
    merged = list[Raw]()
    for position, message in enumerate(result):
        merged += [*insertions.get(position, ()), message]
    return [*merged, *tail, *block]


def order_for_watermark(
    conversation: Sequence[Raw], submissions: Sequence[Sequence[Raw]], known: Collection[str]
) -> list[Raw]:
    """Reorder *conversation* so that no new message precedes one that was learned already.

    A memory takes everything before the last message it knows as learned. That is true of each submission, and of
    overlapping ones, but not of their merge: an old part of a conversation may be submitted after a new one.

    Args:
        conversation: The merge of *submissions*.
        submissions: Each in the order of the conversation.
        known: Ids of the last messages learned from.
    """
    learned = set(known)
    views = [[message_id(message) or "" for message in submission] for submission in submissions]
    while found := {one for view in views for one in _up_to_last_learned(view, learned)} - learned:
        learned |= found
    return sorted(conversation, key=lambda message: bool(known) and message_id(message) not in learned)


def _up_to_last_learned(view: list[str], learned: Collection[str]) -> list[str]:
    last = next((index for index in reversed(range(len(view))) if view[index] in learned), -1)
    return [one for one in view[: last + 1] if one]


def message_id(message: Mapping[str, Any]) -> str | None:
    """Return the id of a message; None without one."""
    return message.get("id") or None


def _last_versions(messages: Sequence[Raw]) -> list[Raw]:
    """Return *messages* with the last version of each at the position of the first."""
    seen: dict[object, Raw] = {}
    for position, message in enumerate(messages):
        seen[message_id(message) or position] = message
    return list(seen.values())


def _find_positions(pending: Sequence[Raw], new: Sequence[Raw]) -> list[int | None]:
    """Return the index in *pending* of each message of *new*; None for one that is not there."""
    by_id = {own: index for index, message in enumerate(pending) if (own := message_id(message))}
    positions = [by_id.get(message_id(message) or "") for message in new]
    if all(message_id(message) for message in new):
        return positions
    start = _find_overlap(pending, new)
    # messages without ids: forwards from the overlap or a match, then backwards from a match
    for index, message in enumerate(new):
        before = positions[index - 1] if index else None
        guess = before + 1 if before is not None else None if start is None else start + index
        is_inside = positions[index] is None and guess is not None and 0 <= guess < len(pending)
        if guess is not None and is_inside and _is_same_message(pending[guess], message):
            positions[index] = guess
    for index in reversed(range(len(new) - 1)):
        after = positions[index + 1]
        is_free = positions[index] is None and after and after - 1 not in positions
        if after and is_free and _is_same_message(pending[after - 1], new[index]):
            positions[index] = after - 1
    return positions


def _find_overlap(pending: Sequence[Raw], new: Sequence[Raw]) -> int | None:
    """Return the index in *pending* of the first of *new*, negative if *new* starts earlier; None without overlap."""
    for start in range(len(pending) - len(new), 0):
        if all(_is_same_message(*pair) for pair in zip(pending, new[-start:], strict=False)):
            return start
    for start in range(len(pending)):
        tail = pending[start:]
        if len(tail) <= len(new) and all(_is_same_message(*pair) for pair in zip(tail, new, strict=False)):
            return start
    return None


def _is_same_message(one: Raw, other: Raw) -> bool:
    own, others = message_id(one), message_id(other)
    return own == others if own or others else is_same_text(one, other)
