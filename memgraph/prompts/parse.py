"""Parse a model's answer into a change set. Invalid items are refused one by one; the others are used."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, TypeVar, cast, get_args

from pydantic.alias_generators import to_camel

from memgraph.models import (
    CATEGORIES,
    SECTIONS,
    Addition,
    Answer,
    Memory,
    MemoryUpdate,
    Prompt,
    Refusal,
    Removal,
    Rewrite,
    SectionName,
    new_fact_id,
)
from memgraph.prompts.template import Language, load_template
from memgraph.text.normalize import clean

JsonObject = dict[str, Any]

PREVIEW_CHARS = 200
"""Characters of an invalid item, or of a reason, that are kept."""

MAX_READ = 256_000
"""Characters of an answer that are read."""
MAX_OPENINGS = 100
"""Opening braces that are tried."""
MAX_REPAIRED = 32_000
"""Characters of a candidate that is repaired."""
MAX_REPAIR_DEPTH = 12
"""Nesting of a candidate that is repaired; an update has 3."""
MAX_REPAIRS = 3
"""Candidates that are repaired."""
MAX_REPAIR_COST = 2_000_000
"""Characters of a candidate times its misplaced quotes, which is how the time of a repair grows: about 0.2 s."""

T = TypeVar("T")


class UnreadableError(ValueError):
    """The answer contains no memory update; the message explains the problem to the model."""


class InvalidItemError(ValueError):
    """One item of the answer is invalid; the others can be used."""


def parse_answer(
    answer: Answer,
    memory: Memory,
    *,
    at: str,
    thread: str,
    message_ids: tuple[str, ...],
    example_words: AbstractSet[str] = frozenset(),
    make_id: Callable[[], str] = new_fact_id,
) -> MemoryUpdate:
    """Return the change set that the model proposed.

    Args:
        answer: The model's answer; the first memory update in it counts, whatever surrounds it.
        memory: The memory that the model saw.
        at: When it answered, ISO 8601 in UTC.
        thread: The thread learned from, or "unknown".
        message_ids: The messages learned from, the newest last.
        example_words: Case-folded words that occur only in the prompt's example: an item with one of them was copied.
        make_id: Generates the ids of new facts.

    Raises:
        UnreadableError: If the answer contains no memory update.
    """
    found = _find_update(answer)
    refused: list[Refusal] = []
    taken = {fact.id for fact in memory.facts}
    items = _items(found, "newFacts", refused)
    # an addition removes what it replaces once it is accepted; if it is dropped, the old fact has to stay
    replaced = {old for item in items for old in _ids(_fields(item, main_key="content").get("replaces"))}
    return MemoryUpdate(
        at=at,
        thread=thread,
        message_ids=message_ids,
        rewrites=tuple(
            rewrite
            for name in SECTIONS
            if (rewrite := _collect(lambda name=name: _rewrite(found, name, memory, example_words), refused))
        ),
        additions=tuple(
            addition
            for item in items
            if (
                addition := _collect(
                    lambda item=item: _addition(item, _unused_id(make_id, taken), example_words), refused
                )
            )
        ),
        removals=tuple(
            removal
            for item in _items(found, "factsToRemove", refused)
            if (removal := _collect(lambda item=item: _removal(item), refused)) and removal.id not in replaced
        ),
        refused=tuple(refused),
    )


def leaked_example_words(prompt: Prompt) -> frozenset[str]:
    """Return the example's made-up names, case-folded, that neither the conversation nor the memory contains.

    An answer with one of them was copied from the example.
    """
    words = {word.casefold() for language in get_args(Language) for word in load_template(language).example_words}
    shown = prompt.human.casefold()
    return frozenset(word for word in words if word not in shown)


def is_incomplete(answer: Answer) -> bool:
    """Return whether the answer was cut off before its memory update ended."""
    text = _after_thinking(answer.text[:MAX_READ])
    return answer.cut_off and not any(map(_is_update, _valid(text, _openings(text))))


def _after_thinking(text: str) -> str:
    """Return what follows the reasoning of the model: it may contain drafts of the answer."""
    closing = text.rfind("</think>")
    if closing < 0:
        return "" if text.lstrip().startswith("<think>") else text
    opening = text.find("{")
    try:
        _, end = _DECODER.raw_decode(text, opening) if opening >= 0 else (None, 0)
    except (ValueError, RecursionError):
        end = 0
    return text if closing < end else text[closing + len("</think>") :]  # a fact may mention the tag


def _find_update(answer: Answer) -> JsonObject:
    text = _after_thinking(answer.text[:MAX_READ])
    if answer.refused:
        raise UnreadableError("the model refused to answer")
    if not text.strip():
        raise UnreadableError("the answer is empty")
    if is_incomplete(answer):
        found = next(filter(_is_update, _closed(text, _openings(text))), None)
    else:
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
    refused.append(Refusal(item=_preview(items), reason=f"{key} is not a list"))
    return []


def _rewrite(found: JsonObject, name: SectionName, memory: Memory, example_words: AbstractSet[str]) -> Rewrite | None:
    part: object = found.get(SECTIONS[name])
    section = cast("JsonObject", part).get(to_camel(name)) if isinstance(part, dict) else None
    if section is None:
        return None
    if not isinstance(section, dict):
        raise InvalidItemError(_preview(section), f"{to_camel(name)} is not an object")
    fields = cast("JsonObject", section)
    if not _bool(fields.get("shouldUpdate"), default=False):
        return None
    summary = _text(fields.get("summary"))
    if not summary:
        return None
    _refuse_copy(summary, example_words)
    return Rewrite(section=name, summary=summary, base=memory.section(name).summary)


def _addition(item: object, fact_id: str, example_words: AbstractSet[str]) -> Addition:
    fields = _fields(item, main_key="content")
    content = fields.get("content")
    if not isinstance(content, str) or not content.strip():
        raise InvalidItemError(_preview(item), "it has no content")
    _refuse_copy(content, example_words)
    category = str(fields.get("category")).strip().lower()
    return Addition(
        id=fact_id,
        content=clean(content).strip(),
        category=category if category in CATEGORIES else "context",
        confidence=_confidence(fields.get("confidence", 0.5), item),
        source_error=_text(fields.get("sourceError")) or None,
        durable=_bool(fields.get("durable"), default=True),
        about_user=_bool(fields.get("aboutUser"), default=True),
        replaces=_ids(fields.get("replaces")),
    )


def _removal(item: object) -> Removal:
    fields = _fields(item, main_key="id")
    fact_id = fields.get("id")
    if not isinstance(fact_id, str) or not fact_id:
        raise InvalidItemError(_preview(item), "it names no fact to remove")
    return Removal(id=clean(fact_id), reason=_text(fields.get("reason"))[:PREVIEW_CHARS] or "contradicted")


def _refuse_copy(text: str, example_words: AbstractSet[str]) -> None:
    """Refuse an item that a small model copied from the prompt's example instead of the conversation."""
    folded = text.casefold()
    if any(word in folded for word in example_words):
        raise InvalidItemError(text[:PREVIEW_CHARS], "it was copied from the example in the prompt")


