"""Items of attachable memories, with snapshots of a node's input and output, whose media data is kept apart."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memgraph.analysis.message import MEDIA, UNTYPED, text_of
from memgraph.analysis.secrets import mask, mask_json
from memgraph.analysis.sentences import cut_at_sentence

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

Block = dict[str, object]

PLACEHOLDER_KEY = "$attached"
"""Key of a placeholder for data; its value is the sha256 of the data."""
EMPTY_DIGEST = ""
"""The digest in a placeholder for zero bytes, which have no attachment."""
ESCAPE_KEY = "$verbatim"
"""Key of a mapping around an original one that looks like a placeholder, or like this."""


def truncate(text: str, limit: int) -> str:
    """Return *text*, cut at a sentence end if it is longer than *limit* characters."""
    # sliced first, so that a long text costs no more than a short one
    return cut_at_sentence(text.strip()[: limit + 1], limit, len)


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class MediaAttachment(_Value):
    """An image, a sound, a video or a file: its data or a reference to it."""

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


class Snapshot(_Value):
    """The content of a message. Media data is stored apart from the blocks, once for each content."""

    text: str = ""
    """The text, with a placeholder such as `[image]` for everything else."""
    blocks: tuple[Mapping[str, JsonValue], ...] = ()
    """The content blocks, with a placeholder for each piece of data."""
    attachments: tuple[MediaAttachment, ...] = ()
    """The images, sounds and files in it."""

    def content(self) -> list[Block]:
        """Return content blocks equal to the original ones, but for secrets; a placeholder without its data stays."""
        data = {EMPTY_DIGEST: "", **{each.sha256: each.data for each in self.attachments if each.data}}
        return [cast("Block", _restore(block, data)) for block in self.blocks]

    def with_data(self, data: Mapping[str, str]) -> Snapshot:
        """Return this snapshot with the media data that *data* has, in base64, by the hash of the bytes."""
        parts = (part.model_copy(update={"data": data.get(part.sha256, "")}) for part in self.attachments)
        return self.model_copy(update={"attachments": tuple(parts)})


class MemoryItem(_Value):
    """An entry of a memory."""

    id: str
    content_summary: str
    """The text that prompts show."""
    input_snapshot: Snapshot | None = None
    output_snapshot: Snapshot | None = None
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    timestamp: str
    """Time of the update: ISO 8601 in UTC, to the microsecond, ending in Z."""
    embedding: tuple[float, ...] | None = None
    """Unit vector, if the memory has an embedding model."""
    embedding_model: str = ""
    """Name of that model; vectors of different models cannot be compared."""


def take_snapshot(content: BaseMessage | str | list[str | Block] | Block | None) -> Snapshot:
    """Take a snapshot of a message, or of its content.

    A text becomes a text block, as in LangChain. Secrets are masked; else blocks of any kind are stored unchanged.
    Values that JSON cannot represent are converted: a tuple to a list, an object to its text.
    """
    inner = getattr(content, "content", content)
    parts = cast("list[object]", inner) if isinstance(inner, list) else [inner]
    extractor = _MediaExtractor()
    blocks = mask_json([extractor.block(part) for part in parts if part not in (None, "")])
    masked = cast("list[Mapping[str, JsonValue]]", blocks)
    attachments = tuple(extractor.attachments.values())
    return Snapshot(text=mask(text_of(parts)), blocks=tuple(masked), attachments=attachments)


# -- media ----------------------------------------------------------------------------------------


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


class _MediaExtractor:
    """Returns blocks as JSON without the data in them, and collects the media: each content and reference once."""

    def __init__(self) -> None:
        self.attachments: dict[str, MediaAttachment] = {}

    def block(self, part: object) -> dict[str, JsonValue]:
        if not isinstance(part, Mapping):
            return {"type": "text", "text": part if isinstance(part, str) else str(part)}
        block = cast("Mapping[object, object]", part)
        return cast("dict[str, JsonValue]", self._value(block, _block_kind(block)))

    def _value(self, value: object, kind: str, mime: str = "", depth: int = 0) -> JsonValue:
        """Return a value of a block without data.

        Args:
            value: Any value.
            kind: Kind of media of the block; empty if it is not media.
            mime: The mime type that the mappings around *value* state.
            depth: The number of mappings and lists around it.
        """
        if depth > MAX_DEPTH:
            return "[nested too deep]"
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), kind, mime, depth)
        if isinstance(value, list | tuple):
            return [self._value(item, kind, mime, depth + 1) for item in cast("Sequence[object]", value)]
        if isinstance(value, bytes | bytearray):
            return {PLACEHOLDER_KEY: self._attach_data(bytes(value), kind, mime), "bytes": True}
        if isinstance(value, str):
            header = _DATA_URL.match(value)
            data = _decode(value[header.end() :]) if header else None
            if header and data:
                return {PLACEHOLDER_KEY: self._attach_data(data, kind, header[1] or mime), "prefix": header[0]}
        return value if value is None or isinstance(value, str | bool | int | float) else str(value)

    def _mapping(self, mapping: Mapping[object, object], kind: str, mime: str, depth: int) -> JsonValue:
        mime = _mime_type(mapping, kind) or mime
        has_text = "text" in (mapping.get("type"), mapping.get("source_type"))  # under the key of data
        has_file_id = mapping.get("source_type") == "id"
        converted: dict[str, JsonValue] = {}
        for key, value in mapping.items():
            converted[str(key)] = found = self._value(value, kind, mime, depth + 1)
            if not isinstance(found, str) or not isinstance(value, str):
                continue
            is_data = key in _DATA_KEYS and not has_text and (kind or len(value) >= MIN_BASE64_CHARS)
            if is_data and (data := _decode(value)):
                converted[str(key)] = {PLACEHOLDER_KEY: self._attach_data(data, kind, mime)}
            elif kind and (key in _REFERENCE_KEYS or (key == "id" and has_file_id)) and not _DATA_URL.match(value):
                reference = MediaAttachment(kind=_kind(mime, kind), mime_type=mime, reference=value)
                self.attachments.setdefault(value, reference)
        return {ESCAPE_KEY: converted} if PLACEHOLDER_KEY in mapping or ESCAPE_KEY in mapping else converted

    def _attach_data(self, data: bytes, kind: str, mime: str) -> str:
        """Add *data* to the attachments, and return its digest."""
        if not data:
            return EMPTY_DIGEST
        digest, encoded = hashlib.sha256(data).hexdigest(), base64.b64encode(data).decode()
        attachment = MediaAttachment(
            kind=_kind(mime, kind), mime_type=mime, size=len(data), sha256=digest, data=encoded
        )
        self.attachments.setdefault(digest, attachment)
        return digest


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
    except ValueError:
        return None
    return data if data and base64.b64encode(data).decode() == text else None
