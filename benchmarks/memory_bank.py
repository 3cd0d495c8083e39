"""MemoryBank's users: ten days each of conversation with an assistant, with dates.

zhongwanjun/MemoryBank-SiliconFriend (MIT), read from outside the checkout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import HERE
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

DATA = HERE.parent.parent / "shared/data"
FILES = {"en": DATA / "memory_bank_en.json", "zh": DATA / "memory_bank_cn.json"}
"""The same 15 users in both languages, outside the checkout: the data set is not part of this project."""


@dataclass(frozen=True)
class Day:
    """What a user and the assistant said on one day."""

    date: str
    """ISO 8601, such as `2023-04-27`; the messages have it as their time."""
    messages: tuple[BaseMessage, ...]


@dataclass(frozen=True)
class User:
    """A user, and the days on which there was a conversation, the earliest first."""

    name: str
    days: tuple[Day, ...]


def read_users(path: Path) -> list[User]:
    """Read the users of one language."""
    users = json.loads(path.read_text("utf-8"))
    return [User(name.strip(), tuple(_days(name.strip(), user["history"]))) for name, user in users.items()]


def _days(user: str, history: Mapping[str, Sequence[Mapping[str, str]]]) -> Iterator[Day]:
    for date, exchanges in sorted(history.items()):
        messages = list[BaseMessage]()
        for number, exchange in enumerate(exchanges):
            time, place = {"timestamp": date}, f"{user}-{date}-{number}"
            messages += [
                HumanMessage(exchange["query"], id=f"{place}-user", additional_kwargs=time),
                AIMessage(exchange["response"], id=f"{place}-assistant", additional_kwargs=time),
            ]
        yield Day(date, tuple(messages))