def _fields(item: object, *, main_key: str) -> Mapping[str, object]:
    """Return the item's keys and values; a bare value is read as the value of *main_key*."""
    return cast("JsonObject", item) if isinstance(item, dict) else {main_key: item}


def _confidence(value: object, item: object) -> float:
    """Parse a confidence, clamped to [0, 1]; numeric strings are accepted."""
    if value is None:
        return 0.5
    try:
        number = math.nan if isinstance(value, bool) else float(cast("Any", value))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidItemError(_preview(item), f"confidence {_preview(value)} is not a number")
    return min(1.0, max(0.0, number))


def _bool(value: object, *, default: bool) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in {"true", "yes", "1"}
    return value if isinstance(value, bool) else default


def _ids(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(clean(item) for item in items if isinstance(item, str) and item)


def _text(value: object) -> str:
    return clean(value).strip() if isinstance(value, str) else ""


def _preview(value: object) -> str:
    """Return an invalid item, short enough for a report."""
    return clean(repr(value))[:PREVIEW_CHARS]


def _unused_id(make_id: Callable[[], str], taken: set[str]) -> str:
    """Generate an id that no fact has."""
    while (fact_id := make_id()) in taken:
        pass
    taken.add(fact_id)
    return fact_id


# -- JSON in free text ----------------------------------------------------------------------------

_ITEM_LEVEL = 2
_CLOSER = {"{": "}", "[": "]"}
_ENDS_ENTRY = re.compile(r"\s*[,\]]")
_DECODER = json.JSONDecoder(strict=False)
_BRACE_OR_STRING = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)
# a quote that neither opens a string, after one of {[,: nor closes one, before one of ]},:
_MISPLACED = {quotes: re.compile(rf"(?<![{{\[,:])(?<![{{\[,:]\s){quotes}(?!\s*[\]}},:])") for quotes in ('"', "[\"']")}
_OPENING = re.compile(r"\{(?=\s*[\"'A-Za-z_/])")


