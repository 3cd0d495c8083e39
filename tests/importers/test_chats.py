"""Conversations exported from ChatGPT and Claude: what the user saw, with its dates, each of them once."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.turns import turns_of
from memgraph.errors import EditError
from memgraph.importers import chats as chats_module
from memgraph.importers.chats import CHAT_READERS, ExportedChat, iterate_array, parse_chatgpt, parse_claude, read_chats

MAY_8 = 1_683_554_160.25  # 2023-05-08T13:56:00Z


def node(key: str, parent: str | None, role: str = "user", parts: Any = None, **message: Any) -> dict[str, Any]:
    """One node of ChatGPT's tree; without parts it has no message, as the root."""
    fields = {
        "id": f"m-{key}",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": MAY_8,
        "content": {"content_type": "text", "parts": parts},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    }
    return {"id": key, "message": parts and {**fields, **message}, "parent": parent, "children": []}


def chatgpt(*nodes: dict[str, Any], current: str | None, chat_id: str = "c-1", at: float = MAY_8) -> dict[str, Any]:
    return {
        "title": "Moving house",
        "create_time": at,
        "update_time": at + 60,
        "mapping": {each["id"]: each for each in nodes},
        "current_node": current,
        "conversation_id": chat_id,
    }


TREE = (
    node("root", None),
    node("hidden", "root", "system", [""], metadata={"is_visually_hidden_from_conversation": True}),
    node("old", "hidden", parts=["I live in Oslo."]),
    node("old-answer", "old", "assistant", ["Oslo is nice."], create_time=MAY_8 + 500),
    node("edited", "hidden", parts=["I live in Paris."]),
    node("answer", "edited", "assistant", ["Paris is nice."], create_time=None),
)
CLAUDE: dict[str, Any] = {
    "uuid": "4f-9",
    "name": "Dinner",
    "created_at": "2024-02-01T18:00:00.123456Z",
    "updated_at": "2024-02-01T18:10:00Z",
    "account": {"uuid": "a-1"},
    "chat_messages": [
        {
            "uuid": "u1",
            "text": "I am vegetarian.",
            "content": [{"type": "text", "text": "I am vegetarian.", "citations": []}],
            "sender": "human",
            "created_at": "2024-02-01T18:00:01Z",
            "attachments": [{"file_name": "menu.txt", "extracted_content": "I eat meat."}],
            "files": [{"file_name": "photo.jpg"}],
        },
        {
            "uuid": "u2",
            "text": "This block is not supported on your current device yet.",
            "content": [
                {"type": "thinking", "thinking": "Look it up."},
                {"type": "tool_use", "name": "web_search", "input": {"query": "dinner"}},
                {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "found"}]},
                {"type": "text", "text": "Try a curry."},
            ],
            "sender": "assistant",
            "created_at": "2024-02-01T18:00:09Z",
        },
    ],
}


def texts(messages: Any) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def write(path: Path, chats: object) -> Path:
    path.write_text(json.dumps(chats, ensure_ascii=False), encoding="utf-8")
    return path


# -- ChatGPT --------------------------------------------------------------------------------------


def test_the_current_branch_is_followed() -> None:
    """A question that was edited was never meant; hidden messages are not the user's."""
    chat = chatgpt(*TREE, current="answer")

    assert texts(parse_chatgpt(chat)) == [("human", "I live in Paris."), ("ai", "Paris is nice.")]


def test_the_other_branch_is_followed_if_it_is_current() -> None:
    chat = chatgpt(*TREE, current="old-answer")

    assert texts(parse_chatgpt(chat)) == [("human", "I live in Oslo."), ("ai", "Oslo is nice.")]


@pytest.mark.parametrize("current", [None, "deleted"])
def test_without_a_current_node_the_newest_branch_is_followed(current: str | None) -> None:
    chat = chatgpt(*TREE, current=current)

    assert texts(parse_chatgpt(chat)) == [("human", "I live in Oslo."), ("ai", "Oslo is nice.")]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": {"content_type": "code", "language": "python", "text": "print(1)"}}, []),
        ({"content": {"content_type": "user_editable_context", "user_profile": "Likes tea."}}, []),
        ({"content": {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}}, []),
        ({"recipient": "browser"}, []),
        ({"weight": 0.0}, []),
        ({"author": {"role": "tool", "name": "python"}}, []),
        ({"metadata": {"is_visually_hidden_from_conversation": True}}, []),
        (
            {
                "content": {
                    "content_type": "multimodal_text",
                    "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "What is this?"],
                }
            },
            ["What is this?"],
        ),
        (
            {
                "content": {
                    "content_type": "multimodal_text",
                    "parts": [
                        {"content_type": "audio_transcription", "text": "I play the oboe.", "direction": "in"},
                        {"content_type": "real_time_user_audio_video_asset_pointer", "frames_asset_pointers": []},
                    ],
                }
            },
            ["I play the oboe."],
        ),
        ({"content": {"content_type": "text", "parts": ["", "   "]}}, []),
        ({"content": None}, []),
    ],
    ids=str,
)
def test_only_what_is_said_is_read(message: dict[str, Any], expected: list[str]) -> None:
    """Code, calls of tools, thoughts, images and custom instructions are not; the words of a voice message are."""
    chat = chatgpt(node("root", None), node("a", "root", parts=["x"], **message), current="a")

    assert [text for _, text in texts(parse_chatgpt(chat))] == expected


