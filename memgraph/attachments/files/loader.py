"""What a file says, or why it cannot be read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 20_000_000
"""Of a file; a larger one is skipped, since it is a data set rather than a document."""

_LOOKED_AT = 8_192


class UnreadableFileError(Exception):
    """What a file holds is no text; the message says why."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """The text of a file."""

    text: str
    digest: str
    """sha256 of its bytes."""


def read_document(path: Path, encoding: str) -> SourceDocument:
    """Read a text file.

    Raises:
        UnreadableFileError: If it is too large, is no text, or not in that encoding.
        OSError: If it cannot be read at the moment.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableFileError(f"it has more than {MAX_BYTES:,} bytes")
    return SourceDocument(_decoded(data, encoding), hashlib.sha256(data).hexdigest())


def _decoded(data: bytes, encoding: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in data[:_LOOKED_AT] and "16" not in encoding and "32" not in encoding:
        raise UnreadableFileError("it is no text: there are zero bytes in it")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"it is not in {encoding}: byte {error.start:,} ({error.reason})") from error
    return text.removeprefix("\ufeff")
