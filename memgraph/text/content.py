"""What a message says in words: its text parts, and a short placeholder for whatever is not text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import cast

from memgraph.text.normalize import clean

Span = tuple[int, int]

UPLOADS = ("uploaded_files", "current_uploads")
"""Where an application lists the files that came with a message."""

MEMORY = ("memory",)
"""Where memory itself was injected."""


_OPENING = r"<{0}(?:\s[^<>]{{0,500}})?>"


def without_blocks(text: str, names: tuple[str, ...]) -> str:
    """Return *text* less every block `<name>...</name>`, in any case, with what is in it.

    A closing tag belongs to the nearest opening one, so that `#include <memory>` opens nothing. An opening
    tag that is never closed takes the rest of the text with it where it stands alone on its line - there a
    block was cut short - and is a mention of the tag everywhere else. Each tag is looked at once.
    """
    if "<" not in text:
        return text
    spans = sorted(span for name in names for span in _blocks(text, name))
    kept, end = list[str](), 0
    for start, stop in spans:
        kept.append(text[end:start])
        end = max(end, stop)
    return "".join([*kept, text[end:]])


@cache
def _tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s*>|{_OPENING.format(name)}", re.IGNORECASE)


def _blocks(text: str, name: str) -> Iterator[Span]:
    opened: list[re.Match[str]] = []
    for tag in _tag(name).finditer(text):
        if not tag[0].startswith("</"):
            opened.append(tag)
        elif opened:
            yield opened.pop().start(), tag.end()
    alone = {tag.start(1) for tag in _lone_tag(name).finditer(text)} if opened else frozenset[int]()
    if (cut := next((tag.start() for tag in opened if tag.start() in alone), None)) is not None:
        yield cut, len(text)


@cache
def _lone_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*({_OPENING.format(name)})[ \t]*$", re.IGNORECASE | re.MULTILINE)


Block = Mapping[str, object]

TEXT_KEYS: Mapping[str, str] = MappingProxyType(
    {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
)
"""Blocks that are words, and the key that holds them."""

MEDIA: Mapping[str, str] = MappingProxyType(
    {
        "image": "image",
        "image_url": "image",
        "input_image": "image",
        "audio": "audio",
        "audio_url": "audio",
        "input_audio": "audio",
        "video": "video",
        "video_url": "video",
        "input_video": "video",
        "file": "file",
        "file_url": "file",
        "input_file": "file",
        "document": "file",
        "text-plain": "file",
        "media": "file",
        "container_upload": "file",
    }
)
"""Blocks that are not words, in the shapes of LangChain, OpenAI, Anthropic, Google and Bedrock, and what they are."""

UNTYPED = ("text", "image", "document", "video", "audio")
"""Bedrock names no type: the key that is there is the type."""

MAX_NAME_CHARS = 80

_DATA_URL = re.compile(
    r"data:([a-z]{1,20})/[\w.+-]{1,100}(?:;[\w=.-]{1,60}){0,4};base64,[A-Za-z0-9+/=_\-]*", re.IGNORECASE
)
_SPACE = re.compile(r"\s+")


def text_of(content: object) -> str:
    """Return the words of a message's content, its parts joined by a space; never base64."""
    parts = cast("list[object]", content) if isinstance(content, list) else [content]
    said = (_part(part) for part in parts)
    return clean(" ".join(words for words in said if words and not words.isspace()))


def _part(part: object) -> str:
    if isinstance(part, str):
        return _without_data(part)
    return _block(cast("Block", part)) if isinstance(part, Mapping) else ""


def _block(block: Block) -> str:
    if block.get("type") != "non_standard":
        return _typed(block)
    inner = block.get("value")
    return _typed(cast("Block", inner)) if isinstance(inner, Mapping) else ""


def _typed(block: Block) -> str:
    """Read a block that wraps no other."""
    kind = str(block.get("type") or next((key for key in UNTYPED if key in block), ""))
    if kind in TEXT_KEYS:
        words = block.get(TEXT_KEYS[kind])
        return _without_data(words) if isinstance(words, str) else ""
    return _placeholder(block, MEDIA[kind]) if kind in MEDIA else ""


def _placeholder(block: Block, kind: str) -> str:
    if kind == "file":
        kind = _kind_by_mime(block)
    name = _file_name(block) if kind == "file" else ""
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _kind_by_mime(block: Block) -> str:
    mime = block.get("mime_type") or block.get("mimeType")
    kind = mime.split("/")[0] if isinstance(mime, str) else ""
    return kind if kind in {"image", "audio", "video"} else "file"


def _file_name(block: Block) -> str:
    """Return the last part of the name that a file goes by, wherever its block keeps it."""
    inside = (block.get(key) for key in ("file", "extras", "metadata", "document"))
    places = [block, *(cast("Block", place) for place in inside if isinstance(place, Mapping))]
    names = (place.get(key) for place in places for key in ("filename", "file_name", "name", "title"))
    name = next((name for name in names if isinstance(name, str) and name.strip()), "")
    return _SPACE.sub(" ", name[-1000:].replace("\\", "/").rsplit("/", 1)[-1]).strip(" []")[-MAX_NAME_CHARS:]


def _without_data(text: str) -> str:
    return _DATA_URL.sub(_named_kind, text) if "base64," in text else text


def _named_kind(match: re.Match[str]) -> str:
    kind = match[1].lower()
    return f"[{kind}]" if kind in {"image", "audio", "video"} else "[file]"
