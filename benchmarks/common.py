"""Shared by all benchmarks: rows with 95 % intervals, plots and input data.

Each part is a file of this folder with a function `measure(quick) -> Measurement`.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

HERE = Path(__file__).parent
DRAWS = 2_000
SEED = 20_260_801


class Skipped(Exception):  # noqa: N818 - not an error
    """A part cannot run here; the message is a requirement, such as "needs PostgreSQL"."""


@dataclass(frozen=True)
class Bound:
    """The limit that a figure must satisfy."""

    value: float
    is_floor: bool

    def holds(self, value: float) -> bool:
        return value >= self.value if self.is_floor else value <= self.value

    def describe(self, unit: str) -> str:
        return f"at {'least' if self.is_floor else 'most'} {format_figure(self.value, unit)}"


def at_most(value: float) -> Bound:
    """Return an upper bound."""
    return Bound(value, is_floor=False)


def at_least(value: float) -> Bound:
    """Return a lower bound."""
    return Bound(value, is_floor=True)


@dataclass(frozen=True)
class Row:
    """One figure, with its 95 % interval and its bound.

    Args:
        name: What was measured; unique within its part.
        value: The figure.
        unit: "share" for a value from 0 to 1; for times "ms CPU" or "ms wall"; a noun for counts.
        low: Lower end of the 95 % interval.
        high: Upper end.
        bound: The promised limit, if any.
        note: A remark for the reader.
    """

    name: str
    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None
    bound: Bound | None = None
    note: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the bound holds; True without one."""
        return self.bound is None or self.bound.holds(self.value)


@dataclass(frozen=True)
class Plot:
    """A plot: *draw* receives the axes, and is called only if matplotlib is installed."""

    name: str
    caption: str
    draw: Callable[..., None]
    width: float = 7
    height: float = 4


@dataclass(frozen=True)
class Measurement:
    """The result of a part."""

    title: str
    rows: Sequence[Row]
    plots: Sequence[Plot] = ()
    data: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: Sequence[str] = ()


# -- intervals ------------------------------------------------------------------------------------


def bootstrap(units: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> tuple[float, float]:
    """Return the 95 % interval of *statistic*, by resampling *units* with a fixed seed."""
    draw = random.Random(SEED)  # noqa: S311
    found = sorted(statistic(draw.choices(units, k=len(units))) for _ in range(DRAWS))
    return found[int(DRAWS * 0.025)], found[int(DRAWS * 0.975)]


def share_row(name: str, hits: Sequence[float], bound: Bound | None = None, note: str = "") -> Row:
    """Return the mean of *hits*, each from 0 to 1, with a bootstrap interval."""
    import numpy as np

    drawn = np.random.default_rng(SEED).choice(np.asarray(hits, dtype=float), (DRAWS, len(hits))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Row(name, statistics.fmean(hits), "share", float(low), float(high), bound, note)


def quantile_row(
    name: str, samples: Sequence[float], share: float, unit: str, *, bound: Bound | None = None, note: str = ""
) -> Row:
    """Return a quantile of *samples*; the interval is between order statistics."""
    ordered, count = sorted(samples), len(samples)
    spread = 1.96 * math.sqrt(count * share * (1 - share))
    low, high = max(0, math.floor(count * share - spread)), min(count - 1, math.ceil(count * share + spread))
    middle = statistics.median(ordered) if share == 0.5 else ordered[min(count - 1, int(count * share))]
    return Row(name, middle, unit, ordered[low], ordered[high], bound, note)


def median_row(name: str, samples: Sequence[float], unit: str, bound: Bound | None = None, note: str = "") -> Row:
    """Return the median of *samples*."""
    return quantile_row(name, samples, 0.5, unit, bound=bound, note=note)


# -- formatting --------------------------------------------------------------------------------------


def format_figure(value: float, unit: str = "") -> str:
    """Format a figure: shares with three decimals, integers in full, other values with three significant digits."""
    if unit == "share":
        return f"{value:.3f}"
    if float(value).is_integer() or abs(value) >= 1_000:
        return f"{value:,.0f}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 4)}f}"


def sha256_of(path: Path) -> str:
    """Return the hash of a file that a part reads."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| what | measured | 95 % interval | must be | |"
    yield "|---|---|---|---|---|"
    for row in rows:
        yield f"| {' | '.join(_cells(row))} |"


def _cells(row: Row) -> tuple[str, ...]:
    unit = "" if row.unit == "share" else row.unit
    known = row.low is not None and row.high is not None
    interval = f"{format_figure(row.low or 0, row.unit)} to {format_figure(row.high or 0, row.unit)}" if known else ""
    verdict = "" if row.bound is None else "met" if row.is_met else "**not met**"
    bound = row.bound.describe(row.unit) if row.bound else ""
    name = f"{row.name} ({row.note})" if row.note else row.name
    return name, f"{format_figure(row.value, row.unit)} {unit}".strip(), interval, bound, verdict


def run_standalone(measure: Callable[[bool], Measurement]) -> None:
    """Run one part on its own and print its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small sizes, as a smoke test")
    try:
        measured = measure(parser.parse_args().quick)
    except Skipped as reason:
        raise SystemExit(f"skipped: {reason}") from None
    print(f"{measured.title}\n", *table(measured.rows), "", *measured.notes, sep="\n")
