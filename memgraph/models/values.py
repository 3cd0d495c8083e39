"""The types of stored values. Reading is lenient: what cannot be understood is kept or read as a default."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Self, TypeGuard, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

MAX_COUNT = 2**53
"""More is read as half of it, so that it can still be counted up: no checkpoint and few readers of JSON hold more."""
_CANONICAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def timestamp(moment: datetime, timespec: str = "seconds") -> str:
    """Return *moment* as ISO 8601 in UTC, by default to the second: `2026-06-11T16:47:59Z`.

    Raises:
        OverflowError: If it is outside the years 1 to 9999 in UTC.
    """
    # not strftime: its %Y has fewer than four digits before the year 1000, and would sort wrong
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def current_time() -> str:
    """Return the time of an edit that is made now."""
    return timestamp(datetime.now(UTC))


def read_time(value: object) -> object:
    """Convert a stored time to the canonical form, reading times without a zone as UTC.

    A text that is not a time, or one outside the years 1 to 9999 in UTC, is kept: stored data is never dropped.
    """
    if value is None:
        return ""
    if isinstance(value, str) and (not value or _CANONICAL_TIME.fullmatch(value)):
        return value
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime):
            return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        pass
    return str(value)


PARTIAL_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?")
"""A year, a month or a day; its groups are their numbers."""


def read_confidence(value: object) -> object:
    """Read a stored confidence, clamped to [0, 1]; a value that is not a number counts as 0.5."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0.5
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.5
    return min(1.0, max(0.0, float(value)))


def read_count(value: object) -> object:
    try:
        count = max(0, int(cast("Any", value)))
    except (TypeError, ValueError, OverflowError):
        return 0
    return count if count <= MAX_COUNT else MAX_COUNT // 2


def read_ids(value: object) -> object:
    return (value,) if isinstance(value, str) else tuple(map(str, as_list(value)))


def last_of(start: K, following: Mapping[K, K]) -> K | None:
    """Return the last of those that follow *start*, each after the one before; None if they follow in a circle.

    Args:
        start: Such as the id of a fact.
        following: What followed, by what it followed.
    """
    seen = set[K]()
    while start in following:
        if start in seen:
            return None
        seen.add(start)
        start = following[start]
    return start


JsonObject = dict[str, object]
"""An object of a stored document, or of an answer."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Return whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether a JSON value is a list."""
    return isinstance(value, list | tuple)


def as_object(value: object) -> JsonObject:
    """Return a JSON value that is an object; for any other an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[object]:
    """Return a JSON value that is a list; for any other an empty one."""
    return list(value) if is_list(value) else []


Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]
OptionalText = Annotated[str | None, BeforeValidator(lambda value: None if value is None else str(value))]
Ids = Annotated[tuple[str, ...], BeforeValidator(read_ids)]
Timestamp = Annotated[str, BeforeValidator(read_time)]
"""ISO 8601, UTC, ending in Z, so that later times sort later; empty if unknown."""
Confidence = Annotated[float, BeforeValidator(read_confidence)]
Count = Annotated[int, BeforeValidator(read_count)]
PartialDate = Text
"""A year, a month or a day of ISO 8601, such as `2026-05`; empty if unknown. A stored text of another form is kept."""


class DocumentModel(BaseModel):
    """A part of the document: camelCase in JSON, snake_case in Python; unknown keys are preserved."""

    model_config = ConfigDict(
        frozen=True, extra="allow", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class DerivingModel(BaseModel):
    """A value that keeps what is derived from its fields, as cached properties: many steps ask for it.

    That is no part of the value: it is neither compared, dumped nor pickled, and a copy, whose fields may differ,
    derives it again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __copy__(self) -> Self:
        copied = super().__copy__()
        for derived in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[derived]
        return copied

    def derive(self, make: Callable[[Self], T]) -> T:
        """Return what *make*, a function of a module, makes of it: kept as a cached property is, and freed with it."""
        kept = vars(self)
        if (name := f"_{make.__module__}.{make.__name__}") not in kept:
            kept[name] = make(self)
        return kept[name]

    def __getstate__(self) -> dict[Any, Any]:
        return super().__getstate__() | {"__dict__": vars(self.__copy__())}
