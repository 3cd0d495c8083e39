"""One message of a conversation: who wrote it, its text, and whether memory may learn from it.

Content comes in the block formats of LangChain, OpenAI, Anthropic, Google and Bedrock. Text parts are joined;
everything else becomes a short placeholder such as `[image]`, so base64 never reaches a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
)
from pydantic import ValidationError

from memgraph._validation import field_errors, preview_value
from memgraph.analysis.dates import first_time
from memgraph.analysis.marks import BY_TOOL_KEY, locate_parts, marked_parts
from memgraph.analysis.normalize import clean, clean_visible, single_line
from memgraph.analysis.secrets import mask
from memgraph.errors import ConversationError
from memgraph.models import Span

UPLOADS = ("uploaded_files", "current_uploads")
"""Tags in which an application lists the files uploaded with a message."""

MEMORY = ("memory",)
"""Tags in which memory itself was injected."""

_OPENING = r"<{0}(?:\s[^<>]{{0,500}})?>"


def without_blocks(text: str, names: tuple[str, ...]) -> str:
    """Return *text* without every block `<name>...</name>`, in any case, and its content.

    A closing tag matches the nearest opening one, so `#include <memory>` opens nothing. An opening tag that is
    never closed removes the rest of the text if it is alone on its line, since a block was truncated there;
    anywhere else it only mentions the tag. Runs in linear time.
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


def _blocks(text: str, name: str) -> Iterator[tuple[int, int]]:
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
"""Types of text blocks, and the key of their text."""

MEDIA: Mapping[str, str] = MappingProxyType(
    {shape.format(kind): kind for kind in ("image", "audio", "video", "file") for shape in ("{}", "{}_url", "input_{}")}
    | dict.fromkeys(("document", "text-plain", "media", "container_upload"), "file")
)
"""Types of other blocks in LangChain, OpenAI, Anthropic, Google and Bedrock, and what kind of media they are."""

UNTYPED = ("text", "image", "document", "video", "audio")
"""Bedrock's blocks have no type: the key is the type."""

MAX_NAME_CHARS = 80

_SPACE = re.compile(r"\s+")
_DATA_URL = re.compile(
    r"data:([a-z]{1,20})/[\w.+-]{1,100}(?:;[\w=.-]{1,60}){0,4};base64,[A-Za-z0-9+/=_\-]*", re.IGNORECASE
)


def text_of(content: object) -> str:
    """Return the text of a message's content, its parts joined by a space; never base64 or hidden characters."""
    parts = cast("list[object]", content) if isinstance(content, list) else [content]
    texts = (_part_text(part) for part in parts)
    return clean_visible(" ".join(text for text in texts if text and not text.isspace()))


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return _without_data(part)
    return _block_text(cast("Block", part)) if isinstance(part, Mapping) else ""


def _block_text(block: Block) -> str:
    # LangChain wraps a block that it does not know as {"type": "non_standard", "value": block}
    inner = block.get("value") if block.get("type") == "non_standard" else block
    if not isinstance(inner, Mapping):
        return ""
    block = cast("Block", inner)
    kind = str(block.get("type") or next((key for key in UNTYPED if key in block), ""))
    if kind in TEXT_KEYS:
        text = block.get(TEXT_KEYS[kind])
        return _without_data(text) if isinstance(text, str) else ""
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
    """Return the file's name without its path, from the key that the provider uses."""
    nested = (block.get(key) for key in ("file", "extras", "metadata", "document"))
    blocks = [block, *(cast("Block", inner) for inner in nested if isinstance(inner, Mapping))]
    names = (inner.get(key) for inner in blocks for key in ("filename", "file_name", "name", "title"))
    name = next((name for name in names if isinstance(name, str) and name.strip()), "")
    return _SPACE.sub(" ", name[-1000:].replace("\\", "/").rsplit("/", 1)[-1]).strip(" []")[-MAX_NAME_CHARS:]


