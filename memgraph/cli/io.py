"""Input files, export folders, and private output files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from memgraph.errors import MemgraphError
from memgraph.importers import ExportDocument

STDIN = "-"


def read_input(file: str, error_type: type[MemgraphError]) -> bytes:
    """Return the bytes of *file*; `-` is stdin.

    Raises:
        MemgraphError: Of type *error_type*, if the file cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise error_type(f"cannot read {file}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL byte in the name
        raise error_type(f"cannot read {file!r}: {error}") from error


def read_documents(file: str, error_type: type[MemgraphError]) -> list[ExportDocument]:
    """Return the documents of an export: *file*, or the memories below it if it is a folder.

    Raises:
        MemgraphError: Of type *error_type*, if a file cannot be read or the folder contains no memories.
    """
    root = Path(file)
    if file == STDIN or not root.is_dir():
        return [ExportDocument(display_name(file), read_input(file, error_type))]
    found = [*root.rglob("memory.json"), *(path for path in root.rglob("*.md") if "facts" in path.parts)]
    if not found:
        raise error_type(f"{file} contains neither memory.json files nor Markdown files in a folder named facts")
    return [ExportDocument(path.as_posix(), read_input(str(path), error_type)) for path in sorted(found)]


def display_name(file: str) -> str:
    """Return the name of *file* for messages."""
    return "stdin" if file == STDIN else file


def default_thread(file: str) -> str:
    """Return the default thread of a conversation: its file name without the suffix."""
    return "stdin" if file == STDIN else Path(file).stem


def write_private(path: Path, data: bytes) -> None:
    """Write *data* to a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