def find_object(text: str, predicate: Callable[[JsonObject], bool], hint: str) -> JsonObject | None:
    """Return the first JSON object in *text* for which *predicate* is true, repaired if necessary.

    Args:
        text: Any text: prose, code fences, several objects, a truncated end.
        predicate: Returns whether an object is the right one.
        hint: A word that the object's text contains; no opening brace after its last occurrence is tried.

    Returns:
        The object, or None. Malicious text takes well under a second.
    """
    text = text[:MAX_READ]
    openings = _openings(text, hint)
    for candidates in (_valid(text, openings), _repaired(text, openings)):
        for candidate in candidates:
            if predicate(candidate):
                return candidate
    return None


def _openings(text: str, hint: str = "newFacts") -> list[int]:
    """Return the positions of the first opening braces in *text*, up to the last occurrence of *hint*."""
    end = text.rfind(hint, 0, MAX_READ)
    return [match.start() for match in islice(_OPENING.finditer(text, 0, max(end, 0)), MAX_OPENINGS)]


def _valid(text: str, openings: list[int]) -> Iterator[JsonObject]:
    """Yield the objects that are valid JSON, without the objects inside them."""
    read_to = 0
    for opening in openings:
        if opening < read_to:
            continue
        try:
            found, read_to = _DECODER.raw_decode(text, opening)
        except (ValueError, RecursionError):
            continue
        yield cast("JsonObject", found)


def _repaired(text: str, openings: list[int]) -> Iterator[JsonObject]:
    """Yield the objects that can be repaired: trailing commas, single quotes, comments, a truncated end."""
    return _repair(_candidate(text, opening) for opening in openings)


def _closed(text: str, openings: list[int]) -> Iterator[JsonObject]:
    """Yield the objects of a text that was cut off, each without the item in which it ends."""
    return _repair(_closed_items(_candidate(text, opening)) for opening in openings)


def _closed_items(candidate: str) -> str:
    """Return *candidate* up to the last item that is closed, and close what contains it.

    An item is a section, or an entry of a list: a value at the second level.
    """
    closers: list[str] = []
    kept = ""
    for token in _BRACE_OR_STRING.finditer(candidate):
        brace = token.group()
        if brace in _CLOSER:
            closers.append(_CLOSER[brace])
        elif brace in "]}" and closers:
            closers.pop()
        is_list_entry = closers == ["}", "]"]
        if brace[0] == '"' and not (is_list_entry and _ENDS_ENTRY.match(candidate, token.end())):
            continue
        if len(closers) < _ITEM_LEVEL or is_list_entry or (brace == "}" and len(closers) == _ITEM_LEVEL):
            kept = candidate[: token.end()] + "".join(reversed(closers))
    return kept


def _repair(texts: Iterable[str]) -> Iterator[JsonObject]:
    import json_repair

    candidates = filter(_is_cheap, texts)
    for candidate in islice(candidates, MAX_REPAIRS):
        try:
            found = json_repair.loads(candidate)
        except (ValueError, RecursionError):
            continue
        for item in cast("list[object]", found) if isinstance(found, list) else [found]:
            if isinstance(item, dict):
                yield cast("JsonObject", item)


def _is_cheap(candidate: str) -> bool:
    """Return whether json_repair is fast enough on *candidate*: it scans far ahead at every misplaced quote."""
    single = candidate.find("'", 0, 100)
    quotes = "[\"']" if single >= 0 and '"' not in candidate[:single] else '"'
    misplaced = sum(1 for _ in _MISPLACED[quotes].finditer(candidate)) + candidate.count('\\"') // 8
    return bool(candidate) and misplaced * len(candidate) <= MAX_REPAIR_COST


def _candidate(text: str, opening: int) -> str:
    """Return the text from *opening* to its closing brace, or to the end; empty if it is too long or too deep."""
    depth = 0
    for token in _BRACE_OR_STRING.finditer(text, opening):
        brace = token.group()
        if token.start() - opening > MAX_REPAIRED or depth > MAX_REPAIR_DEPTH:
            return ""
        depth += 1 if brace in "{[" else -1 if brace in "}]" else 0
        if depth == 0:
            return text[opening : token.end()]
    return text[opening:] if len(text) - opening <= MAX_REPAIRED else ""
