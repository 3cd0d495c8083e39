"""The memory remembers how far the conversation was learned from."""

from __future__ import annotations

from dataclasses import replace

from memgraph.models import Memory
from memgraph.policy import Policy
from memgraph.rules.draft import Draft
from memgraph.text.marks import advance


def mark(draft: Draft) -> Draft:
    """Move the thread's mark past the messages of this update."""
    changes = draft.changes
    return replace(draft, memory=marked(draft.memory, changes.thread, changes.message_ids, changes.at, draft.policy))


def marked(memory: Memory, thread: str, message_ids: tuple[str, ...], at: str, policy: Policy) -> Memory:
    """A copy of *memory* that has learned from *message_ids* of *thread*; old threads beyond the limit are let go."""
    moved = advance(memory.threads.get(thread), message_ids, at, policy.thread_mark_ids)
    others = [(name, known) for name, known in memory.threads.items() if name != thread]
    if len(others) >= policy.max_threads:
        newest = sorted(range(len(others)), key=lambda place: others[place][1].at, reverse=True)
        kept = set(newest[: policy.max_threads - 1])
        others = [other for place, other in enumerate(others) if place in kept]
    return memory.model_copy(update={"threads": {**dict(others), thread: moved}})
