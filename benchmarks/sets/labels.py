"""Conversations with labels: what should, may and must not be learned from them.

A label is written as words: `lisbon live*|move* !berlin` is matched by a fact that says Lisbon, and a word that begins
with live or move, and not Berlin. A list of such texts is matched by a fact that any of them matches. Words are
compared without case, width and endings, so that "Plays tennis" and "playing tennis" say the same; Chinese words
wherever they stand.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from memgraph.models import CATEGORIES
from memgraph.retrieval.terms import stem
from memgraph.text.normalize import HAN, fold

LANGUAGES = {"en": "English", "zh": "Chinese"}
HERE = Path(__file__).parent
_ONE_HAN = re.compile(f"[{HAN}]")
_TOKEN = re.compile(r"[^\W_]+")


class Value(BaseModel, frozen=True):
    model_config = ConfigDict(extra="forbid")


def _spread(value: object) -> object:
    if isinstance(value, str):
        return {"any_of": [value]}
    return {"any_of": cast("list[object]", value)} if isinstance(value, list) else value


def _split(value: object) -> object:
    return value.split("|") if isinstance(value, str) else value


def _is_known(category: str) -> str:
    if category not in CATEGORIES:
        raise ValueError(f"{category!r} is no category")
    return category


def _says_something(group: str) -> str:
    if not [word for word in group.split() if not word.startswith("!")]:
        raise ValueError(f"{group!r} says only what must not be there")
    return group


class Label(Value, frozen=True):
    """Something a fact can say."""

    any_of: Annotated[tuple[Annotated[str, AfterValidator(_says_something)], ...], Field(min_length=1)]
    category: Annotated[tuple[Annotated[str, AfterValidator(_is_known)], ...], BeforeValidator(_split)] = ()
    """Where it has to be filed; empty: anywhere."""

    def matches(self, content: str) -> bool:
        """Whether a fact with that *content* says it."""
        return any(_says(content, group) for group in self.any_of)


Labels = tuple[Annotated[Label, BeforeValidator(_spread)], ...]


def _says(content: str, group: str) -> bool:
    return all(
        not _has_any(content, word[1:]) if word.startswith("!") else _has_any(content, word) for word in group.split()
    )


def _has_any(content: str, alternatives: str) -> bool:
    return any(_has(content, word) for word in alternatives.split("|"))


def _has(content: str, word: str) -> bool:
    text, word = fold(content), fold(word)
    if _ONE_HAN.search(word):
        return _closed_up(word) in _closed_up(text)
    if _pattern(word).search(text):
        return True
    return stem(word) in {stem(token) for token in _TOKEN.findall(text)}


def _closed_up(text: str) -> str:
    return "".join(text.split())


@functools.cache
def _pattern(word: str) -> re.Pattern[str]:
    inner = re.escape(word).replace(r"\*", "[a-z0-9]*")
    return re.compile(rf"(?<![a-z0-9]){inner}(?![a-z0-9])")


# -- the set --------------------------------------------------------------------------------------


class Message(Value, frozen=True):
    """What somebody said; `tool` is what a tool returned to the assistant."""

    role: Literal["human", "ai", "tool"]
    text: Annotated[str, Field(min_length=1)]


def _read_message(value: object) -> object:
    """Read `human: what was said`."""
    said = cast("dict[str, object]", value if isinstance(value, dict) else {})
    if len(said) != 1:
        return cast("object", value)
    ((role, text),) = said.items()
    return {"role": role, "text": text}


class Known(Value, frozen=True):
    """A fact that was there before."""

    content: str
    category: Annotated[str, AfterValidator(_is_known)]


class Conversation(Value, frozen=True):
    """A conversation, and what is to become of it."""

    id: str
    language: str
    kind: str
    """What is hard about it."""
    memory: tuple[Known, ...] = ()
    """What was known before."""
    messages: Annotated[tuple[Annotated[Message, BeforeValidator(_read_message)], ...], Field(min_length=1)]
    should: Labels = ()
    may: Labels = ()
    """True of the user, but as well left out."""
    must_not: Labels = ()
    known: Labels = ()
    """What the memory says already: saying it again is a duplicate."""
    outdated: Labels = ()
    """Facts of the memory that are no longer true."""
    never: tuple[str, ...] = ()
    """Secrets: these characters may stand nowhere in the memory."""
    correction: bool = False
    """Whether the user corrects the assistant."""


def read_set(language: str) -> list[Conversation]:
    """Read the conversations in `en` or `zh`."""
    read = cast("Sequence[dict[str, Any]]", yaml.safe_load(path_of(language).read_text("utf-8")))
    return [Conversation.model_validate({**item, "language": language}) for item in read]


def path_of(language: str) -> Path:
    """Where the conversations in *language* are."""
    return HERE / f"extraction.{language}.yaml"


def all_conversations() -> Iterator[Conversation]:
    """Yield the conversations of every language."""
    for language in LANGUAGES:
        yield from read_set(language)
