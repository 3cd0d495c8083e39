"""Reading the text of a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 20_000_000
"""Maximum size of a file; a larger one is skipped, since it is more likely data than a document."""

_SNIFFED_BYTES = 8_192


class UnreadableFileError(Exception):
    """A file is not a readable text; the message has the reason."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """The text of a file."""

    text: str
    digest: str
    """The sha256 of its bytes."""


def read_document(path: Path, encoding: str) -> SourceDocument:
    """Read a text file.

    Raises:
        UnreadableFileError: If it is too large, is not a text, or is not in *encoding*.
        OSError: If it cannot be read now.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableFileError(f"it has more than {MAX_BYTES:,} bytes")
    return SourceDocument(_decode(data, encoding), hashlib.sha256(data).hexdigest())


def _decode(data: bytes, encoding: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in data[:_SNIFFED_BYTES] and "16" not in encoding and "32" not in encoding:
        raise UnreadableFileError("it is not a text: it contains zero bytes")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"it is not in {encoding}: byte {error.start:,} ({error.reason})") from error
    return text.removeprefix("\ufeff")
