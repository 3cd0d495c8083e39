"""What became of a part, as it is handed from its process to the one that writes the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common import Row
from pydantic import TypeAdapter


@dataclass(frozen=True)
class Picture:
    """A plot that was drawn."""

    name: str
    caption: str


@dataclass(frozen=True)
class Finding:
    """What a part found, without what only its process can use."""

    title: str
    rows: list[Row]
    pictures: list[Picture]
    data: dict[str, str]
    notes: list[str]


@dataclass(frozen=True)
class Outcome:
    """A part that ran, was skipped, or failed: one of the three is said."""

    name: str
    seconds: float
    finding: Finding | None = None
    skipped: str = ""
    failed: str = ""


_ADAPTER = TypeAdapter(Outcome)
_ADAPTERS = TypeAdapter(list[Outcome])


def write_outcome(outcome: Outcome, folder: Path) -> None:
    """Write it where `read_outcome` finds it."""
    (folder / f"{outcome.name}.json").write_bytes(_ADAPTER.dump_json(outcome))


def read_outcome(name: str, folder: Path) -> Outcome:
    """Read what the part called *name* wrote."""
    return _ADAPTER.validate_json((folder / f"{name}.json").read_bytes())


def as_json(outcomes: list[Outcome]) -> str:
    """All of them, for machines."""
    return _ADAPTERS.dump_json(outcomes, indent=2, exclude_none=True).decode()
