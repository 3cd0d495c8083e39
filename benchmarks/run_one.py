"""Run one part in this process and write its outcome to a file; all.py runs each part in this way.

python benchmarks/run_one.py update --to FOLDER [--quick]
"""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path

from common import Measurement, Skipped
from plotting import draw
from result import Finding, Outcome, Picture, write_outcome


def to_finding(measured: Measurement, folder: Path) -> Finding:
    """Draw the plots of *measured* into *folder*, and return everything serialisable."""
    drawn = [Picture(plot.name, plot.caption) for plot in measured.plots if draw(plot, folder)]
    return Finding(measured.title, list(measured.rows), drawn, dict(measured.data), list(measured.notes))


def run(name: str, folder: Path, *, quick: bool) -> Outcome:
    """Run the part called *name*."""
    began = time.perf_counter()
    try:
        measured = importlib.import_module(name).measure(quick)
    except Skipped as reason:
        return Outcome(name, time.perf_counter() - began, skipped=str(reason))
    return Outcome(name, time.perf_counter() - began, finding=to_finding(measured, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    write_outcome(run(args.name, args.to, quick=args.quick), args.to)


if __name__ == "__main__":
    main()