@pytest.mark.parametrize(
    "nodes",
    [
        (node("a", "a", parts=["Hi"]),),
        (node("a", "b", parts=["Hi"]), {"id": "b", "parent": "a", "message": None}),
        (node("a", "deleted", parts=["Hi"]),),
    ],
    ids=["own parent", "cycle", "deleted parent"],
)
def test_a_broken_tree_ends_at_the_break(nodes: tuple[dict[str, Any], ...]) -> None:
    assert texts(parse_chatgpt(chatgpt(*nodes, current="a"))) == [("human", "Hi")]


# -- Claude ---------------------------------------------------------------------------------------


def test_claude_messages_are_read_without_thoughts_tools_and_files() -> None:
    """Attached text is not what the user says."""
    assert texts(parse_claude(CLAUDE)) == [("human", "I am vegetarian."), ("ai", "Try a curry.")]


def test_an_old_export_of_claude_has_only_texts() -> None:
    chat = {"uuid": "1", "chat_messages": [{"uuid": "u", "sender": "human", "text": "Hi", "content": []}]}

    assert texts(parse_claude(chat)) == [("human", "Hi")]


@pytest.mark.parametrize(("leaf", "expected"), [(None, "Bonn"), ("first", "Oslo"), ("deleted", "Bonn")])
def test_the_current_branch_of_claude_is_followed(leaf: str | None, expected: str) -> None:
    """By default the one of the last message."""
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        {"uuid": "hello", "sender": "human", "text": "Hello", "parent_message_uuid": root},
        {"uuid": "first", "sender": "human", "text": "Oslo", "parent_message_uuid": "hello"},
        {"uuid": "second", "sender": "human", "text": "Bonn", "parent_message_uuid": "hello"},
    ]

    read = parse_claude({"uuid": "1", "chat_messages": messages, "current_leaf_message_uuid": leaf})

    assert [text for _, text in texts(read)] == ["Hello", expected]


# -- files ----------------------------------------------------------------------------------------


def test_messages_keep_their_times_and_ids(tmp_path: Path) -> None:
    """A conversation of 2023 is learned as one of 2023; a message without a time has that of its conversation."""
    path = write(tmp_path / "conversations.json", [chatgpt(*TREE, current="answer")])

    (chat,) = read_chats(path, "chatgpt").chats

    assert [turn.at for turn in turns_of(chat.messages)] == ["2023-05-08T13:56:00Z"] * 2
    assert [message.id for message in chat.messages] == ["m-edited", "m-answer"]
    assert (chat.thread_id, chat.title) == ("chatgpt:c-1", "Moving house")


def test_the_oldest_conversation_comes_first(tmp_path: Path) -> None:
    """An export begins with the newest, and what was said later counts."""
    chats = [chatgpt(*TREE, current="answer", chat_id=str(year), at=MAY_8 + year) for year in (3, 1, 2)]

    export = read_chats(write(tmp_path / "c.json", chats), "chatgpt")

    assert [chat.thread_id for chat in export.chats] == ["chatgpt:1", "chatgpt:2", "chatgpt:3"]


def test_conversations_without_words_of_the_user_are_skipped(tmp_path: Path) -> None:
    empty = {"uuid": "e", "name": "Empty", "chat_messages": []}

    export = read_chats(write(tmp_path / "c.json", [empty, CLAUDE]), "claude")

    assert [chat.thread_id for chat in export.chats] == ["claude:4f-9"]
    assert [(note.what, note.why) for note in export.skipped] == [("Empty", "the user wrote no text in it")]


def test_a_conversation_without_an_id_has_the_same_thread_in_each_export(tmp_path: Path) -> None:
    """So it is learned once."""
    chat = {**CLAUDE, "uuid": ""}

    first, second = (read_chats(write(tmp_path / f"{n}.json", [chat] * n), "claude").chats for n in (1, 2))

    assert [each.thread_id for each in first] == [each.thread_id for each in second]


