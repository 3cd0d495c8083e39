"""What was found in a turn: a fact, or that one is over. And how a rule makes one of a clause."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from memgraph.llm.offline.tables import Language, Rule, Section

Kind = Callable[[str], str | None]


class Finding(NamedTuple):
    """One thing the user said of themselves."""

    content: str
    category: str
    confidence: float
    section: Section
    language: Language
    slot: str = ""
    """What it is the one answer to."""
    source_error: str = ""
    """On corrections: what went wrong."""
    ends: bool = False
    """It is over: *content* is what known facts on it hold."""


def apply_rule(
    rule: Rule, clause: str, kinds: Mapping[str, Kind], language: Language
) -> tuple[Finding | None, str] | None:
    """What *rule* finds in *clause*, and what is to be read on; None where it does not fit."""
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


def _finding(rule: Rule, values: Mapping[str, str], language: Language) -> Finding | None:
    entry = rule.entry
    if not entry.says:
        return None
    content = entry.says.format_map(values)
    slot = f"{entry.slot}:{values['k'].casefold()}" if entry.slot == "favourite" else entry.slot
    return Finding(content[:1].upper() + content[1:], entry.category, entry.confidence, entry.section, language, slot)
