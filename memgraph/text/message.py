"""One message of a conversation as it was said: by whom, in which words, and whether it counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, cast

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage

from memgraph.text.content import MEMORY, UPLOADS, text_of, without_blocks
from memgraph.text.normalize import clean

Role = Literal["human", "ai"]

ROLES: Mapping[str, Role] = MappingProxyType(
    {"user": "human", "human": "human", "assistant": "ai", "ai": "ai", "model": "ai"}
)
"""The roles of a ChatMessage that are a person's or the assistant's."""

TOOL_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"})
INJECTED_NAMES = frozenset({"memory_context", "summary"})
_ONLY_FILES = re.compile(r"(?:\[(?:image|audio|video|file)(?:: [^\]]*)?\]\s*)*")


@dataclass(frozen=True, slots=True)
class MessageText:
    """What one message says, without what machines put into it."""

    role: Role
    text: str
    id: str
    is_answer: bool
    """A person's answer to a question that the application asked for the assistant."""
    is_upload: bool
    """Nothing but files."""


def read_message(message: BaseMessage) -> MessageText | None:
    """Return what a person or the assistant says in *message*; None where it is a machine's, or hidden."""
    role = role_of(message)
    if role is None or is_hidden(message) or is_injected(message):
        return None
    whole = text_of(message.content)
    remembered = without_blocks(whole, MEMORY).strip()
    text = without_blocks(remembered, UPLOADS).strip()
    is_upload = text != remembered and _ONLY_FILES.fullmatch(text) is not None
    own_id = clean(message.id) if isinstance(message.id, str) else ""
    return MessageText(role, text, own_id, is_answer=_is_answer(message), is_upload=is_upload)


def role_of(message: BaseMessage) -> Role | None:
    """Return who speaks in *message*, None for a machine."""
    if isinstance(message, HumanMessage):
        return "human"
    if isinstance(message, AIMessage):
        return "ai"
    return ROLES.get(message.role.lower()) if isinstance(message, ChatMessage) else None


def has_tool_calls(message: BaseMessage) -> bool:
    """Tell whether the assistant goes on working after *message*, in any of the ways a call was ever written down."""
    extra = _extra(message)
    if extra.get("tool_calls") or extra.get("function_call"):
        return True
    if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        return True
    blocks = cast("list[object]", message.content) if isinstance(message.content, list) else []
    return any(_type(block) in TOOL_CALL_BLOCKS for block in blocks)


def is_hidden(message: BaseMessage) -> bool:
    """Tell whether *message* was kept from the user's eyes, and is not the user's own answer."""
    return bool(_extra(message).get("hide_from_ui")) and not _is_answer(message)


def is_injected(message: BaseMessage) -> bool:
    """Tell whether *message* is memory, or a summary, that was put into the conversation."""
    places = (_extra(message), cast("object", message.response_metadata), getattr(message, "metadata", None))
    sources = (cast("Mapping[str, object]", place).get("lc_source") for place in places if isinstance(place, Mapping))
    return message.name in INJECTED_NAMES or "summarization" in sources


def _is_answer(message: BaseMessage) -> bool:
    response = _extra(message).get("human_input_response")
    return role_of(message) == "human" and response is not None and response is not False


def _extra(message: BaseMessage) -> Mapping[str, object]:
    return cast("Mapping[str, object]", message.additional_kwargs)


def _type(block: object) -> object:
    return cast("Mapping[str, object]", block).get("type") if isinstance(block, Mapping) else None