def test_a_zip_file_is_read(tmp_path: Path) -> None:
    """As it is downloaded; newer exports have numbered parts."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in (0, 1):
            chat = chatgpt(*TREE, current="answer", chat_id=f"c-{number}", at=MAY_8 + number)
            archive.writestr(f"data/conversations-00{number}.json", json.dumps([chat]))
        archive.writestr("data/shared_conversations.json", "[{}]")
        archive.writestr("data/user.json", "{}")

    assert [chat.thread_id for chat in read_chats(path, "chatgpt").chats] == ["chatgpt:c-0", "chatgpt:c-1"]


@pytest.mark.parametrize("system", sorted(CHAT_READERS))
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"no json",
        b"[",
        b"[1]",
        b"[{}]",
        b'[{"mapping": {}} {"mapping": {}}]',
        b'[{"a": "\xff"}]',
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b"PK\x03\x04 is no zip",
        b'{"messages": []}',
    ],
    ids=lambda data: repr(data[:20]),
)
def test_anything_but_an_export_is_an_error_with_its_name(system: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(data)

    with pytest.raises(EditError, match=r"odd\.json"):
        read_chats(path, system)


def test_an_export_of_another_system_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", [CLAUDE])

    with pytest.raises(EditError, match="conversation 1: it is not a conversation of ChatGPT"):
        read_chats(path, "chatgpt")


def test_a_zip_file_without_conversations_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("user.json", "{}")

    with pytest.raises(EditError, match=r"x\.zip is not an export of claude: it contains no conversations\.json"):
        read_chats(tmp_path / "x.zip", "claude")


def test_a_damaged_zip_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([CLAUDE] * 50))
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)

    with pytest.raises(EditError, match=r"x\.zip"):
        read_chats(path, "claude")


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps([CLAUDE]), encoding="utf-8-sig")

    assert len(read_chats(path, "claude").chats) == 1


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="cannot read"):
        read_chats(tmp_path / "none.json", "claude")


def test_too_large_an_export_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is small until it is unpacked."""
    monkeypatch.setattr(chats_module, "MAX_EXPORT_BYTES", 100)
    path = write(tmp_path / "conversations.json", [CLAUDE])
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "conversations.json")

    for each in (path, tmp_path / "x.zip"):
        with pytest.raises(EditError, match="has more than"):
            read_chats(each, "claude")


def test_too_long_a_conversation_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would have to be held in memory as a whole."""
    monkeypatch.setattr(chats_module, "MAX_CHAT_CHARS", 1_000)
    data = '[{"a": "' + "x" * (3 << 20)

    with pytest.raises(EditError, match="more than 1,000 characters"):
        list(iterate_array(io.StringIO(data), "big.json"))


def test_items_are_yielded_before_the_file_is_read() -> None:
    """An export of 100 MB is not held in memory."""
    data = "[" + ",".join(['{"a": "' + "x" * 1_000 + '"}'] * 5_000) + "]"
    file = io.StringIO(data)

    first = next(iterate_array(file, "big.json"))

    assert first == {"a": "x" * 1_000}
    assert file.tell() < len(data) / 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(items=st.lists(JSON, max_size=6), indent=st.sampled_from([None, 2]), read_chars=st.integers(1, 40))
def test_any_array_is_read_as_json_reads_it(items: list[object], indent: int | None, read_chars: int) -> None:
    """However it is split into pieces."""
    wrapped = [[item] for item in items]
    data = json.dumps(wrapped, indent=indent, ensure_ascii=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chats_module, "_READ_CHARS", read_chars)
        read = list(iterate_array(io.StringIO(data), "any.json"))

    assert read == wrapped


KEYS = st.sampled_from(["id", "message", "parent", "author", "role", "content", "parts", "uuid", "text", "sender"])


@given(
    nodes=st.dictionaries(st.sampled_from("abc"), st.dictionaries(KEYS, JSON, max_size=5) | JSON, max_size=3),
    current=JSON,
)
def test_malformed_nodes_do_not_affect_others(nodes: dict[str, object], current: object) -> None:
    """Each is either read or left out."""
    good = node("good", None, parts=["I live in Oslo."])
    chatgpt_texts = texts(parse_chatgpt({"mapping": {**nodes, "good": good}, "current_node": "good"}))
    parse_chatgpt({"mapping": nodes, "current_node": current})
    claude_good = {"uuid": "g", "sender": "human", "text": "I live in Oslo."}
    claude_texts = texts(parse_claude({"chat_messages": [*nodes.values(), claude_good]}))

    assert ("human", "I live in Oslo.") in chatgpt_texts
    assert ("human", "I live in Oslo.") in claude_texts


def test_a_chat_converts_to_messages_of_both_sides() -> None:
    chat = ExportedChat("claude:1", "x", None, tuple(parse_claude(CLAUDE)))

    assert [message.type for message in chat.messages] == ["human", "ai"]
