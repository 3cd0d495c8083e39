"""update_memory: load, change and save a memory, with retries after conflicts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from memgraph.errors import ForgottenError, RevisionConflictError
from memgraph.models import Memory, Scope
from memgraph.storage import MemoryStorage

MAX_ATTEMPTS = 50
_JITTER_SECONDS = 0.01

Change = Callable[[Memory], Memory]


def update_memory(storage: MemoryStorage, scope: Scope, change: Change) -> Memory:
    """Load the memory of *scope*, change it and save it; retry if another writer saved or deleted it meanwhile.

    Args:
        storage: Where the memory is stored.
        scope: Whose memory.
        change: Called in each attempt with the stored memory. If it changes nothing, nothing is saved.

    Returns:
        The memory as it is stored now.

    Raises:
        EditError: If *change* raised it; nothing was saved.
        RevisionConflictError: If 50 attempts in a row lost the race.
        StorageError: If the memory cannot be loaded or saved; the stored memory is intact.
    """
    memory = storage.load(scope)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        changed = change(memory)
        if changed == memory:
            return memory
        try:
            return storage.save(scope, changed)
        except (RevisionConflictError, ForgottenError):
            time.sleep(random.uniform(0, _JITTER_SECONDS) * min(attempt, 10))  # noqa: S311 - jitter is not a secret
            memory = storage.reload(scope)
    raise RevisionConflictError(scope, memory.revision)
