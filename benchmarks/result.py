"""The outcome of a part, passed as JSON from its process to the one that writes the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common import Row
from pydantic import TypeAdapter


@dataclass(frozen=True)
class Picture:
    """A plot that was saved as an image."""

    name: str
    caption: str


@dataclass(frozen=True)
class Finding:
    """The serialisable part of a Measurement."""

    title: str
    rows: list[Row]
    pictures: list[Picture]
    data: dict[str, str]
    notes: list[str]


@dataclass(frozen=True)
class Outcome:
    """A part that ran, was skipped, or failed: exactly one of *finding*, *skipped* and *failed* is set."""

    name: str
    seconds: float
    finding: Finding | None = None
    skipped: str = ""
    failed: str = ""


_ADAPTER = TypeAdapter(Outcome)
_ADAPTERS = TypeAdapter(list[Outcome])


def write_outcome(outcome: Outcome, folder: Path) -> None:
    """Write *outcome* as JSON into *folder*."""
    (folder / f"{outcome.name}.json").write_bytes(_ADAPTER.dump_json(outcome))


def read_outcome(name: str, folder: Path) -> Outcome:
    """Read the outcome of the part called *name*."""
    return _ADAPTER.validate_json((folder / f"{name}.json").read_bytes())


def as_json(outcomes: list[Outcome]) -> str:
    """Return all outcomes as JSON."""
    return _ADAPTERS.dump_json(outcomes, indent=2, exclude_none=True).decode()
