"""Bytes <-> Memory: the one form in which every storage keeps a document.

Reading is forgiving about form (a byte order mark, halves of surrogate pairs) and strict about damage:
what is not a memory document is an error that names the place, so that nobody saves over it.
"""

from __future__ import annotations

import codecs
import json
from typing import cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from memgraph._cache import LRUCache
from memgraph._validation import field_errors
from memgraph.errors import DamagedMemoryError
from memgraph.models import Memory


def encode(memory: Memory) -> bytes:
    """Write *memory* as JSON: camelCase, indent 2, non-ASCII as it is, a newline at the end.

    Raises:
        PydanticSerializationError: If it holds half a surrogate pair; `storable` has none.
    """
    return f"{memory.model_dump_json(by_alias=True, indent=2)}\n".encode()


def serialize(memory: Memory) -> tuple[Memory, bytes]:
    """Return *memory* as it will read when it is loaded again, and its bytes.

    Halves of surrogate pairs, which no file can hold, become U+FFFD.
    """
    try:
        return memory, encode(memory)
    except PydanticSerializationError:
        whole = Memory.model_validate(_with_whole_characters(memory.model_dump(by_alias=True)))
        return whole, encode(whole)


def decode(data: bytes, place: str) -> Memory:
    """Read the document found at *place*.

    Raises:
        DamagedMemoryError: If it is not UTF-8, not JSON, or not a memory. The reason quotes nothing of it.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        memory = _validate(data)
    except ValidationError as error:
        raise DamagedMemoryError(place, _first_reason(error)) from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DamagedMemoryError(place, f"it is not JSON in UTF-8 ({type(error).__name__})") from None
    return _with_possible_mark(memory)


def _validate(data: bytes) -> Memory:
    try:
        return Memory.model_validate_json(data)
    except ValidationError as error:
        if field_errors(error)[0].type != "json_invalid" or b"\\u" not in data:
            raise
        # Python's json writes and reads half a surrogate pair, which pydantic's parser takes for bad JSON.
        return Memory.model_validate(_with_whole_characters(json.loads(data.decode())))


def _first_reason(error: ValidationError) -> str:
    first = field_errors(error)[0]
    return f"{first.message} at {first.path}" if first.path else first.message


def _with_whole_characters(value: object) -> object:
    """Return *value* with pairs of surrogates joined and halves replaced, in every text it holds."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return {_with_whole_characters(key): _with_whole_characters(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_with_whole_characters(item) for item in cast("list[object]", value)]
    return value


def _with_possible_mark(memory: Memory) -> Memory:
    """A deletion cannot be newer than the document: such a mark would refuse every save to come."""
    mark = memory.forgotten
    if mark is None or mark.revision <= memory.revision:
        return memory
    return memory.model_copy(update={"forgotten": mark.model_copy(update={"revision": memory.revision})})


class DocumentCache:
    """Recently read or written documents, so that an unchanged one is not parsed again.

    Parsing 1,000 facts takes 15 ms. The bytes are read every time and compared, so a stale document is never
    returned; values are frozen and therefore shared.

    Args:
        max_entries: The number of documents kept, the most recently used ones.
    """

    def __init__(self, max_entries: int = 32) -> None:
        self._parsed: LRUCache[str, tuple[bytes, Memory]] = LRUCache(max_entries)

    def decode(self, data: bytes, place: str) -> Memory:
        """Read the document at *place*, as `decode` does."""
        known = self._parsed.get(place)
        if known and known[0] == data:
            return known[1]
        memory = decode(data, place)
        self.put(data, place, memory)
        return memory

    def put(self, data: bytes, place: str, memory: Memory) -> None:
        """Note that *data*, at *place*, reads as *memory*."""
        self._parsed.put(place, (data, memory))
