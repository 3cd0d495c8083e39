"""Change a stored memory, whoever else is writing."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from memgraph.editing.checks import now
from memgraph.errors import ForgottenError, RevisionConflictError
from memgraph.models import Memory, Scope, Section, SectionName
from memgraph.rules.validation import checked_summary
from memgraph.storage import MemoryStorage

MAX_RACES = 50
_JITTER_SECONDS = 0.01

Change = Callable[[Memory], Memory]


def update_memory(storage: MemoryStorage, scope: Scope, change: Change) -> Memory:
    """Load the memory of *scope*, change it and save it; go round again where somebody else saved first.

    Args:
        storage: Where the memory is.
        scope: Whose memory.
        change: Called once a round with what is stored now. Nothing is saved where it changes nothing.

    Returns:
        The memory as it is stored now.

    Raises:
        EditError: If the change cannot be made; nothing was saved.
        RevisionConflictError: If 50 saves in a row were lost.
        StorageError: If the memory cannot be read or saved; what was stored is intact.
    """
    memory = storage.load(scope)
    for races in range(1, MAX_RACES + 1):
        changed = change(memory)
        if changed == memory:
            return memory
        try:
            return storage.save(scope, changed)
        except (RevisionConflictError, ForgottenError):
            time.sleep(random.uniform(0, _JITTER_SECONDS) * min(races, 10))  # noqa: S311 - jitter is no secret
            memory = storage.reload(scope)
    raise RevisionConflictError(scope, memory.revision)


def edit_section(memory: Memory, name: SectionName, summary: str) -> Memory:
    """Put *summary* in the place of the one called *name*; an empty one removes it.

    An update whose model saw the text before leaves the new one as it is.

    Raises:
        EditError: If it holds control characters, or more than 1,000 tokens.
    """
    text = checked_summary(summary) if summary.strip() else ""
    section = memory.section(name)
    if text == section.summary:
        return memory
    at = now()
    written = section.model_copy(update={"summary": text, "updated_at": at}) if text else Section(updated_at=at)
    return memory.with_section(name, written).model_copy(update={"last_updated": at})
