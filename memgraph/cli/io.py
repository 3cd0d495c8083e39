"""Reading the file a command is given."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.errors import MemgraphError

if TYPE_CHECKING:
    from memgraph.importers import ExportDocument
    from memgraph.models import Memory, Scope


STDIN = "-"


def read_input(file: str, refusal: type[MemgraphError]) -> bytes:
    """Return the bytes of *file*, `-` being stdin.

    Raises:
        MemgraphError: Of the type *refusal*, if it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise refusal(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise refusal(f"{file!r} cannot be read: {error}") from error


def read_documents(file: str, refusal: type[MemgraphError]) -> list[ExportDocument]:
    """Return what an export is made of: *file*, or the memories below it where it is a folder.

    Raises:
        MemgraphError: Of the type *refusal*, if it cannot be read, or a folder holds none.
    """
    from memgraph.importers import ExportDocument

    root = Path(file)
    if file == STDIN or not root.is_dir():
        return [ExportDocument(name_of(file), read_input(file, refusal))]
    found = [*root.rglob("memory.json"), *(path for path in root.rglob("*.md") if "facts" in path.parts)]
    if not found:
        raise refusal(f"{file} holds no memory.json, and no Markdown files in a folder called facts")
    return [ExportDocument(path.as_posix(), read_input(str(path), refusal)) for path in sorted(found)]


def name_of(file: str) -> str:
    """What *file* is called in messages."""
    return "stdin" if file == STDIN else file


def default_thread(file: str) -> str:
    """The thread that a conversation is, where nobody says: its file's name without the ending."""
    return "stdin" if file == STDIN else Path(file).stem


def backup_place(scope: Scope) -> Path:
    """A name that says whose and when, for any user id."""
    from memgraph.storage.paths import folder_name

    whose = folder_name(scope.user_id) + (f"-{scope.agent_name}" if scope.agent_name else "")
    return Path(f"memgraph-backup-{whose}-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.json").absolute()


def write_memory(path: Path, memory: Memory) -> None:
    """Write *memory* to a file that nobody else may read."""
    from memgraph.storage.serialization import serialize

    _, data = serialize(memory)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
