"""Submissions: validated, and as the JSON in which they wait. Raw messages are merged before they are parsed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from memgraph.analysis.dates import parse_time
from memgraph.analysis.marks import SPANS_KEY, change_marked
from memgraph.analysis.message import SUBMITTED_AT, stated_time
from memgraph.analysis.normalize import clean
from memgraph.analysis.secrets import mask, mask_json
from memgraph.background.outbox import ConversationKey
from memgraph.errors import ConversationError, IdentityError
from memgraph.models import Scope, timestamp, validate_id
from memgraph.state import to_messages

Raw = Mapping[str, Any]
"""A message as JSON."""

MESSAGE_TYPES = frozenset(
    {"human", "ai", "system", "tool", "function", "chat"}
    | {f"{kind}MessageChunk" for kind in ("Human", "AI", "System", "Tool", "Function", "Chat")}
)
"""The message types that `load_messages` can parse."""

MAX_MEDIA_CHARS = 1_000
"""Characters kept of the data of an image, a file and the like: memory learns from text only."""


def validate_key(scope: object, thread_id: str | None) -> ConversationKey:
    """Return the key of a conversation.

    Raises:
        IdentityError: If *scope* is not a Scope, or *thread_id* may not be used.
    """
    if not isinstance(scope, Scope):
        raise IdentityError(f"scope is a {type(scope).__name__}, not a Scope: pass the owner, as in Scope('ada')")
    return ConversationKey(scope, validate_id(thread_id, "thread_id") if thread_id else None)


def validate_messages(conversation: Sequence[object] | object) -> list[AnyMessage]:
    """Return *conversation* as messages.

    Raises:
        ConversationError: If it is not a conversation, or contains a message type that cannot be stored.
    """
    is_list = isinstance(conversation, Sequence) and not isinstance(conversation, str | bytes)
    items = list(cast("Sequence[object]", conversation)) if is_list else [cast("object", conversation)]
    messages = to_messages(None, items)
    for index, message in enumerate(messages):
        if message.type not in MESSAGE_TYPES:
            raise ConversationError(f"messages[{index}] is a {type(message).__name__}, which cannot be stored")
    return messages


def dump_messages(messages: Sequence[BaseMessage]) -> str:
    """Return *messages* as JSON, secrets masked. A value that JSON cannot express becomes its repr.

    Raises:
        ConversationError: If a message is nested too deeply.
    """
    try:
        return f"[{','.join(map(_to_json, _mask_secrets(list(map(_strip_media, messages)))))}]"
    except RecursionError:
        raise ConversationError("a message has lists or objects within each other that are too deep to store") from None


def dump_submission(messages: Sequence[BaseMessage], at: object, now: float) -> str:
    """Return *messages*, submitted at *now*, as JSON; those without a time have the time *at*, unless it is None.

    Raises:
        ConversationError: If *at* is not a time, or a message is nested too deeply.
    """
    text = dump_messages(messages)
    return text if at is None else dump_raw(with_submission_time(load_raw(text), at, now))


def load_raw(text: str) -> list[Raw]:
    """Parse the JSON of `dump_messages` without creating message objects."""
    return json.loads(text)


def dump_raw(raw: Sequence[Raw]) -> str:
    """Return *raw* messages as JSON, the inverse of `load_raw`."""
    return json.dumps(list(raw), ensure_ascii=False)


def load_messages(raw: Sequence[Raw]) -> list[AnyMessage]:
    """Create message objects from *raw* messages."""
    return _adapter().validate_python(list(raw))


# -- times: a message without a time of its own has that of its first submission ------------------


def with_submission_time(raw: Sequence[Raw], at: object, now: float) -> list[Raw]:
    """Return *raw* messages with the time of their submission in those that have no time before *now*.

    Args:
        raw: The messages.
        at: The time that the submission was given; None, or a later one than *now*, is *now*.
        now: When it was made.

    Raises:
        ConversationError: If *at* is neither None nor a time.
    """
    latest = datetime.fromtimestamp(now, tz=UTC)
    given = latest if at is None else parse_time(at)
    if given is None:
        raise ConversationError(f"at is {at!r:.80}, which is not a time since 1970: pass a datetime")
    submitted_at = timestamp(min(given, latest))
    return [
        message if _own_time(message, latest) or _submitted_at(message) else _with_time(message, submitted_at)
        for message in raw
    ]


def with_first_time(message: Raw, earlier: Raw) -> Raw:
    """Return *message*; if it only has the time of its submission, with the time of its *earlier* version."""
    known, stated = _submitted_at(earlier) or _own_time(earlier), _submitted_at(message)
    return _with_time(message, timestamp(known)) if stated and known and known < stated else message


def is_same_text(one: Raw, other: Raw) -> bool:
    """Return whether two messages without ids are equal but for the times of their submission."""
    return one.get("content") == other.get("content") and _without_time(one) == _without_time(other)


def _own_time(message: Raw, now: datetime | None = None) -> datetime | None:
    extra, metadata = message.get("additional_kwargs"), message.get("response_metadata")
    return stated_time(extra, metadata, now=now) if extra or metadata else None


def _submitted_at(message: Raw) -> datetime | None:
    at = _extra(message).get(SUBMITTED_AT)
    return None if at is None else parse_time(at)


def _with_time(message: Raw, at: str) -> Raw:
    return {**message, "additional_kwargs": {**_extra(message), SUBMITTED_AT: at}}


def _without_time(message: Raw) -> Raw:
    extra = {key: value for key, value in _extra(message).items() if key != SUBMITTED_AT}
    return {**message, "additional_kwargs": extra}


def _extra(message: Raw) -> Mapping[str, object]:
    extra: object = message.get("additional_kwargs")
    return cast("Mapping[str, object]", extra) if isinstance(extra, Mapping) else {}


# -- JSON -----------------------------------------------------------------------------------------


def _to_json(message: BaseMessage) -> str:
    try:
        return message.model_dump_json(fallback=repr)
    except PydanticSerializationError:  # a lone surrogate, which UTF-8 cannot encode, becomes U+FFFD
        return clean(json.dumps(message.model_dump(), default=repr, ensure_ascii=False))


def _mask_secrets(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    known = [{name: value for name in _FIELDS if (value := getattr(message, name, None))} for message in messages]
    masked = [cast("dict[str, object]", mask_json(fields)) for fields in known]
    return [_with_changed(*each) for each in zip(messages, known, masked, strict=True)]


_FIELDS = ("content", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "artifact")


def _with_changed(message: BaseMessage, known: Mapping[str, object], masked: Mapping[str, object]) -> BaseMessage:
    content, extra = message.content, cast("Mapping[str, object]", masked.get("additional_kwargs", {}))
    if isinstance(content, str) and SPANS_KEY in extra:
        text, marked = change_marked(content, extra, mask)
        masked = {**masked, "content": text, "additional_kwargs": marked}
    changed = {name: value for name, value in masked.items() if value != known.get(name)}
    return message.model_copy(update=changed) if changed else message


def _strip_media(message: BaseMessage) -> BaseMessage:
    """Truncate the strings of blocks that are not text: images arrive as megabytes of base64."""
    content = message.content
    if isinstance(content, str):
        return message
    is_media = [isinstance(block, dict) and "text" not in block for block in content]
    blocks = [_truncate_strings(block) if cut else block for block, cut in zip(content, is_media, strict=True)]
    return message.model_copy(update={"content": blocks})


def _truncate_strings(value: object) -> object:
    if isinstance(value, str):
        return value[:MAX_MEDIA_CHARS]
    if isinstance(value, bytes):
        return ""
    if isinstance(value, dict):
        return {key: _truncate_strings(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_truncate_strings(item) for item in cast("list[object]", value)]
    return value


@cache
def _adapter() -> TypeAdapter[list[AnyMessage]]:
    return TypeAdapter(list[AnyMessage])
