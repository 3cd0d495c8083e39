"""Media data in messages: extracting it from content blocks, and restoring it."""

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
"""Key of a placeholder for data; its value is the sha256 of the data."""
EMPTY_DIGEST = ""
"""The digest in a placeholder for zero bytes, which have no attachment."""
ESCAPE_KEY = "$verbatim"
"""Key of a mapping around an original one that looks like a placeholder, or like this."""


class MediaAttachment(BaseModel):
    """An image, a sound, a video or a file: its data or a reference to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    """`image`, `audio`, `video` or `file`."""
    mime_type: str = ""
    size: int | None = None
    """Size in bytes; None for a reference."""
    sha256: str = ""
    """Hash of the bytes, in hex; empty for a reference."""
    reference: str = ""
    """A URL or a file id, if the message has no data."""
    data: str = ""
    """The bytes in base64."""


def restore_media(blocks: Iterable[Mapping[str, JsonValue]], attachments: Iterable[MediaAttachment]) -> list[Block]:
    """Return the original content blocks, with data for each placeholder; without its data, a placeholder stays."""
    data = {EMPTY_DIGEST: "", **{each.sha256: each.data for each in attachments if each.data}}
    return [cast("Block", _restore(block, data)) for block in blocks]


def _restore(value: JsonValue | Mapping[str, JsonValue], data: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_restore(item, data) for item in value]
    if not isinstance(value, Mapping):
        return value
    if ESCAPE_KEY in value:
        return {key: _restore(item, data) for key, item in cast("Mapping[str, JsonValue]", value[ESCAPE_KEY]).items()}
    digest = value.get(PLACEHOLDER_KEY)
    if digest is None:
        return {key: _restore(item, data) for key, item in value.items()}
    if digest not in data:
        return dict(value)
    encoded = data[cast("str", digest)]
    return base64.b64decode(encoded) if value.get("bytes") else f"{value.get('prefix', '')}{encoded}"


MAX_DEPTH = 60
MIN_BASE64_CHARS = 1_024
"""Base64 of at least this length is data in any block; in blocks of media it is data at any length."""

_DATA_KEYS = frozenset({"base64", "data", "file_data", "bytes", "blob"})
_REFERENCE_KEYS = frozenset(
    {"url", "image_url", "audio_url", "video_url", "file_url", "uri", "file_uri", "file_id", "fileId"}
)
_MIME_KEYS = ("mime_type", "mimeType", "media_type", "mediaType")
_DATA_URL = re.compile(r"data:([\w.+-]{1,100}/[\w.+-]{1,100})?(?:;[\w=.+-]{1,100}){0,8};base64,", re.IGNORECASE)
_KINDS = ("image", "audio", "video")


def extract_media(parts: Iterable[object]) -> tuple[tuple[Mapping[str, JsonValue], ...], tuple[MediaAttachment, ...]]:
    """Return *parts*, which are content blocks and texts, as JSON blocks without data, and the extracted media."""
    extractor = _MediaExtractor()
    blocks = tuple(extractor.block(part) for part in parts)
    return blocks, tuple(extractor.attachments.values())


class _MediaExtractor:
    """Walks through blocks and collects media: each content and each reference once."""

    def __init__(self) -> None:
        self.attachments: dict[str, MediaAttachment] = {}

    def block(self, part: object) -> dict[str, JsonValue]:
        if not isinstance(part, Mapping):
            return {"type": "text", "text": part if isinstance(part, str) else str(part)}
        block = cast("Mapping[object, object]", part)
        return cast("dict[str, JsonValue]", self._value(block, _BlockContext(kind=_block_kind(block))))

    def _value(self, value: object, context: _BlockContext) -> JsonValue:
        if context.depth > MAX_DEPTH:
            return "[nested too deep]"
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), context)
        if isinstance(value, list | tuple):
            return [self._value(item, context.deeper()) for item in cast("Sequence[object]", value)]
        if isinstance(value, bytes | bytearray):
            return {PLACEHOLDER_KEY: self._attach_data(bytes(value), context) if value else EMPTY_DIGEST, "bytes": True}
        return self._text(value, context) if isinstance(value, str) else _to_json(value)

    def _mapping(self, value: Mapping[object, object], context: _BlockContext) -> JsonValue:
        inner = context.inside(value)
        converted: dict[str, JsonValue] = {
            str(key): self._value(item, inner.at(str(key))) for key, item in value.items()
        }
        return {ESCAPE_KEY: converted} if PLACEHOLDER_KEY in value or ESCAPE_KEY in value else converted

    def _text(self, text: str, context: _BlockContext) -> JsonValue:
        """Extract data; return any other text unchanged."""
        if header := _DATA_URL.match(text):
            data = _decode(text[header.end() :])
            mime = header[1] or context.mime
            return (
                text if data is None else {PLACEHOLDER_KEY: self._attach_data(data, context, mime), "prefix": header[0]}
            )
        if context.key in _DATA_KEYS and not context.is_text and (context.kind or len(text) >= MIN_BASE64_CHARS):
            data = _decode(text)
            return text if data is None else {PLACEHOLDER_KEY: self._attach_data(data, context)}
        if context.kind and (context.key in _REFERENCE_KEYS or (context.key == "id" and context.is_id)):
            self._attach_reference(text, context)
        return text

    def _attach_data(self, data: bytes, context: _BlockContext, mime: str = "") -> str:
        """Add *data* to the attachments, and return its digest."""
        mime, digest = mime or context.mime, hashlib.sha256(data).hexdigest()
        self.attachments.setdefault(
            digest,
            MediaAttachment(
                kind=_kind(mime, context.kind),
                mime_type=mime,
                size=len(data),
                sha256=digest,
                data=base64.b64encode(data).decode(),
            ),
        )
        return digest

    def _attach_reference(self, reference: str, context: _BlockContext) -> None:
        kind = _kind(context.mime, context.kind)
        self.attachments.setdefault(reference, MediaAttachment(kind=kind, mime_type=context.mime, reference=reference))


@dataclass(frozen=True)
class _BlockContext:
    """The position of a value in a block."""

    kind: str = ""
    """Kind of media of the block; empty if it is not media."""
    key: str = ""
    mime: str = ""
    is_text: bool = False
    """Whether `data` of this mapping is text."""
    is_id: bool = False
    """Whether `id` of this mapping is the id of a file."""
    depth: int = 0

    def at(self, key: str) -> _BlockContext:
        return replace(self, key=key)

    def deeper(self) -> _BlockContext:
        return replace(self, depth=self.depth + 1)

    def inside(self, mapping: Mapping[object, object]) -> _BlockContext:
        return replace(
            self,
            depth=self.depth + 1,
            mime=_mime_type(mapping, self.kind) or self.mime,
            is_text="text" in (mapping.get("type"), mapping.get("source_type")),
            is_id=mapping.get("source_type") == "id",
        )


def _block_kind(block: Mapping[object, object]) -> str:
    """Return the kind of media of a block, also of one that LangChain wrapped because it does not know it."""
    inner = block.get("value")
    if block.get("type") == "non_standard" and isinstance(inner, Mapping):
        block = cast("Mapping[object, object]", inner)
    name = block.get("type") or next((key for key in UNTYPED if key in block), "")
    return MEDIA.get(name, "") if isinstance(name, str) else ""


def _mime_type(mapping: Mapping[object, object], kind: str) -> str:
    mime = next((value for key in _MIME_KEYS if isinstance(value := mapping.get(key), str)), "")
    format_ = mapping.get("format")  # OpenAI's audio and Bedrock's media have only this
    return f"{kind}/{format_}" if not mime and isinstance(format_, str) and kind in _KINDS else mime


def _kind(mime: str, kind: str) -> str:
    """Return the kind of media: that of the mime type, else that of the block."""
    main_type = mime.split("/", maxsplit=1)[0].lower()
    return main_type if main_type in _KINDS else kind or "file"


def _decode(text: str) -> bytes | None:
    """Decode *text*; None if encoding the bytes would not give the same text."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if data and base64.b64encode(data).decode() == text else None


def _to_json(value: object) -> JsonValue:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
