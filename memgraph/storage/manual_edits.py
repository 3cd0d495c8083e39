"""Hand edits: telling what a person wrote from what a storage wrote, by the document and the last one written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memgraph.errors import DamagedMemoryError
from memgraph.storage.base import latest_deletion
from memgraph.storage.serialization import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from memgraph.models import Memory


@dataclass(frozen=True)
class FileBytes:
    """The bytes at a place; None where there is no file."""

    place: str
    data: bytes | None


@dataclass(frozen=True)
class FileState:
    """What a document says."""

    memory: Memory | None
    """None: there is no document."""
    recorded: bool
    """Whether the last one written says the same. If not, a person edited it."""
    revision: int
    """The highest revision known; that of *memory*, if there is one."""


def detect(document: FileBytes, last: FileBytes, decode: Callable[[bytes, str], Memory]) -> FileState:
    """Compare a *document* with the *last* one written, and give it its revision.

    The revision in a hand-edited document is whatever its writer left there, so the one in *last* counts.
    Only what a document says is compared, so that reformatting it is no edit.

    Raises:
        DamagedMemoryError: If *document* is damaged. A damaged *last* one counts as missing.
    """
    if document.data is not None and document.data == last.data:
        memory = decode(document.data, document.place)
        return FileState(memory, recorded=True, revision=memory.revision)
    known = _decode_if_possible(last, decode)
    if document.data is None:
        return FileState(None, recorded=True, revision=known.revision if known else 0)
    memory = decode(document.data, document.place)
    if known is None:
        return FileState(memory, recorded=False, revision=memory.revision)
    as_known = _marked_as(memory, known, revision=known.revision)
    if encode(as_known) == last.data:
        return FileState(as_known, recorded=True, revision=known.revision)
    edited = _marked_as(memory, known, revision=max(memory.revision, known.revision))
    return FileState(edited, recorded=False, revision=edited.revision)


def bump_revision(memory: Memory) -> Memory:
    """*memory* at the next revision, so that whatever was loaded before the edit is out of date."""
    return memory.model_copy(update={"revision": memory.revision + 1})


def _marked_as(memory: Memory, known: Memory, *, revision: int) -> Memory:
    forgotten = latest_deletion(memory.forgotten, known.forgotten)
    return memory.model_copy(update={"revision": revision, "forgotten": forgotten})


def _decode_if_possible(found: FileBytes, decode: Callable[[bytes, str], Memory]) -> Memory | None:
    if found.data is None:
        return None
    try:
        return decode(found.data, found.place)
    except DamagedMemoryError:
        return None