def _without_data(text: str) -> str:
    return _DATA_URL.sub(_named_kind, text) if "base64," in text else text


def _named_kind(match: re.Match[str]) -> str:
    kind = match[1].lower()
    return f"[{kind}]" if kind in {"image", "audio", "video"} else "[file]"


Role = Literal["human", "ai"]

ROLES: Mapping[str, Role] = MappingProxyType(
    {"user": "human", "human": "human", "assistant": "ai", "ai": "ai", "model": "ai"}
)
"""Roles of a ChatMessage that are the user's or the assistant's."""

TOOL_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"})
ANSWER_KEYS = (("request_id", "id"), ("kind", "response_kind"), ("value",))
"""What an answer to a clarification has: one key of each tuple, with a text that is not blank."""
TIME_KEYS = ("created_at", "timestamp", "date")
"""Keys of `additional_kwargs` and `response_metadata` with the time of a message."""
SUBMITTED_AT = "submitted_at"
"""The key of `additional_kwargs` with the time at which a message without a time of its own was submitted."""
INJECTED_NAMES = frozenset({"memory_context", "summary"})
_ONLY_FILES = re.compile(r"(?:\[(?:image|audio|video|file)(?:: [^\]]*)?\]\s*)*")


@dataclass(frozen=True, slots=True)
class MessageText:
    """The text of one message, without the blocks that an application added to it."""

    role: Role
    text: str
    id: str
    is_answer: bool
    """The user's answer to a question that the application asked on behalf of the assistant."""
    is_upload: bool
    """It consists of uploaded files only."""
    at: datetime | None = None
    """When it was written, or submitted; None if unknown."""
    speaker: str = ""
    """The name of another person who wrote it, see `speaker_of`."""
    spans: tuple[Span, ...] = ()
    """The parts that the application marked as not the author's own words."""
    by_tool: bool = False
    """Whether a model reports it, by a tool."""


