"""Every conversation format is read; errors name the line or item."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage, messages_to_dict

from memgraph.analysis.turns import turns_of
from memgraph.errors import ConversationError
from memgraph.importers.conversation import read_conversation

CALL: dict[str, Any] = {"name": "search", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}
LANGCHAIN: list[BaseMessage] = [
    HumanMessage("Hi, I am Ada.", id="m1"),
    AIMessage("", tool_calls=[CALL], id="m2"),
    ToolMessage("found", tool_call_id="c1"),
    AIMessage("Hello!", id="m4"),
]
OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "x"}}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "assistant", "content": "Hello!"},
]
KINDS = ["system", "human", "ai", "tool", "ai"]


def read(data: object) -> list[BaseMessage]:
    raw = data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else json.dumps(data).encode()
    return list(read_conversation(raw, "file"))


def test_openai_format() -> None:
    messages = read(OPENAI)

    assert [message.type for message in messages] == KINDS
    assert isinstance(messages[2], AIMessage)
    assert messages[2].tool_calls == [CALL]


def test_object_with_messages() -> None:
    assert [message.type for message in read({"model": "gpt", "messages": OPENAI})] == KINDS


def test_jsonl() -> None:
    lines = "\r\n".join(json.dumps(message) for message in OPENAI)

    assert [message.type for message in read(f"{lines}\n\n")] == KINDS


def test_single_message() -> None:
    assert [message.text for message in read({"role": "user", "content": "Hi"})] == ["Hi"]


@pytest.mark.parametrize("key", ["created_at", "timestamp", "date"])
@pytest.mark.parametrize("at", ["2023-05-08T13:56:00Z", 1_683_554_160])
def test_messages_keep_their_times(key: str, at: object) -> None:
    """So that a memory of 2023 is learned from a conversation of 2023."""
    message = {"role": "user", "content": "I live in Oslo.", key: at}

    assert [turn.at for turn in turns_of(read([message]))] == ["2023-05-08T13:56:00Z"]
    assert [turn.at for turn in turns_of(read(f"{json.dumps(message)}\n{json.dumps(message)}"))] == [
        "2023-05-08T13:56:00Z"
    ] * 2


def test_date_of_a_conversation_is_that_of_messages_without_one() -> None:
    """A time that is impossible counts as none."""
    messages = [
        {"role": "user", "content": "One", "timestamp": "2023-05-09"},
        {"role": "user", "content": "Two"},
        {"role": "user", "content": "Three", "timestamp": "soon"},
    ]

    turns = turns_of(read({"date": "2023-05-08", "messages": messages}))

    assert [turn.at[:10] for turn in turns] == ["2023-05-09", "2023-05-08", "2023-05-08"]


def test_conversation_with_an_impossible_date_is_read_without_one() -> None:
    assert [turn.at for turn in turns_of(read({"date": "soon", "messages": OPENAI[1:2]}))] == [""]


@pytest.mark.parametrize("dump", [messages_to_dict, dumpd, lambda messages: [item.model_dump() for item in messages]])
def test_langchain_dumps(dump: Any) -> None:
    """Ids and tool calls are kept, so that nothing is learned twice and no call is taken for an answer."""
    messages = read(dump(LANGCHAIN))

    assert [(message.type, message.id) for message in messages] == [(message.type, message.id) for message in LANGCHAIN]
    assert messages[1].tool_calls == [CALL]  # type: ignore[attr-defined]


def test_a_dumped_chat_message_keeps_its_role() -> None:
    assert [message.type for message in read(dumpd([ChatMessage("Hi", role="user")]))] == ["human"]


def test_only_messages_are_constructed_from_a_dump() -> None:
    """A dump names classes; the constructor of another class could do anything."""
    evil = {"lc": 1, "type": "constructor", "id": ["langchain_core", "prompts", "PromptTemplate"], "kwargs": {}}

    with pytest.raises(ConversationError, match="message 1 of 1: PromptTemplate is not a message class"):
        read([evil])


def test_a_tool_call_with_invalid_arguments_is_kept() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{oops"}}

    message = read([{"role": "assistant", "tool_calls": [call]}])[0]

    assert isinstance(message, AIMessage)
    assert [found["name"] for found in message.tool_calls] == ["search"]


@pytest.mark.parametrize(
    "text",
    [
        "User: Hi\nI am Ada.\n\nAssistant: Hello!",
        "human：Hi\r\nI am Ada.\r\n\r\nAI： Hello!\r\n",
        "\ufeff\n用户：Hi\nI am Ada.\n\n助手：Hello!",
    ],
)
def test_plain_text(text: str) -> None:
    messages = read(text)

    assert [(message.type, message.text) for message in messages] == [("human", "Hi\nI am Ada."), ("ai", "Hello!")]


def test_plain_text_may_begin_with_a_bracket() -> None:
    assert [message.text for message in read("User: [1, 2] is a list\n{and this} too")] == [
        "[1, 2] is a list\n{and this} too"
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "file is empty"),
        (b" \n ", "file is empty"),
        (b"Dear diary,\nUser: hi", "line 1: 'Dear diary,' does not begin with User: or Assistant:"),
        (b"User: hi\n\xff\xfe", "line 2: not UTF-8"),
        (b"[1, 2", "line 1: invalid JSON"),
        (b'[\n{"role": "user",\n"content": }]', "line 3: invalid JSON"),
        (b'{"a": 1}', "file is not a conversation"),
        (b'{"messages": 3}', "file is not a conversation"),
        (b"[3]", "message 1 of 1: 3 is not a message"),
        (b'[{"role": "user", "content": "hi"}, "hi"]', "message 2 of 2: 'hi' is not a message"),
        (b'[{"role": "bot", "content": "hi"}]', "message 1 of 1: unknown role 'bot'; expected one of user, human"),
        (b'[{"role": ["user"], "content": "hi"}]', "message 1 of 1: unknown role"),
        (b'[{"content": "hi"}]', "message 1 of 1: role is missing"),
        (b'[{"role": "user"}]', "message 1 of 1: content is missing"),
        (b'[{"role": "user", "content": 5}]', "message 1 of 1: content is 5"),
        (b'[{"role": "user", "content": [5]}]', "message 1 of 1: "),
        (b'[{"role": "assistant", "content": "", "tool_calls": [5]}]', "message 1 of 1: "),
        (b'[{"role": "assistant", "content": "", "tool_calls": {"a": 1}}]', "message 1 of 1: "),
        (b'{"role": "user", "content": "hi"}\n{"role": "user"', "line 2: invalid JSON"),
        (b'{"role": "user", "content": "hi"}\n\n{"role": "x", "content": ""}', "line 3: unknown role 'x'"),
        (b"[" * 100_000, "cannot be parsed as JSON"),
        (b"[" + b"9" * 5_000 + b"]", "cannot be parsed as JSON"),
    ],
)
def test_errors_name_the_line_or_item(data: bytes, problem: str) -> None:
    with pytest.raises(ConversationError) as caught:
        read(data)

    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_list_is_an_empty_conversation() -> None:
    assert read([]) == []
