"""A memory written to a file of the working folder, before something takes its place."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memgraph.models import Memory, Scope


def backup_place(scope: Scope) -> Path:
    """A name that says whose and when, for any user id."""
    from memgraph.storage.paths import folder_name

    whose = folder_name(scope.user_id) + (f"-{scope.agent_name}" if scope.agent_name else "")
    return Path(f"memgraph-backup-{whose}-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.json").absolute()


def write_memory(path: Path, memory: Memory) -> None:
    """Write *memory* to a file that nobody else may read."""
    from memgraph.storage.documents import storable

    _, data = storable(memory)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
