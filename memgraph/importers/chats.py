"""Conversations exported from an assistant: read one by one, from JSON or a zip file, and put in order of time."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from memgraph.analysis.dates import first_time
from memgraph.analysis.normalize import clean, single_line
from memgraph.errors import EditError
from memgraph.importers.chat_formats import ChatMessage, parse_chatgpt, parse_claude
from memgraph.importers.documents import Item, Note, as_item, text_in

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
