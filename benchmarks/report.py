"""RESULTS.md: what was measured, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from common import table
from result import Outcome

HEAD = """# Results

Written by `make bench`; change nothing here by hand. Figures that would differ at the next run stand with their 95 %
interval: for times the order statistics around the median, for shares a bootstrap over the questions or conversations,
with a fixed seed. "CPU" is the processor time of the process, so other load on the machine counts little; "wall" is the
time that passes. "Must be" is what was promised. A part that could not run says why.
"""


def page(outcomes: Sequence[Outcome], machine: Mapping[str, str], versions: Mapping[str, str]) -> str:
    """Write the page."""
    parts = [line for outcome in outcomes for line in _part(outcome)]
    return "\n".join([HEAD, *_summary(outcomes), *parts, *_machine(machine, versions, outcomes), ""])


def unmet(outcomes: Sequence[Outcome]) -> list[str]:
    """The rows whose bound does not hold."""
    return [
        f"{outcome.name}: {row.name}"
        for outcome in outcomes
        if outcome.finding
        for row in outcome.finding.rows
        if not row.is_met
    ]


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    rows = [row for outcome in outcomes if outcome.finding for row in outcome.finding.rows]
    bounds = [row for row in rows if row.bound]
    met = sum(row.is_met for row in bounds)
    seconds = sum(outcome.seconds for outcome in outcomes)
    yield f"{len(rows)} figures in {seconds / 60:.0f} minutes; {met} of {len(bounds)} bounds are met."
    yield from (f"- not met: {name}" for name in unmet(outcomes))
    yield from (f"- skipped: {outcome.name}, which {outcome.skipped}" for outcome in outcomes if outcome.skipped)
    yield from (f"- **failed**: {outcome.name}" for outcome in outcomes if outcome.failed)
    yield ""


def _part(outcome: Outcome) -> Iterator[str]:
    finding = outcome.finding
    if finding is None:
        yield f"## {outcome.name}\n"
        yield f"Skipped: {outcome.skipped}\n" if outcome.skipped else f"Failed:\n\n```text\n{outcome.failed}\n```\n"
        return
    yield f"## {finding.title}\n"
    yield from table(finding.rows)
    yield ""
    yield from (f"{note}\n" for note in finding.notes)
    yield from (f"![{picture.caption}](plots/{picture.name}.png)\n" for picture in finding.pictures)
    yield f"`python benchmarks/{outcome.name}.py`, {outcome.seconds:.0f} s\n"


def _machine(machine: Mapping[str, str], versions: Mapping[str, str], outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "## Measured on, with, and from\n"
    yield "| | |\n|---|---|"
    yield from (f"| {name} | {value} |" for name, value in machine.items())
    yield f"| packages | {', '.join(f'{name} {number}' for name, number in versions.items())} |"
    data = {name: sha for outcome in outcomes if outcome.finding for name, sha in outcome.finding.data.items()}
    yield from (f"| {name} | sha256 {sha} |" for name, sha in sorted(data.items()))
