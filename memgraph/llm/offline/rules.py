"""Rules from the YAML files, and what they extract from a clause: a fact, or its end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Kind = Callable[[str], str | None]


class Extraction(NamedTuple):
    """One statement of the user about themselves."""

    content: str
    category: str
    confidence: float
    section: Section
    language: Language
    slot: str = ""
    """The slot that it is the only value of."""
    source_error: str = ""
    """Of corrections: what went wrong."""
    tentative: bool = False
    """The words may mean something else: it never replaces another value of its slot."""
    ends: bool = False
    """The statement ends a fact: *content* is part of the known facts."""
    turn: int = 0
    """The number of the turn that it is from."""
    quote: str = ""
    """The sentence that it is from; an ellipsis stands for what was removed from it."""
    date: str = ""
    """When it began or happened, a partial date; empty if the sentence names no certain date."""


def apply_rule(
    rule: Rule, clause: str, kinds: Mapping[str, Kind], language: Language
) -> tuple[Extraction | None, str] | None:
    """Return what *rule* extracts from *clause*, and the rest to read; None if it does not match."""
    for pattern in rule.patterns:
        values = _values(pattern.fullmatch(clause), rule, kinds)
        if values is not None:
            return _finding(rule, values, language), values.get("rest", "")
    return None


def _values(match: re.Match[str] | None, rule: Rule, kinds: Mapping[str, Kind]) -> dict[str, str] | None:
    if match is None:
        return None
    values: dict[str, str] = {}
    for group, kind in rule.entry.values.items():
        said = match.groupdict().get(group)
        value = kinds[kind](said) if said else None
        if value is None and group != "rest":
            return None
        values[group] = value or ""
    return values


def _finding(rule: Rule, values: Mapping[str, str], language: Language) -> Extraction | None:
    entry = rule.entry
    if not entry.says:
        return None
    content = entry.says.format_map(values)
    slot = f"{entry.slot}:{values['k'].casefold()}" if entry.slot == "favourite" else entry.slot
    return Extraction(
        content[:1].upper() + content[1:],
        entry.category,
        entry.confidence,
        entry.section,
        language,
        slot,
        tentative=entry.tentative,
    )


Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
Section = Literal["workContext", "personalContext", "topOfMind", ""]


class Entry(BaseModel):
    """A rule of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    when: tuple[str, ...]
    """Patterns of a whole clause; `<name>` stands for a fragment, a named group for a value."""
    says: str
    """The fact, with the values in braces. Empty: nothing is learned, and no later rule is tried."""
    values: dict[str, str] = Field(default_factory=dict)
    """Validator of each value, by its name in the language's table."""
    category: Literal["preference", "knowledge", "context", "behavior", "goal"] = "context"
    confidence: float = 0.95
    section: Section = "personalContext"
    slot: str = ""
    """The slot of the fact: a new value replaces the old one."""
    tentative: bool = False
    """The words may mean something else: the fact never replaces another value of its slot."""
    only: Literal["", "greeting", "always", "settled"] = ""
    """Condition: the turn is an introduction, the clause has "always", or no trouble is described; default: none."""


class Holder(BaseModel):
    """The form of a known fact that fills a slot."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slot: str
    when: str


class Table(BaseModel):
    """One file of rules."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fragments: dict[str, str]
    rules: tuple[Entry, ...]
    endings: tuple[Entry, ...]
    """Patterns of statements that end a known fact."""
    holders: tuple[Holder, ...]
    patterns: dict[str, str | tuple[str, ...]]


class Rule(NamedTuple):
    """An entry and its patterns, ready to match."""

    entry: Entry
    patterns: tuple[re.Pattern[str], ...]


@cache
def words(language: Language, name: str) -> frozenset[str]:
    """Return the word list called *name*."""
    return frozenset(word.strip() for word in _word_lists(language)[name].split(",") if word.strip())


@cache
def rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules in order: the first one that matches a clause applies."""
    return tuple(_compiled(entry, language) for entry in _table(language).rules)


@cache
def endings(language: Language) -> tuple[Rule, ...]:
    """Patterns of statements that end a known fact."""
    return tuple(_compiled(entry, language) for entry in _table(language).endings)


@cache
def holders(language: Language) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return slots and the patterns of known facts in them; the group `x` is the value."""
    return tuple((holder.slot, re.compile(holder.when, re.IGNORECASE)) for holder in _table(language).holders)


@cache
def pattern(language: Language, name: str) -> re.Pattern[str]:
    """Return the pattern called *name* in the file of the language."""
    said = _table(language).patterns[name]
    return re.compile(said if isinstance(said, str) else "|".join(said), re.IGNORECASE | re.DOTALL)


def _compiled(entry: Entry, language: Language) -> Rule:
    return Rule(entry, tuple(re.compile(_filled(said, language), re.IGNORECASE) for said in entry.when))


def _filled(said: str, language: Language) -> str:
    for name, fragment in _table(language).fragments.items():
        said = said.replace(f"<{name}>", fragment)
    return said


@cache
def _table(language: Language) -> Table:
    return Table.model_validate(yaml.safe_load(_read(f"rules_{language}.yaml")))


@cache
def _word_lists(language: Language) -> dict[str, str]:
    return TypeAdapter(dict[str, str]).validate_python(yaml.safe_load(_read(f"words_{language}.yaml")))


def _read(name: str) -> str:
    return files("memgraph.llm.offline").joinpath(name).read_text(encoding="utf-8")