def convert_message(item: object, name: str = "") -> list[AnyMessage]:
    """Return *item* as messages; *name* is what an error calls it, by default its beginning.

    Raises:
        ConversationError: If it is not a message. Pydantic's own error would quote it, on several lines.
    """
    try:
        return cast("list[AnyMessage]", convert_to_messages([cast("Any", item)]))
    except ValidationError as error:
        first = field_errors(error)[0]
        reason = f"{first.message} at {'.'.join(map(str, first.loc[:3]))}"
    except KeyError as error:
        reason = f"it has no {error.args[0]}"
    except (ValueError, TypeError, NotImplementedError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
    raise ConversationError(f"{name or preview_value(item)} is not a message: {reason}")


def read_messages(
    messages: Sequence[BaseMessage], *, user_names: Collection[str] = (), now: datetime | None = None
) -> list[MessageText | None]:
    """Return the text of each message; None for one that is not the user's or the assistant's, hidden or injected.

    Args:
        messages: Any messages.
        user_names: Names of the user; a human message with another name is another speaker's.
        now: Later times of a message are ignored.
    """
    return [_read_message(message, user_names, now) for message in messages]


def _read_message(message: BaseMessage, user_names: Collection[str], now: datetime | None) -> MessageText | None:
    role = role_of(message)
    if role is None or is_hidden(message) or is_injected(message):
        return None
    content, additional = cast("object", message.content), _additional(message)
    before = _without_memory(content)
    text = _without_uploads(before)
    times = [*_stated_times(additional, cast("object", message.response_metadata)), additional.get(SUBMITTED_AT)]
    return MessageText(
        role,
        text,
        clean(message.id) if isinstance(message.id, str) else "",
        is_answer=_is_answer(message),
        is_upload=text != before and _ONLY_FILES.fullmatch(text) is not None,
        at=first_time(times, now=now),
        speaker=speaker_of(message, user_names) if role == "human" else "",
        spans=locate_parts(marked_parts(content, additional), text, lambda one: _without_uploads(_without_memory(one))),
        by_tool=additional.get(BY_TOOL_KEY) is True,
    )


def _without_memory(content: object) -> str:
    return without_blocks(text_of(content), MEMORY).strip()


def _without_uploads(text: str) -> str:
    return mask(without_blocks(text, UPLOADS).strip())


def time_of(message: BaseMessage, *, now: datetime | None = None) -> datetime | None:
    """Return when *message* was written, if it has a time that is not before 1970 or after *now*."""
    return stated_time(_additional(message), cast("object", message.response_metadata), now=now)


def stated_time(*metadata: object, now: datetime | None = None) -> datetime | None:
    """Return the first valid time among TIME_KEYS of *metadata*, which are mappings; anything else has none."""
    return first_time(_stated_times(*metadata), now=now)


def _stated_times(*metadata: object) -> list[object]:
    mappings = [cast("Mapping[str, object]", data) for data in metadata if isinstance(data, Mapping)]
    return [data[key] for data in mappings for key in TIME_KEYS if key in data]


def speaker_of(message: BaseMessage, user_names: Collection[str]) -> str:
    """Return the name of *message*, on one line, if it is neither one of *user_names* nor a role such as "user"."""
    name = single_line(clean_visible(message.name)) if isinstance(message.name, str) else ""
    own = {known.casefold() for known in user_names}
    return "" if name.casefold() in own or ROLES.get(name.casefold()) == "human" else name[:MAX_NAME_CHARS]


def role_of(message: BaseMessage) -> Role | None:
    """Return the role of the author of *message*; None for system, tool and other messages."""
    if isinstance(message, HumanMessage):
        return "human"
    if isinstance(message, AIMessage):
        return "ai"
    return ROLES.get(message.role.lower()) if isinstance(message, ChatMessage) else None


def has_tool_calls(message: BaseMessage) -> bool:
    """Return whether *message* calls tools, in any of the formats in use, so that it is not a final answer."""
    extra = _additional(message)
    if extra.get("tool_calls") or extra.get("function_call"):
        return True
    if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        return True
    blocks = cast("list[object]", message.content) if isinstance(message.content, list) else []
    return any(_type(block) in TOOL_CALL_BLOCKS for block in blocks)


def is_hidden(message: BaseMessage) -> bool:
    """Return whether the application hid *message* from the user, and it is not the user's own answer."""
    return bool(_additional(message).get("hide_from_ui")) and not _is_answer(message)


def may_ask(message: BaseMessage) -> bool:
    """Return whether the user may be answering *message*: the assistant's, or that of a tool that asks."""
    return not is_hidden(message) and (isinstance(message, ToolMessage) or role_of(message) == "ai")


def is_injected(message: BaseMessage) -> bool:
    """Return whether *message* is injected memory or a summary."""
    metadata = (_additional(message), cast("object", message.response_metadata), getattr(message, "metadata", None))
    sources = (cast("Mapping[str, object]", data).get("lc_source") for data in metadata if isinstance(data, Mapping))
    return message.name in INJECTED_NAMES or "summarization" in sources


def _is_answer(message: BaseMessage) -> bool:
    """Return whether the user answered a clarification: the answer names the request and its kind, and has a value.

    A marker alone, such as `True`, is not an answer: applications set those on hidden messages of their own.
    """
    response = _additional(message).get("human_input_response")
    if role_of(message) != "human" or not isinstance(response, Mapping):
        return False
    answer = cast("Mapping[str, object]", response)
    return all(_has_one(answer, keys) for keys in ANSWER_KEYS)


def _has_one(answer: Mapping[str, object], keys: tuple[str, ...]) -> bool:
    values = (answer.get(key) for key in keys)
    return any(isinstance(value, str) and value.strip() for value in values)


def _additional(message: BaseMessage) -> Mapping[str, object]:
    return cast("Mapping[str, object]", message.additional_kwargs)


def _type(block: object) -> object:
    return cast("Mapping[str, object]", block).get("type") if isinstance(block, Mapping) else None
