"""Read a model's answer: text in, change set out. Items are judged one by one, never the batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar, cast

from pydantic.alias_generators import to_camel

from memgraph.models import (
    CATEGORIES,
    SECTIONS,
    Addition,
    Answer,
    Memory,
    MemoryUpdate,
    Refusal,
    Removal,
    Rewrite,
    SectionName,
    new_fact_id,
)
from memgraph.prompts.schema import JsonObject, find_object
from memgraph.text.normalize import clean

_SHOWN = 200

T = TypeVar("T")


class UnreadableError(ValueError):
    """The answer holds no memory update; the text says what is wrong, for the model to read."""


class InvalidItemError(ValueError):
    """An item of the answer cannot be used; the others can."""


def read_answer(
    answer: Answer,
    memory: Memory,
    *,
    at: str,
    thread: str,
    message_ids: tuple[str, ...],
    copied: AbstractSet[str] = frozenset(),
    draw_id: Callable[[], str] = new_fact_id,
) -> MemoryUpdate:
    """Understand what the model proposed.

    Args:
        answer: What the model said; the first memory update in it counts, whatever surrounds it.
        memory: What the model saw.
        at: When it answered, ISO 8601 in UTC.
        thread: The thread learned from, or "unknown".
        message_ids: The messages learned from, the newest last.
        copied: Words, case-folded, that only the prompt's example has: an item with one of them is not about the user.
        draw_id: Gives ids for new facts.

    Raises:
        UnreadableError: If the answer holds no memory update.
    """
    found = _find_update(answer)
    refused: list[Refusal] = []
    taken = {fact.id for fact in memory.facts}
    return MemoryUpdate(
        at=at,
        thread=thread,
        message_ids=message_ids,
        rewrites=tuple(
            rewrite
            for name in SECTIONS
            if (rewrite := _collect(lambda name=name: _rewrite(found, name, memory, copied), refused))
        ),
        additions=tuple(
            addition
            for item in _items(found, "newFacts", refused)
            if (addition := _collect(lambda item=item: _addition(item, _free(draw_id, taken), copied), refused))
        ),
        removals=tuple(
            removal
            for item in _items(found, "factsToRemove", refused)
            if (removal := _collect(lambda item=item: _removal(item), refused))
        ),
        refused=tuple(refused),
    )


def _find_update(answer: Answer) -> JsonObject:
    text = answer.text
    if answer.refused:
        raise UnreadableError("the model refused to answer")
    if not text.strip():
        raise UnreadableError("the answer is empty")
    found = find_object(text, _is_whole_update, "newFacts") or find_object(text, _is_update, "newFacts")
    if found is None:
        why = "it was cut off before it held one; be shorter" if answer.cut_off else "there is none in it"
        raise UnreadableError(f"a JSON object with the keys user, history and newFacts was expected, but {why}")
    return found


def _is_whole_update(found: JsonObject) -> bool:
    return _is_update(found) and isinstance(found.get("user"), dict) and isinstance(found.get("history"), dict)


def _is_update(found: JsonObject) -> bool:
    return isinstance(found.get("newFacts"), list)


def _collect(read: Callable[[], T], refused: list[Refusal]) -> T | None:
    try:
        return read()
    except InvalidItemError as error:
        refused.append(Refusal(item=str(error.args[0]), reason=str(error.args[1])))
        return None


def _items(found: JsonObject, key: str, refused: list[Refusal]) -> list[object]:
    items = found.get(key)
    if items is None or isinstance(items, list):
        return cast("list[object]", items or [])
    refused.append(Refusal(item=_shown(items), reason=f"{key} is no list"))
    return []


def _rewrite(found: JsonObject, name: SectionName, memory: Memory, copied: AbstractSet[str]) -> Rewrite | None:
    part: object = found.get(SECTIONS[name])
    section = cast("JsonObject", part).get(to_camel(name)) if isinstance(part, dict) else None
    if section is None:
        return None
    if not isinstance(section, dict):
        raise InvalidItemError(_shown(section), f"{to_camel(name)} is no object")
    fields = cast("JsonObject", section)
    summary = _text(fields.get("summary"))
    if not summary or not _bool(fields.get("shouldUpdate"), or_else=False):
        return None
    _check_own(summary, copied)
    return Rewrite(section=name, summary=summary, base=memory.section(name).summary)


def _addition(item: object, fact_id: str, copied: AbstractSet[str]) -> Addition:
    fields = _fields(item, or_as="content")
    content = fields.get("content")
    if not isinstance(content, str) or not content.strip():
        raise InvalidItemError(_shown(item), "it has no content")
    _check_own(content, copied)
    category = _text(fields.get("category")).lower()
    return Addition(
        id=fact_id,
        content=clean(content).strip(),
        category=category if category in CATEGORIES else "context",
        confidence=_confidence(fields.get("confidence", 0.5), item),
        source_error=_text(fields.get("sourceError")) or None,
        durable=_bool(fields.get("durable"), or_else=True),
        about_user=_bool(fields.get("aboutUser"), or_else=True),
        replaces=_ids(fields.get("replaces")),
    )


def _removal(item: object) -> Removal:
    fields = _fields(item, or_as="id")
    fact_id = fields.get("id")
    if not isinstance(fact_id, str) or not fact_id:
        raise InvalidItemError(_shown(item), "it names no fact to remove")
    return Removal(id=clean(fact_id), reason=_text(fields.get("reason"))[:_SHOWN] or "contradicted")


def _check_own(text: str, copied: AbstractSet[str]) -> None:
    """Refuse what a small model took from the prompt's example instead of from the conversation."""
    folded = text.casefold()
    if any(word in folded for word in copied):
        raise InvalidItemError(text[:_SHOWN], "it was copied from the example in the prompt")


def _fields(item: object, *, or_as: str) -> Mapping[str, object]:
    """The item's keys and values; a bare value counts as the one that matters."""
    return cast("JsonObject", item) if isinstance(item, dict) else {or_as: item}


def _confidence(value: object, item: object) -> float:
    """Read a confidence: numeric strings too, clamped to [0, 1]."""
    if value is None:
        return 0.5
    try:
        number = math.nan if isinstance(value, bool) else float(cast("Any", value))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidItemError(_shown(item), f"confidence {_shown(value)} is no number")
    return min(1.0, max(0.0, number))


def _bool(value: object, *, or_else: bool) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in {"true", "yes", "1"}
    return value if isinstance(value, bool) else or_else


def _ids(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(clean(item) for item in items if isinstance(item, str) and item)


def _text(value: object) -> str:
    return clean(value).strip() if isinstance(value, str) else ""


def _shown(value: object) -> str:
    """A bad item, short enough for a report."""
    return clean(repr(value))[:_SHOWN]


def _free(draw_id: Callable[[], str], taken: set[str]) -> str:
    """Draw an id that no fact has."""
    while (fact_id := draw_id()) in taken:
        pass
    taken.add(fact_id)
    return fact_id
