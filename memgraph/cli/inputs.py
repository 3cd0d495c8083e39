"""Reading the file a command is given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.errors import MemgraphError

if TYPE_CHECKING:
    from memgraph.moving import Document

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


def read_documents(file: str, refusal: type[MemgraphError]) -> list[Document]:
    """Return what an export is made of: *file*, or the memories below it where it is a folder.

    Raises:
        MemgraphError: Of the type *refusal*, if it cannot be read, or a folder holds none.
    """
    from memgraph.moving import Document

    root = Path(file)
    if file == STDIN or not root.is_dir():
        return [Document(name_of(file), read_input(file, refusal))]
    found = [*root.rglob("memory.json"), *(path for path in root.rglob("*.md") if "facts" in path.parts)]
    if not found:
        raise refusal(f"{file} holds no memory.json, and no Markdown files in a folder called facts")
    return [Document(path.as_posix(), read_input(str(path), refusal)) for path in sorted(found)]


def name_of(file: str) -> str:
    """What *file* is called in messages."""
    return "stdin" if file == STDIN else file


def stem_of(file: str) -> str:
    """The thread that a conversation is, where nobody says: its file's name without the ending."""
    return "stdin" if file == STDIN else Path(file).stem
