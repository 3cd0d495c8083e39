"""Conversations exported from an assistant: read one by one, from JSON or a zip file, and put in order of time.

Of each, the messages are read on the branch that the user sees. In an export of ChatGPT a conversation is a tree of
nodes under `mapping`: an edited question or a regenerated answer makes a branch, and the user sees the one that ends at
`current_node`. In one of Claude it is a list of messages under `chat_messages`; if they name their parents, they are a
tree as well.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TextIO, cast

from memgraph.analysis.dates import first_time, parse_time
from memgraph.analysis.normalize import clean, single_line
from memgraph.errors import EditError
from memgraph.importers.documents import Item, Note, as_item, item_in, items_in, text_in
from memgraph.models import MAX_ID_CHARS, timestamp

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.messages import AnyMessage

MAX_EXPORT_BYTES = 4 << 30
"""Maximum bytes of an export, unpacked."""
MAX_CHAT_CHARS = 64 << 20
"""Maximum characters of one conversation of an export."""

_READ_CHARS = 1 << 20
_MAX_THREAD_CHARS = 200
_CONVERSATIONS = re.compile(r"conversations[-0-9]*\.json")
"""The name of an export's conversations, or of a part of them, such as `conversations-003.json`."""
_NOT_SPACE = re.compile(r"[^ \t\r\n]")


# -- the messages of a conversation ----------------------------------------------------------------

ROLES: Mapping[str, Literal["human", "ai"]] = MappingProxyType({"human": "human", "user": "human", "assistant": "ai"})
"""Authors whose messages are learned from; not system and tool."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of an exported conversation."""

    id: str
    role: Literal["human", "ai"]
    text: str
    at: object = None
    """When it was written, as the export states it."""

    def to_langchain(self, default: datetime | None) -> AnyMessage:
        """Return the message for an update, with its time, or *default* if it states none."""
        from langchain_core.messages import AIMessage, HumanMessage

        written = parse_time(self.at) or default
        extra = {"timestamp": timestamp(written)} if written else {}
        message_class = HumanMessage if self.role == "human" else AIMessage
        message_id = clean(self.id)
        known = message_id if 0 < len(message_id) <= MAX_ID_CHARS else None
        return message_class(clean(self.text), id=known, additional_kwargs=extra)


