"""Tagged blocks that were put into a message by a machine, cut out again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

Span = tuple[int, int]

UPLOADS = ("uploaded_files", "current_uploads")
"""Where an application lists the files that came with a message."""

MEMORY = ("memory",)
"""Where memory itself was injected."""


_OPENING = r"<{0}(?:\s[^<>]{{0,500}})?>"


def without_blocks(text: str, names: tuple[str, ...]) -> str:
    """Return *text* less every block `<name>...</name>`, in any case, with what is in it.

    A closing tag belongs to the nearest opening one, so that `#include <memory>` opens nothing. An opening
    tag that is never closed takes the rest of the text with it where it stands alone on its line - there a
    block was cut short - and is a mention of the tag everywhere else. Each tag is looked at once.
    """
    if "<" not in text:
        return text
    spans = sorted(span for name in names for span in _blocks(text, name))
    kept, end = list[str](), 0
    for start, stop in spans:
        kept.append(text[end:start])
        end = max(end, stop)
    return "".join([*kept, text[end:]])


@cache
def _tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s*>|{_OPENING.format(name)}", re.IGNORECASE)


def _blocks(text: str, name: str) -> Iterator[Span]:
    opened: list[re.Match[str]] = []
    for tag in _tag(name).finditer(text):
        if not tag[0].startswith("</"):
            opened.append(tag)
        elif opened:
            yield opened.pop().start(), tag.end()
    alone = {tag.start(1) for tag in _lone_tag(name).finditer(text)} if opened else frozenset[int]()
    if (cut := next((tag.start() for tag in opened if tag.start() in alone), None)) is not None:
        yield cut, len(text)


@cache
def _lone_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*({_OPENING.format(name)})[ \t]*$", re.IGNORECASE | re.MULTILINE)
