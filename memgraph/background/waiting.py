"""What a review asks for while the list of pending changes is full: it waits as a job, until persons have decided.

The rest of its update is saved. The job has no lease while it waits, and does not count as failed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from memgraph.background.outbox import WAITING, Claim, ConversationKey, Outbox
from memgraph.background.planning import precedes_deletion
from memgraph.background.schedule import DebouncePolicy
from memgraph.editing.update import update_memory
from memgraph.models import ChangeOrigin, MemoryDocument, PendingChange, Scope

if TYPE_CHECKING:
    from memgraph.policy import Policy
    from memgraph.storage import MemoryStorage

TIMING = DebouncePolicy(60.0, 60.0)
"""How often a job checks whether there is room."""
_CHANGES = TypeAdapter(tuple[PendingChange, ...])


def put_waiting(outbox: Outbox, scope: Scope, changes: Sequence[PendingChange], now: float) -> None:
    """Add *changes*, for which the memory of *scope* has no room, to the outbox. They are not refused if it is full."""
    text = _CHANGES.dump_json(tuple(changes), by_alias=True).decode()
    outbox.enqueue(ConversationKey(scope, WAITING), text, now=now, timing=TIMING, max_jobs=sys.maxsize)


def place_waiting(claim: Claim, storage: MemoryStorage, policy: Policy) -> tuple[PendingChange, ...]:
    """Store the changes of *claim* as pending as far as there is room; return the others.

    Changes from before a deletion are forgotten.

    Raises:
        StorageError: If the memory cannot be loaded or saved.
    """
    waiting = [(one, _CHANGES.validate_json(one.messages)) for one in claim.submissions]

    def current(memory: MemoryDocument) -> list[PendingChange]:
        kept = (changes for one, changes in waiting if not precedes_deletion(one, claim.deletion, memory))
        return list({change.id: change for changes in kept for change in changes}.values())

    saved = update_memory(
        storage,
        claim.key.scope,
        lambda memory: memory.with_pending(*current(memory)),
        origin=ChangeOrigin(by="update"),
        policy=policy,
    )
    return saved.unplaced(current(saved))
