"""memgraph bench: measure what is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memgraph.cli.command import CommandContext, add_command
from memgraph.errors import MemgraphError

RUNNER = Path(__file__).parents[2] / "benchmarks" / "all.py"
"""Beside the package in a source checkout, and nowhere else."""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, bench)


def bench(
    ctx: CommandContext,
    parts: Annotated[
        list[str] | None, typer.Argument(metavar="[PART]...", help="Only these, such as: update recall kill.")
    ] = None,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes, two minutes: does everything still run?")
    ] = False,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="Where RESULTS.md and the plots go.")
    ] = None,
) -> None:
    """Measure all that is claimed, within 20 minutes and offline: benchmarks/RESULTS.md.

    With --quick or PARTs what was found goes into a temporary folder. Settings and memories of yours are not touched.
    """
    import subprocess
    import sys

    command = [
        *(sys.executable, str(_runner())),
        *(["--quick"] if quick else []),
        *(["--to", str(to)] if to else []),
        *(["--json"] if ctx.output.as_json else []),
        *(["--only", *parts] if parts else []),
    ]
    if code := subprocess.run(command, check=False).returncode:  # noqa: S603 - of this checkout
        raise typer.Exit(code)


def _runner() -> Path:
    if not RUNNER.exists():
        raise MemgraphError(
            "the benchmarks come with the source checkout, not with the installed package: clone the repository and "
            "run `make bench` there"
        )
    return RUNNER
