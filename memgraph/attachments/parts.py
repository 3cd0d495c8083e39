"""Content blocks taken apart: what is words and keys, and what is data."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic import JsonValue

from memgraph.attachments.attached import MARK, NOTHING, VERBATIM, Attached
from memgraph.text.content import MEDIA, UNTYPED

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


def taken_apart(parts: Iterable[object]) -> tuple[tuple[Mapping[str, JsonValue], ...], tuple[Attached, ...]]:
    """Return *parts*, content blocks and texts, as blocks of JSON without data, and what was attached."""
    taker = _Taker()
    blocks = tuple(taker.block(part) for part in parts)
    return blocks, tuple(taker.attached.values())


class _Taker:
    """Goes through blocks, and collects what is attached to them: each content, and each reference, once."""

    def __init__(self) -> None:
        self.attached: dict[str, Attached] = {}

    def block(self, part: object) -> dict[str, JsonValue]:
        if not isinstance(part, Mapping):
            return {"type": "text", "text": part if isinstance(part, str) else str(part)}
        block = cast("Mapping[object, object]", part)
        return cast("dict[str, JsonValue]", self._value(block, _Place(kind=_kind_of(block))))

    def _value(self, value: object, place: _Place) -> JsonValue:
        if place.depth > MAX_DEPTH:
            return "[nested too deep]"
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), place)
        if isinstance(value, list | tuple):
            return [self._value(item, place.deeper()) for item in cast("Sequence[object]", value)]
        if isinstance(value, bytes | bytearray):
            return {MARK: self._keep(bytes(value), place) if value else NOTHING, "bytes": True}
        return self._text(value, place) if isinstance(value, str) else _plain(value)

    def _mapping(self, value: Mapping[object, object], place: _Place) -> JsonValue:
        inside = place.inside(value)
        walked: dict[str, JsonValue] = {str(key): self._value(item, inside.at(str(key))) for key, item in value.items()}
        return {VERBATIM: walked} if MARK in value or VERBATIM in value else walked

    def _text(self, text: str, place: _Place) -> JsonValue:
        """Keep data aside; all else stays where it is."""
        if header := _DATA_URL.match(text):
            data = _decoded(text[header.end() :])
            mime = header[1] or place.mime
            return text if data is None else {MARK: self._keep(data, place, mime), "prefix": header[0]}
        if place.key in _DATA_KEYS and not place.is_text and (place.kind or len(text) >= BIG):
            data = _decoded(text)
            return text if data is None else {MARK: self._keep(data, place)}
        if place.kind and (place.key in _PLACE_KEYS or (place.key == "id" and place.is_id)):
            self._refer(text, place)
        return text

    def _keep(self, data: bytes, place: _Place, mime: str = "") -> str:
        """Keep *data*, and return its name."""
        mime, digest = mime or place.mime, hashlib.sha256(data).hexdigest()
        self.attached.setdefault(
            digest,
            Attached(
                kind=_kind(mime, place.kind),
                mime_type=mime,
                size=len(data),
                sha256=digest,
                data=base64.b64encode(data).decode(),
            ),
        )
        return digest

    def _refer(self, where: str, place: _Place) -> None:
        kind = _kind(place.mime, place.kind)
        self.attached.setdefault(where, Attached(kind=kind, mime_type=place.mime, reference=where))


@dataclass(frozen=True)
class _Place:
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

    def at(self, key: str) -> _Place:
        return replace(self, key=key)

    def deeper(self) -> _Place:
        return replace(self, depth=self.depth + 1)

    def inside(self, mapping: Mapping[object, object]) -> _Place:
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
