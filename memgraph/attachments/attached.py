"""Data that came with a message, and the mark that stands for it in its block."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import cast

from pydantic import BaseModel, ConfigDict, JsonValue

Block = dict[str, object]

MARK = "$attached"
"""Key of the mapping that stands for data: its sha256."""
NOTHING = ""
"""What a mark says in the place of no bytes at all, which nobody attached."""
VERBATIM = "$verbatim"
"""Key of the mapping around one that looks like a mark, or like this, and is none."""


class Attached(BaseModel):
    """An image, a sound, a video or a file: its data, or where it lies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    """`image`, `audio`, `video` or `file`."""
    mime_type: str = ""
    size: int | None = None
    """Bytes; None where only a reference is known."""
    sha256: str = ""
    """Of the bytes, in hex; empty where only a reference is known."""
    reference: str = ""
    """A URL or a file id, where the message had no data."""
    data: str = ""
    """The bytes in base64."""


def put_together(blocks: Iterable[Mapping[str, JsonValue]], attachments: Iterable[Attached]) -> list[Block]:
    """Return the content blocks again, each piece of data in its place; a mark stays where its data is not at hand."""
    data = {NOTHING: "", **{attached.sha256: attached.data for attached in attachments if attached.data}}
    return [cast("Block", _restored(block, data)) for block in blocks]


def _restored(value: JsonValue | Mapping[str, JsonValue], data: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_restored(item, data) for item in value]
    if not isinstance(value, Mapping):
        return value
    if VERBATIM in value:
        return {key: _restored(item, data) for key, item in cast("Mapping[str, JsonValue]", value[VERBATIM]).items()}
    digest = value.get(MARK)
    if digest is None:
        return {key: _restored(item, data) for key, item in value.items()}
    if digest not in data:
        return dict(value)
    kept = data[cast("str", digest)]
    return base64.b64decode(kept) if value.get("bytes") else f"{value.get('prefix', '')}{kept}"
