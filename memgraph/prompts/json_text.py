"""JSON of answers: its schema, and text that is nearly JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal, TypeVar

from memgraph.analysis.normalize import clean_json
from memgraph.models.values import as_list
from memgraph.policy import Policy

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

Bracket = Literal["{", "["]

T = TypeVar("T")

_ITEM_LEVEL = 2
_CLOSER = {"{": "}", "[": "]"}
_ENDS_ENTRY = re.compile(r"\s*[,\]]")
_DECODER = json.JSONDecoder(strict=False)
_BRACE_OR_STRING = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)
# a quote that neither opens a string, after one of {[,: nor closes one, before one of ]},:
_MISPLACED = {quotes: re.compile(rf"(?<![{{\[,:])(?<![{{\[,:]\s){quotes}(?!\s*[\]}},:])") for quotes in ('"', "[\"']")}
_OPENING = {"{": re.compile(r"\{(?=\s*[\"'A-Za-z_/])"), "[": re.compile(r"\[(?=\s*[\"'{\]])")}


def find_last(text: str, read: Callable[[object], T | None], opening: Bracket, *, repair: bool = True) -> T | None:
    """Return what *read* makes of the last JSON value in *text* that it accepts, repaired if none is valid.

    The strings that *read* gets are clean, see `memgraph.analysis.normalize.clean_json`.

    Args:
        text: Any text: prose, code fences, several values, a truncated end.
        read: Returns None for a value that is not the right one.
        opening: With which the value begins: an object or a list.
        repair: Whether text that is not valid JSON is repaired.

    Returns:
        None if no value is accepted. Malicious text takes well under a second.
    """
    text = text[:MAX_READ]
    found = [result for value in _valid(text, opening) if (result := read(value)) is not None]
    if found or not repair:
        return found[-1] if found else None
    return _find_repaired(text, read, opening, str)


def find_closed(text: str, read: Callable[[object], T | None], opening: Bracket) -> T | None:
    """Return what *read* makes of the first value of a text that was cut off, without the item in which it ends."""
    return _find_repaired(text[:MAX_READ], read, opening, _closed_items)


def _find_repaired(
    text: str, read: Callable[[object], T | None], opening: Bracket, prepare: Callable[[str], str]
) -> T | None:
    """Return what *read* makes of the first value that it accepts, each prepared and then repaired."""
    starts = islice(_OPENING[opening].finditer(text), MAX_OPENINGS)
    values = _repair((prepare(_candidate(text, start.start())) for start in starts), opening)
    return next((result for value in values if (result := read(value)) is not None), None)


def is_open(text: str, opening: Bracket) -> bool:
    """Return whether *text* ends within its last value; of an object, the last brace alone may be missing.

    A string that runs to a closing bracket at the end is a stray quotation mark.
    """
    depth, token, start = 0, None, _OPENING[opening].search(text)
    while start:
        for token in _BRACE_OR_STRING.finditer(text, start.start()):
            depth += 1 if token.group() in "{[" else -1 if token.group() in "]}" else 0
            if depth == 0:
                break
        start = _OPENING[opening].search(text, token.end()) if token and depth == 0 else None
    is_stray = token is not None and token.group()[0] == '"' and token.end() == len(text) and text.endswith(("}", "]"))
    if not depth or not token or is_stray:
        return False
    lacks_brace = depth == 1 and opening == "{" and token.group() in "]}"
    return not lacks_brace or text[token.end() :].lstrip().startswith(",")


def end_of_object(text: str, opening: int) -> int:
    """Return where the valid object ends that begins at *opening*; 0 if there is none."""
    try:
        return _DECODER.raw_decode(text, opening)[1]
    except (ValueError, RecursionError):
        return 0


def _valid(text: str, opening: Bracket) -> list[object]:
    """Return the values that are valid JSON, without the values inside them."""
    values: list[object] = []
    position = 0
    for _ in range(MAX_OPENINGS):
        match = _OPENING[opening].search(text, position)
        if match is None:
            break
        try:
            found, position = _DECODER.raw_decode(text, match.start())
            values.append(clean_json(found))
        except (ValueError, RecursionError):
            position = match.end()
    return values


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


def _repair(texts: Iterable[str], opening: Bracket) -> Iterator[object]:
    import json_repair

    candidates = filter(_is_cheap, texts)
    for candidate in islice(candidates, MAX_REPAIRS):
        try:
            found = clean_json(json_repair.loads(candidate))
        except (ValueError, RecursionError):
            continue
        if opening == "[":
            yield found
            continue
        yield from (item for item in as_list(found) or [found] if isinstance(item, dict))


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


# -- schema -----------------------------------------------------------------------------------------

StructuredOutput = Literal["auto", "none", "json_schema", "function_calling"]
"""How the format of the answer is enforced: `auto` is a JSON schema unless the model refuses it, `none` the prompt
alone, `function_calling` a tool call."""

JsonSchema = dict[str, Any]
SchemaFactory = Callable[[bool], JsonSchema]
"""Makes the schema of an answer, whether or not it has to be strict."""

_TEXT: JsonSchema = {"type": "string"}
_TEXTS: JsonSchema = {"type": "array", "items": _TEXT}
# the quote first: a small model that has copied the user's words invents less
_REQUIRED: JsonSchema = {"turn": {"type": "integer"}, "quote": _TEXT, "content": _TEXT}
_VALUE: JsonSchema = {"anyOf": [*({"type": name} for name in ("string", "number", "boolean", "null")), _TEXTS]}
"""A value of a profile; one of another shape is written as the text of its JSON."""
_OPTIONAL: JsonSchema = {
    "date": _TEXT,
    "until": _TEXT,
    "slot": _TEXT,
    "replaces": _TEXTS,
    "sourceError": _TEXT,
    "confidence": {"type": "number"},
}


def answer_schema(policy: Policy, strict: bool) -> JsonSchema:  # noqa: FBT001 - a SchemaFactory
    """Return the schema of an answer with what *policy* asks for.

    *strict* is as OpenAI's strict mode requires: every property is required, and null stands for none. Otherwise a
    property without a value is left out, which saves a local model a quarter of the tokens.
    """
    required = {**_REQUIRED, "category": {"type": "string", "enum": list(policy.category_names)}}
    optional = {"summaries": _summaries(policy, strict=strict)} if policy.summaries == "update" else {}
    if policy.profile:
        names = list(policy.profile.model_fields)
        field: JsonSchema = {"field": {"type": "string", "enum": names}, "value": _VALUE, "quote": _TEXT}
        optional["profile"] = _array(field, {}, strict=strict)
    return {
        "title": "memory_update",
        "description": "What is new about the user.",
        **json_object({"newFacts": _array(required, _OPTIONAL, strict=strict)}, optional, strict=strict),
    }


def upkeep_schema(policy: Policy, strict: bool) -> JsonSchema:  # noqa: FBT001 - a SchemaFactory
    """Return the schema of an answer to the upkeep."""
    merges = _array({"ids": _TEXTS, "content": _TEXT}, {}, strict=strict)
    summaries = {"summaries": _summaries(policy, strict=strict)}
    return {
        "title": "memory_upkeep",
        "description": "Which facts are one, which no longer hold, and the summaries that change.",
        **json_object({"merge": merges, "end": _TEXTS}, summaries, strict=strict),
    }


def _summaries(policy: Policy, *, strict: bool) -> JsonSchema:
    names = [section.name for section in policy.sections]
    return _array({"section": {"type": "string", "enum": names}, "text": _TEXT}, {}, strict=strict)


def _array(required: JsonSchema, optional: JsonSchema, *, strict: bool) -> JsonSchema:
    return {"type": "array", "items": json_object(required, optional, strict=strict)}


def json_object(required: JsonSchema, optional: JsonSchema, *, strict: bool) -> JsonSchema:
    """Return the schema of an object with these properties and no others."""
    if strict:
        optional = {name: _nullable(schema) for name, schema in optional.items()}
    return {
        "type": "object",
        "properties": required | optional,
        "required": [*required, *optional] if strict else list(required),
        "additionalProperties": False,
    }


def _nullable(schema: JsonSchema) -> JsonSchema:
    """Return *schema* with null as a further value; an empty array needs none."""
    return schema if schema["type"] == "array" else {**schema, "type": [schema["type"], "null"]}
