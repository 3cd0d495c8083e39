"""Marks: spans that an application states itself, since it knows what it added to a message.

HumanMessage(context + question, additional_kwargs={"memgraph_spans": [{"start": 0, "end": 120, "origin": "relayed"}]})
HumanMessage([{"type": "text", "text": context, "memgraph_origin": "relayed"}, {"type": "text", "text": question}])
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from pydantic import TypeAdapter, ValidationError

from memgraph.models import Span, SpanOrigin
from memgraph.models.conversation import merge_spans

logger = logging.getLogger("memgraph.analysis")

SPANS_KEY = "memgraph_spans"
"""The key of `additional_kwargs` with the spans of a message whose content is text, by positions in the content."""
BY_TOOL_KEY = "memgraph_by_tool"
"""The key of `additional_kwargs` of a message in which a model reports what the user said."""
ORIGIN_KEY = "memgraph_origin"
"""The key of a block of content with the origin of its text."""

_ORIGIN = TypeAdapter[SpanOrigin](SpanOrigin)


class MarkedPart(NamedTuple):
    """A part of a message's content, as it was sent, and the origin that the application states."""

    content: object
    origin: SpanOrigin


def marked_parts(content: object, additional: Mapping[str, object]) -> list[MarkedPart]:
    """Return the parts of *content* in order, all of it; none if nothing is marked.

    Args:
        content: The content of a message.
        additional: Its `additional_kwargs`. What is not a valid mark there is ignored, and logged.
    """
    if isinstance(content, str):
        if SPANS_KEY not in additional:
            return []
        spans = merge_spans(_read_spans(additional.get(SPANS_KEY), len(content)))
        return list(_cut(content, spans)) if spans else []
    blocks = cast("list[object]", content) if isinstance(content, list) else list[object]()
    parts = [MarkedPart(block, _read_origin(block)) for block in blocks]
    return parts if any(part.origin != "user" for part in parts) else []


def locate_parts(parts: Sequence[MarkedPart], text: str, read: Callable[[object], str]) -> tuple[Span, ...]:
    """Return the spans of *parts* in *text*, which was read from the whole content and may have lost some of it.

    If one is not found, everything after the one before is taken for it: what is marked never becomes the user's words.

    Args:
        parts: Those of `marked_parts`.
        text: What was read from the content.
        read: Reads the text of a part in the same way.
    """
    spans: list[Span] = []
    end = position = 0
    for part in parts:
        words = read(part.content)
        if part.origin == "user":
            position += len(words)  # at most as far as this part really goes, since the ends of parts are stripped
        elif words:
            start = text.find(words, position)
            position = len(text) if start < 0 else start + len(words)
            spans.append(Span(start=end if start < 0 else start, end=position, origin=part.origin))
            end = position
    return merge_spans(spans)


def change_marked(
    content: str, additional: Mapping[str, object], change: Callable[[str], str]
) -> tuple[str, Mapping[str, object]]:
    """Return *content* with each part changed, and *additional* with the marks where these parts are now."""
    parts = marked_parts(content, additional)
    if not parts:
        return change(content), additional
    text, spans = "", list[dict[str, object]]()
    for part in parts:
        changed = change(str(part.content))
        if changed and part.origin != "user":
            spans.append({"start": len(text), "end": len(text) + len(changed), "origin": part.origin})
        text += changed
    return text, {**additional, SPANS_KEY: spans}


def _cut(content: str, spans: Sequence[Span]) -> Iterator[MarkedPart]:
    end = 0
    for span in spans:
        yield MarkedPart(content[end : span.start], "user")
        yield MarkedPart(content[span.start : span.end], span.origin)
        end = span.end
    yield MarkedPart(content[end:], "user")


def _read_spans(value: object, length: int) -> Iterator[Span]:
    if value is None:
        return
    for item in cast("list[object]", value) if isinstance(value, list | tuple) else [value]:
        try:
            span = Span.model_validate(item)
        except ValidationError as error:
            _log_invalid(SPANS_KEY, error)
        else:
            if span.origin != "user" and span.start < length:
                yield span.model_copy(update={"end": min(span.end, length)})


def _read_origin(block: object) -> SpanOrigin:
    value = cast("Mapping[str, object]", block).get(ORIGIN_KEY) if isinstance(block, Mapping) else None
    if value is None:
        return "user"
    try:
        return _ORIGIN.validate_python(value)
    except ValidationError as error:
        _log_invalid(ORIGIN_KEY, error)
        return "user"


def _log_invalid(key: str, error: ValidationError) -> None:
    problem = error.errors(include_input=False, include_url=False, include_context=False)[0]
    path = ".".join(map(str, problem["loc"]))
    logger.warning("%s of a message is ignored: %s", key, f"{path}: {problem['msg']}" if path else problem["msg"])