def _branch(nodes: Mapping[str, Item], leaf: object, parent: str) -> list[tuple[str, Item]]:
    """Return the nodes of the branch that ends at *leaf* with their ids, the oldest first.

    Args:
        nodes: The messages by their ids.
        leaf: The id of the last one.
        parent: The key of a node that has the id of the one before; one that was deleted ends the branch.
    """
    branch: dict[str, Item] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in branch:
        branch[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return list(branch.items())[::-1]


# -- ChatGPT --------------------------------------------------------------------------------------

TEXT_TYPES = frozenset({"text", "multimodal_text"})
"""Content that is said; others are code, its output, thoughts, web pages and custom instructions."""
SPOKEN = "audio_transcription"
"""The type of a part of a voice message with its words."""


def parse_chatgpt(chat: Item) -> list[ChatMessage]:
    """Return the messages on the current branch of a conversation, the oldest first.

    Left out are messages that ChatGPT does not show, calls of tools and their results. Of an image or a recording, its
    words only.

    Raises:
        EditError: If *chat* has no tree of messages.
    """
    mapping = as_item(chat.get("mapping"))
    if mapping is None:
        raise EditError("it is not a conversation of ChatGPT: it has no mapping")
    nodes = {key: node for key, value in mapping.items() if (node := as_item(value)) is not None}
    leaf = text_in(chat, "current_node")
    branch = _branch(nodes, leaf if leaf in nodes else _latest_leaf(nodes), "parent")
    return [
        ChatMessage(text_in(message, "id") or key, role, text, message.get("create_time"))
        for key, node in branch
        if (message := item_in(node, "message"))
        and (role := ROLES.get(text_in(item_in(message, "author"), "role")))
        and (text := _shown_text(message))
    ]


def _latest_leaf(nodes: Mapping[str, Item]) -> str:
    """Return the newest node without children: the end of the branch that was used last; "" if there is none."""
    parents = {text_in(node, "parent") for node in nodes.values()}
    return max((key for key in nodes if key not in parents), key=lambda key: _created(nodes[key]), default="")


def _created(node: Item) -> float:
    at = parse_time(item_in(node, "message").get("create_time"))
    return at.timestamp() if at else 0.0


def _shown_text(message: Item) -> str:
    """Return the text of a message; empty if ChatGPT hides it, or it is a call of a tool."""
    content = item_in(message, "content")
    is_hidden = item_in(message, "metadata").get("is_visually_hidden_from_conversation") is True
    is_for_tool = message.get("recipient", "all") not in {"all", None}
    if is_hidden or is_for_tool or message.get("weight") == 0 or content.get("content_type") not in TEXT_TYPES:
        return ""
    parts = content.get("parts")
    texts = map(_part_text, cast("list[object]", parts) if isinstance(parts, list) else [])
    return "\n".join(text for text in texts if text.strip())


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = as_item(part) or {}
    return text_in(fields, "text") if fields.get("content_type") == SPOKEN else ""


# -- Claude ---------------------------------------------------------------------------------------

TEXT_BLOCKS = frozenset({"text", "voice_note"})
"""Blocks that are said; others are thoughts, calls of tools and their results."""
LEAF = "current_leaf_message_uuid"
"""The key of a conversation with the last message of the branch that the user sees."""
PARENT = "parent_message_uuid"


def parse_claude(chat: Item) -> list[ChatMessage]:
    """Return the messages on the current branch of a conversation, the oldest first.

    Left out are thoughts, calls of tools with their results, and the contents of attached files.

    Raises:
        EditError: If *chat* has no list of messages.
    """
    if not isinstance(chat.get("chat_messages"), list):
        raise EditError("it is not a conversation of Claude: it has no chat_messages")
    return [
        ChatMessage(text_in(item, "uuid"), role, text, item.get("created_at"))
        for item in _current_branch(items_in(chat.get("chat_messages")), text_in(chat, LEAF))
        if (role := ROLES.get(text_in(item, "sender"))) and (text := _text(item))
    ]


def _current_branch(items: Sequence[Item], leaf: str) -> Sequence[Item]:
    """Return the messages that lead to *leaf*, by default the last one; all if they do not name their parents."""
    nodes = {key: item for item in items if (key := text_in(item, "uuid"))}
    has_tree = len(nodes) == len(items) and any(item.get(PARENT) in nodes for item in items)
    if not has_tree:
        return items
    return [item for _, item in _branch(nodes, leaf if leaf in nodes else list(nodes)[-1], PARENT)]


def _text(item: Item) -> str:
    """Return what was said: of the blocks, or of older exports that have only a text."""
    if not (isinstance(item.get("content"), list) and item["content"]):
        return text_in(item, "text").strip()
    blocks = items_in(item["content"])
    texts = (text_in(block, "text") for block in blocks if block.get("type") in TEXT_BLOCKS)
    return "\n".join(filter(None, texts))


# -- exports ---------------------------------------------------------------------------------------

ParseChat = Callable[[Item], list[ChatMessage]]
"""Returns the messages of the user and the assistant on the branch of a conversation that the user sees, the oldest
first; it raises an EditError if the item is not a conversation of that system."""
CHAT_READERS: Mapping[str, ParseChat] = MappingProxyType({"chatgpt": parse_chatgpt, "claude": parse_claude})
"""How to read a conversation of each system."""


@dataclass(frozen=True, slots=True)
class ExportedChat:
    """A conversation of an export, ready to be learned from."""

    thread_id: str
    """The system and the id of the conversation: the same in each export, so that it is learned once."""
    title: str
    at: datetime | None
    """When it began; None if the export does not state it."""
    parts: tuple[ChatMessage, ...]
    """What the user and the assistant wrote, the oldest first."""

    @property
    def messages(self) -> list[AnyMessage]:
        """The messages to learn from, with their ids and times."""
        return [part.to_langchain(self.at) for part in self.parts]


@dataclass(frozen=True, slots=True)
class ChatExport:
    """What an export contains."""

    chats: tuple[ExportedChat, ...]
    """The oldest first, so that later statements replace earlier ones."""
    skipped: tuple[Note, ...]
    """Conversations without anything to learn from, or of a wrong shape, and why."""


def read_chats(path: Path, system: str) -> ChatExport:
    """Read an export of conversations.

    It is read piece by piece. What is kept of it in memory is the text of the messages on the current branches.

    Args:
        path: A `conversations.json`, or the zip file of the export, at most 4 GiB unpacked.
        system: One of CHAT_READERS.

    Raises:
        EditError: If the file cannot be read, is not such an export, or is too large.
    """
    chats: dict[str, ExportedChat] = {}
    skipped: list[Note] = []
    for name, value in _iterate_items(path, system):
        item = as_item(value)
        if item is None:
            raise EditError(f"{name} is not a conversation of {system}")
        try:
            messages = CHAT_READERS[system](item)
        except EditError as error:
            raise EditError(f"{name}: {error}") from None
        chat = _make_chat(system, item, messages)
        if any(message.role == "human" for message in messages):
            chats[chat.thread_id] = chat  # a later part of the export has the newer state
        else:
            skipped.append(Note(what=chat.title, why="the user wrote no text in it"))
    ordered = sorted(chats.values(), key=lambda chat: chat.at.timestamp() if chat.at else 0.0)
    return ChatExport(tuple(ordered), tuple(skipped))


def _make_chat(system: str, item: Item, messages: list[ChatMessage]) -> ExportedChat:
    chat_id = clean(text_in(item, "conversation_id", "uuid", "id")).strip()
    if not chat_id or len(chat_id) > _MAX_THREAD_CHARS:
        chat_id = hashlib.sha256(repr((item.get("create_time"), item.get("title"), chat_id)).encode()).hexdigest()[:32]
    times = (item.get("create_time"), item.get("created_at"), *(message.at for message in messages))
    return ExportedChat(
        thread_id=f"{system}:{single_line(chat_id)}",
        title=single_line(clean(text_in(item, "title", "name")))[:80] or chat_id,
        at=first_time(times),
        parts=tuple(messages),
    )


# -- files ----------------------------------------------------------------------------------------


def _iterate_items(path: Path, system: str) -> Iterator[tuple[str, object]]:
    """Yield each item of an export, with its name in errors."""
    with _reading(path), ExitStack() as stack:
        if zipfile.is_zipfile(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = (each.filename for each in archive.infolist())
            members = sorted(name for name in names if _CONVERSATIONS.fullmatch(PurePosixPath(name).name))
            if not members:
                raise EditError(f"{path} is not an export of {system}: it contains no conversations.json")
            size = sum(archive.getinfo(member).file_size for member in members)
            files = {f"{member} in {path}": partial(archive.open, member) for member in members}
        else:
            size, files = path.stat().st_size, {str(path): partial(path.open, "rb")}
        if size > MAX_EXPORT_BYTES:
            raise EditError(f"{path} has more than {MAX_EXPORT_BYTES >> 30} GiB of conversations")
        for name, open_file in files.items():
            with io.TextIOWrapper(open_file(), encoding="utf-8-sig", newline="") as text:
                for number, value in enumerate(iterate_array(text, name), 1):
                    yield f"{name}, conversation {number:,}", value


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except EditError:
        raise
    except OSError as error:
        raise EditError(f"cannot read {path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # a RuntimeError if it is encrypted
        raise EditError(f"{path} cannot be unpacked: {error}") from error


def iterate_array(file: TextIO, name: str) -> Iterator[object]:
    """Yield the items of a JSON array, reading the file in linear time and one item at a time.

    Raises:
        EditError: If *file* is not such an array, is not UTF-8, or has an item that is too long.
    """
    text = _JsonText(file, name)
    if text.next_character() != "[":
        raise EditError(f"{name} is not a list of conversations")
    text.position += 1
    while text.next_character() != "]":
        yield text.read_value()
        if text.next_character() == ",":
            text.position += 1
        elif text.next_character() != "]":
            raise EditError(f"{name} is not JSON, or was cut off: a comma is missing after a conversation")


class _JsonText:
    """The part of a JSON file that is being read."""

    def __init__(self, file: TextIO, name: str) -> None:
        self.position = 0
        self._file = file
        self._name = name
        self._buffer = ""
        self._decoder = json.JSONDecoder()

    def next_character(self) -> str:
        """Move to the next character that is not whitespace, and return it; "" at the end."""
        while True:
            if found := _NOT_SPACE.search(self._buffer, self.position):
                self.position = found.start()
                return found[0]
            self._buffer, self.position = self._read(_READ_CHARS), 0
            if not self._buffer:
                return ""

    def read_value(self) -> object:
        """Return the value at the position, and move behind it.

        One that is not complete is tried again with twice as much text, so that all tries together are linear.
        """
        while True:
            try:
                value, self.position = self._decoder.raw_decode(self._buffer, self.position)
            except RecursionError:
                raise EditError(f"{self._name} has a conversation that is nested too deeply") from None
            except ValueError as error:
                self._buffer, self.position = self._buffer[self.position :], 0
                if len(self._buffer) > MAX_CHAT_CHARS:
                    limit = f"{MAX_CHAT_CHARS:,} characters"
                    raise EditError(f"{self._name} is not JSON, or has a conversation of more than {limit}") from error
                more = self._read(max(_READ_CHARS, len(self._buffer)))
                if not more:
                    raise EditError(f"{self._name} is not JSON, or was cut off: {error}") from None
                self._buffer += more
            else:
                return value

    def _read(self, characters: int) -> str:
        try:
            return self._file.read(characters)
        except UnicodeDecodeError as error:
            raise EditError(f"{self._name} is not UTF-8: {error.reason}") from error
