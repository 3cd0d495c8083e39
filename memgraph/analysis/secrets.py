"""Secrets in free text: find, mask or remove keys, tokens, passwords and the numbers of persons.

The kinds that have a shape are in `secret_kinds`, those known by a name before the value in `secret_names`. Secrets in
settings are known by their keys instead; see `memgraph._validation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from memgraph.analysis.normalize import lower
from memgraph.analysis.secret_kinds import BEGINNINGS, CUE_CHARS, KINDS_OF_SHAPE, LITERALS, VISIBLE_CHARS, SecretKind
from memgraph.analysis.secret_names import KINDS_BY_NAME

MASK = "***"
"""Stands for a secret, or for the rest of one of which the first characters are visible."""
REMOVED = "[removed]"
_REPLACED = re.compile(r"\*\*\*|\[removed\]")

KINDS = (*(kind for _, kinds in KINDS_OF_SHAPE for kind in kinds), *KINDS_BY_NAME)
_MASKED = re.compile(rf"(?:.{{0,{VISIBLE_CHARS}}}\*\*\*|\[?removed)\W*")


class Secret(NamedTuple):
    """A secret and its position in a text."""

    kind: str
    """A noun phrase such as "an AWS access key"."""
    start: int
    end: int


def find_secrets(text: str) -> Iterator[Secret]:
    """Yield the secrets in *text*, by kind; they may overlap. What `mask` and `redact` leave is none."""
    for kind, start, end in _find(text):
        yield Secret(kind.name, start, end)


def mask(text: str) -> str:
    """Return *text* with each secret replaced by `***`; of keys, tokens and card numbers four characters stay."""
    return _replace_secrets(text, lambda secret, visible: f"{secret[:visible]}{MASK}")


def mask_json(value: object) -> object:
    """Return a JSON value with all its texts masked, but not its keys and ids."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return {key: item if key in _ID_KEYS else mask_json(item) for key, item in items}
    return [mask_json(item) for item in cast("list[object]", value)] if isinstance(value, list) else value


_ID_KEYS = frozenset({"id", "tool_call_id", "call_id"})


def redact(text: str) -> str:
    """Return *text* with each secret replaced by `[removed]`."""
    return _replace_secrets(text, lambda _secret, _visible: REMOVED)


def _find(text: str) -> Iterator[tuple[SecretKind, int, int]]:
    lowered = lower(text)
    starts = {
        name: [match.start() for match in begins.finditer(lowered)]
        for name, begins in BEGINNINGS.items()
        if any(map(lowered.__contains__, LITERALS[name]))
    }
    shapes = (kind for mark, kinds in KINDS_OF_SHAPE if mark.search(text) for kind in kinds)
    for kind in (*shapes, *KINDS_BY_NAME):
        if kind.names and not any(map(starts.get, kind.names)):
            continue
        for match in _matches_after(kind, starts, text) if kind.is_after_name else kind.pattern.finditer(text):
            start, end = match.span("secret" if "secret" in kind.pattern.groupindex else 0)
            if _is_secret(kind, text, start, end):
                yield kind, start, end


def _matches_after(kind: SecretKind, starts: Mapping[str, Sequence[int]], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of *kind* that begin where a name of it does, at *starts*, and do not overlap."""
    end = 0
    for start in sorted({start for name in kind.names for start in starts.get(name, ())}):
        if start >= end and (match := kind.pattern.match(text, start)):
            yield match
            end = match.end()


def _is_secret(kind: SecretKind, text: str, start: int, end: int) -> bool:
    if kind.cue or kind.no_cue:
        before = _before(text, start)
        if (kind.cue and not kind.cue.search(before)) or (kind.no_cue and kind.no_cue.search(before)):
            return False
    return not _MASKED.fullmatch(text, start, end) and (kind.is_valid is None or kind.is_valid(text[start:end]))


def _before(text: str, start: int) -> str:
    """Return where the cue of a secret may be. A cue before another secret is that one's, also when it is masked."""
    return _REPLACED.split(text[max(0, start - CUE_CHARS) : start])[-1]


def _replace_secrets(text: str, replace: Callable[[str, int], str]) -> str:
    """Replace secrets until there is none: what stood next to one may have hidden another one's shape."""
    while (replaced := _replace_found(text, replace)) != text:
        text = replaced
    return text


def _replace_found(text: str, replace: Callable[[str, int], str]) -> str:
    found = sorted(_find(text), key=lambda found: (found[1], -found[2]))
    if not found:
        return text
    parts, position = list[str](), 0
    for kind, start, end in found:
        if end <= position:
            continue
        if start >= position:  # or it overlaps the one before, which already has its replacement
            parts += [text[position:start], replace(text[start:end], kind.visible)]
        position = end
    return "".join([*parts, text[position:]])
