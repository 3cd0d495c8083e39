"""Data that came with a message, and the mark that stands for it in its block."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic import BaseModel, ConfigDict, JsonValue

from memgraph.text.message import MEDIA, UNTYPED

Block = dict[str, object]

PLACEHOLDER_KEY = "$attached"
"""Key of the mapping that stands for data: its sha256."""
NOTHING = ""
"""What a mark says in the place of no bytes at all, which nobody attached."""
ESCAPE_KEY = "$verbatim"
"""Key of the mapping around one that looks like a mark, or like this, and is none."""


class MediaAttachment(BaseModel):
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


def restore_media(blocks: Iterable[Mapping[str, JsonValue]], attachments: Iterable[MediaAttachment]) -> list[Block]:
    """Return the content blocks again, each piece of data in its place; a mark stays where its data is not at hand."""
    data = {NOTHING: "", **{attached.sha256: attached.data for attached in attachments if attached.data}}
    return [cast("Block", _restored(block, data)) for block in blocks]


def _restored(value: JsonValue | Mapping[str, JsonValue], data: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_restored(item, data) for item in value]
    if not isinstance(value, Mapping):
        return value
    if ESCAPE_KEY in value:
        return {key: _restored(item, data) for key, item in cast("Mapping[str, JsonValue]", value[ESCAPE_KEY]).items()}
    digest = value.get(PLACEHOLDER_KEY)
    if digest is None:
        return {key: _restored(item, data) for key, item in value.items()}
    if digest not in data:
        return dict(value)
    kept = data[cast("str", digest)]
    return base64.b64decode(kept) if value.get("bytes") else f"{value.get('prefix', '')}{kept}"


MAX_DEPTH = 60
BIG = 1_024
"""Characters from which base64 is data wherever it stands; in images, sounds and files it is at any length."""

_DATA_KEYS = frozenset({"base64", "data", "file_data", "bytes", "blob"})
_PLACE_KEYS = frozenset(
    {"url", "image_url", "audio_url", "video_url", "file_url", "uri", "file_uri", "file_id", "fileId"}
)
_MIME_KEYS = ("mime_type", "mimeType", "media_type", "mediaType")
_DATA_URL = re.compile(r"data:([\w.+-]{1,100}/[\w.+-]{1,100})?(?:;[\w=.+-]{1,100}){0,8};base64,", re.IGNORECASE)
_KINDS = ("image", "audio", "video")


def extract_media(parts: Iterable[object]) -> tuple[tuple[Mapping[str, JsonValue], ...], tuple[MediaAttachment, ...]]:
    """Return *parts*, content blocks and texts, as blocks of JSON without data, and what was attached."""
    taker = _MediaExtractor()
    blocks = tuple(taker.block(part) for part in parts)
    return blocks, tuple(taker.attached.values())


class _MediaExtractor:
    """Goes through blocks, and collects what is attached to them: each content, and each reference, once."""

    def __init__(self) -> None:
        self.attached: dict[str, MediaAttachment] = {}

    def block(self, part: object) -> dict[str, JsonValue]:
        if not isinstance(part, Mapping):
            return {"type": "text", "text": part if isinstance(part, str) else str(part)}
        block = cast("Mapping[object, object]", part)
        return cast("dict[str, JsonValue]", self._value(block, _BlockContext(kind=_kind_of(block))))

    def _value(self, value: object, place: _BlockContext) -> JsonValue:
        if place.depth > MAX_DEPTH:
            return "[nested too deep]"
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), place)
        if isinstance(value, list | tuple):
            return [self._value(item, place.deeper()) for item in cast("Sequence[object]", value)]
        if isinstance(value, bytes | bytearray):
            return {PLACEHOLDER_KEY: self._keep(bytes(value), place) if value else NOTHING, "bytes": True}
        return self._text(value, place) if isinstance(value, str) else _plain(value)

    def _mapping(self, value: Mapping[object, object], place: _BlockContext) -> JsonValue:
        inside = place.inside(value)
        walked: dict[str, JsonValue] = {str(key): self._value(item, inside.at(str(key))) for key, item in value.items()}
        return {ESCAPE_KEY: walked} if PLACEHOLDER_KEY in value or ESCAPE_KEY in value else walked

    def _text(self, text: str, place: _BlockContext) -> JsonValue:
        """Keep data aside; all else stays where it is."""
        if header := _DATA_URL.match(text):
            data = _decoded(text[header.end() :])
            mime = header[1] or place.mime
            return text if data is None else {PLACEHOLDER_KEY: self._keep(data, place, mime), "prefix": header[0]}
        if place.key in _DATA_KEYS and not place.is_text and (place.kind or len(text) >= BIG):
            data = _decoded(text)
            return text if data is None else {PLACEHOLDER_KEY: self._keep(data, place)}
        if place.kind and (place.key in _PLACE_KEYS or (place.key == "id" and place.is_id)):
            self._refer(text, place)
        return text

    def _keep(self, data: bytes, place: _BlockContext, mime: str = "") -> str:
        """Keep *data*, and return its name."""
        mime, digest = mime or place.mime, hashlib.sha256(data).hexdigest()
        self.attached.setdefault(
            digest,
            MediaAttachment(
                kind=_kind(mime, place.kind),
                mime_type=mime,
                size=len(data),
                sha256=digest,
                data=base64.b64encode(data).decode(),
            ),
        )
        return digest

    def _refer(self, where: str, place: _BlockContext) -> None:
        kind = _kind(place.mime, place.kind)
        self.attached.setdefault(where, MediaAttachment(kind=kind, mime_type=place.mime, reference=where))


@dataclass(frozen=True)
class _BlockContext:
    """Where in a block something stands."""

    kind: str = ""
    """Of the block; empty where it is of no medium."""
    key: str = ""
    mime: str = ""
    is_text: bool = False
    """Whether what is called data here is text."""
    is_id: bool = False
    """Whether what is called id here is that of a file."""
    depth: int = 0

    def at(self, key: str) -> _BlockContext:
        return replace(self, key=key)

    def deeper(self) -> _BlockContext:
        return replace(self, depth=self.depth + 1)

    def inside(self, mapping: Mapping[object, object]) -> _BlockContext:
        return replace(
            self,
            depth=self.depth + 1,
            mime=_mime_of(mapping, self.kind) or self.mime,
            is_text="text" in (mapping.get("type"), mapping.get("source_type")),
            is_id=mapping.get("source_type") == "id",
        )


def _kind_of(block: Mapping[object, object]) -> str:
    """The medium of a block, also of one that LangChain wrapped since it does not know it."""
    inner = block.get("value")
    if block.get("type") == "non_standard" and isinstance(inner, Mapping):
        block = cast("Mapping[object, object]", inner)
    name = block.get("type") or next((key for key in UNTYPED if key in block), "")
    return MEDIA.get(name, "") if isinstance(name, str) else ""


def _mime_of(mapping: Mapping[object, object], kind: str) -> str:
    said = next((value for key in _MIME_KEYS if isinstance(value := mapping.get(key), str)), "")
    ending = mapping.get("format")  # OpenAI's audio and Bedrock's media say no more
    return f"{kind}/{ending}" if not said and isinstance(ending, str) and kind in _KINDS else said


def _kind(mime: str, kind: str) -> str:
    """The medium: what the mime type says, else the block."""
    named = mime.split("/", maxsplit=1)[0].lower()
    return named if named in _KINDS else kind or "file"


def _decoded(text: str) -> bytes | None:
    """The bytes of *text*; None where they would not give the same text again."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if data and base64.b64encode(data).decode() == text else None


def _plain(value: object) -> JsonValue:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
