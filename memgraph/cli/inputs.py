"""Reading the file a command is given."""

from __future__ import annotations

import sys
from pathlib import Path

from memgraph.errors import MemgraphError

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


def name_of(file: str) -> str:
    """What *file* is called in messages."""
    return "stdin" if file == STDIN else file


def stem_of(file: str) -> str:
    """The thread that a conversation is, where nobody says: its file's name without the ending."""
    return "stdin" if file == STDIN else Path(file).stem
