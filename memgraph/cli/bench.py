"""memgraph bench: run the benchmarks of the source checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from memgraph.cli.command import CommandContext
from memgraph.errors import MemgraphError

RUNNER = Path(__file__).parents[2] / "benchmarks" / "all.py"
"""Part of a source checkout only, not of the installed package."""


def bench(ctx: CommandContext, parts: list[str] | None = None, *, quick: bool = False, to: Path | None = None) -> None:
    """Run the benchmarks (source checkout only).

    Writes benchmarks/RESULTS.md, offline, in about 20 minutes. With --quick or PART the results go to a temporary
    folder. Your settings and memories are not used.

        memgraph bench --quick
        memgraph bench update recall

    Args:
        parts: Run only these benchmarks, such as: update recall kill.
        quick: Small sizes, as a smoke test (two minutes).
        to: Folder for RESULTS.md and the plots.
    """
    if not RUNNER.exists():
        raise MemgraphError(
            "the benchmarks are part of the source checkout, not of the installed package: clone the repository and "
            "run `make bench` there"
        )
    command = [
        *(sys.executable, str(RUNNER)),
        *(["--quick"] if quick else []),
        *(["--to", str(to)] if to else []),
        *(["--json"] if ctx.output.as_json else []),
        *(["--only", *parts] if parts else []),
    ]
    if code := subprocess.run(command, check=False).returncode:  # noqa: S603 - a script of this checkout
        raise typer.Exit(code)
