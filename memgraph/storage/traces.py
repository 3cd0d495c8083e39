"""Search for erased texts in stored bytes: in files, in free pages and logs of SQLite, and in tables.

A text is searched by fragments: pieces that every encoding stores unbroken, since they have no character that JSON
escapes. Letters beyond ASCII are searched as UTF-8 and as JSON escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from memgraph.storage.atomic_file import wrap_os_errors

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

MIN_FRAGMENT_BYTES = 12
"""A shorter text is not searched, since it may be common to several users."""
MAX_FRAGMENT_CHARS = 48
MAX_FRAGMENTS = 1_000
"""Fragments that are searched; the longest ones, since each takes a pass over the bytes."""
TEXT_KEYS = frozenset({"content", "quote", "summary", "summaries", "text", "content_summary"})
"""The keys of documents, messages, items and proposals whose values are sentences."""
_BLOCK = 8 * 1024 * 1024
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f\ud800-\udfff]+')

SELECT_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'"


class TraceCount(NamedTuple):
    """How many fragments of erased texts were found."""

    remaining: int = 0
    """Left of the erased user."""
    of_others: int = 0
    """Stored for another user, who has the same words."""


def fragments_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return a fragment of each of *texts* that is long enough, without duplicates, at most MAX_FRAGMENTS."""
    pieces = {max(_ESCAPED.split(text), key=len).strip()[:MAX_FRAGMENT_CHARS].strip() for text in texts}
    long_enough = (piece for piece in pieces if len(piece.encode()) >= MIN_FRAGMENT_BYTES)
    return tuple(sorted(long_enough, key=lambda piece: (-len(piece), piece))[:MAX_FRAGMENTS])


def texts_in(value: object, *, is_text: bool = False) -> list[str]:
    """Return the sentences in a JSON value: the strings under TEXT_KEYS; ids and times are none.

    Args:
        value: Any JSON value.
        is_text: Whether *value* itself is under one of them.
    """
    if isinstance(value, str):
        return [value] if is_text else []
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return [text for key, item in items for text in texts_in(item, is_text=is_text or key in TEXT_KEYS)]
    if isinstance(value, list | tuple):
        return [text for item in cast("Sequence[object]", value) for text in texts_in(item, is_text=is_text)]
    return []


def find_in_bytes(data: bytes, fragments: Collection[str]) -> set[str]:
    """Return those of *fragments* that *data* has in any encoding."""
    return {fragment for fragment in fragments if any(variant in data for variant in _encodings(fragment))}


def find_in_files(paths: Iterable[Path], fragments: Collection[str]) -> set[str]:
    """Return those of *fragments* that any of the files has; missing files have none.

    Raises:
        StorageError: If a file cannot be read.
    """
    found: set[str] = set()
    for path in paths:
        for block in _blocks(path, _overlap(fragments)):
            found |= find_in_bytes(block, set(fragments) - found)
    return found


def find_in_rows(db: sqlite3.Connection, fragments: Collection[str]) -> set[str]:
    """Return those of *fragments* that a row of any table has."""
    found: set[str] = set()
    for (table,) in db.execute(SELECT_TABLES).fetchall() if fragments else ():
        columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")').fetchall()]
        has = " OR ".join(f'instr(CAST("{column}" AS BLOB), :fragment)' for column in columns)
        statement = f'SELECT 1 FROM "{table}" WHERE {has} LIMIT 1'  # noqa: S608 - names from the schema of the file
        for fragment in set(fragments) - found:
            if any(db.execute(statement, {"fragment": variant}).fetchone() for variant in _encodings(fragment)):
                found.add(fragment)
    return found


def text_variants(fragment: str) -> Sequence[str]:
    """Return how *fragment* may stand in a text column: as it is, in JSON, and in JSON within JSON."""
    escaped = json.dumps(fragment)[1:-1]
    return (fragment,) if escaped == fragment else (fragment, escaped, escaped.replace("\\", "\\\\"))


def _encodings(fragment: str) -> list[bytes]:
    return [variant.encode() for variant in text_variants(fragment)]


def _overlap(fragments: Collection[str]) -> int:
    """Return the length of the longest encoding, so that none is missed between two blocks."""
    return max((len(variant) for fragment in fragments for variant in _encodings(fragment)), default=0)


def _blocks(path: Path, overlap: int) -> Iterator[bytes]:
    with wrap_os_errors(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return
        with file:
            tail = b""
            while block := file.read(_BLOCK):
                yield tail + block
                tail = block[-overlap:] if overlap else b""
