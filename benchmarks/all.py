"""Run all benchmarks, and write RESULTS.md and the plots.

    python benchmarks/all.py                     # 30 minutes on two cores: writes benchmarks/RESULTS.md and plots/
    python benchmarks/all.py --quick             # two minutes, small sizes, as a smoke test
    python benchmarks/all.py --only update kill  # some parts

Only the first command writes into the checkout; the others write to a temporary folder, or to the one given by --to.
Each part runs in its own process. The exit code is 1 if a part failed; a bound that is not met is only reported, since
it may be due to the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from common import HERE, table
from machine import describe_machine, versions
from report import render_report, unmet
from result import Outcome, as_json, read_outcome

PARTS = (
    *(
        "update",
        "start",
        "first_minute",
        "recall",
        "episode_recall",
        "own_recall",
        "silence",
        "recall_speed",
        "extraction",
    ),
    *("history", "duplicates", "fifty_days", "life_changes", "judgement"),
    *(
        "statements",
        "answers",
        "secret_masking",
        "provenance",
        "attacks",
        "orders",
        "debounce",
        "invoker",
        "langmem_background",
    ),
    *(
        "upkeep",
        "rebuild",
        "langmem_ends",
        "langmem_updates",
        "kill",
        "erase",
        "storages",
        "servers",
        "scale",
        "agents",
        "attachments",
        "file_memory",
        "page",
    ),
    "ablation",
)
LIMIT_SECONDS = 1_800
"""Of a part, also on a busy machine: recall of episodes takes five minutes of CPU with an embedding model."""
STDERR_LINES = 12


def run(name: str, folder: Path, *, quick: bool) -> Outcome:
    """Run a part in its own process; an error there becomes part of the outcome."""
    if not (HERE / f"{name}.py").exists():
        return Outcome(name, 0, failed=f"benchmarks/{name}.py does not exist")
    command = [sys.executable, str(HERE / "run_one.py"), name, "--to", str(folder), *(["--quick"] if quick else [])]
    began = time.perf_counter()
    # a new session, so that every process it starts can be killed with it
    process = subprocess.Popen(  # noqa: S603
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
        start_new_session=True,
    )
    try:
        _, stderr = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome(name, time.perf_counter() - began, failed=f"not finished after {LIMIT_SECONDS} s")
    finally:
        _kill(process)
    if process.returncode:
        return Outcome(name, time.perf_counter() - began, failed=_last_lines(stderr))
    return read_outcome(name, folder)


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill the processes of a part."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr:
        process.stderr.close()


def _environment() -> dict[str, str]:
    """Return the environment without variables that select a real model or enable tracing.

    A part that measures an embedding model names it.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "LANGSMITH_"))}
    return inherited | {"LANGSMITH_TRACING": "false", "MEMGRAPH_EMBEDDING": "none"}


def _last_lines(stderr: str) -> str:
    """Return the last lines, without absolute paths."""
    text = stderr.replace(f"{HERE.parent}{os.sep}", "").replace(str(Path(sys.prefix)), "PYTHON")
    return "\n".join(text.strip().splitlines()[-STDERR_LINES:])


def print_outcome(outcome: Outcome) -> None:
    """Print the outcome of a part to stderr."""
    message = f"FAILED\n{outcome.failed}" if outcome.failed else f"skipped: it {outcome.skipped}"
    if finding := outcome.finding:
        message = "\n".join(["done\n", *table(finding.rows), ""])
    print(f"{outcome.name}, {outcome.seconds:.0f} s: {message}", file=sys.stderr, flush=True)


def measure(names: Sequence[str], folder: Path, *, quick: bool) -> list[Outcome]:
    """Run these parts one after the other."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="memgraph-bench-") as scratch:
        for name in names:
            outcomes.append(run(name, Path(scratch), quick=quick))
            print_outcome(outcomes[-1])
        _copy_plots(Path(scratch, "plots"), folder / "plots")
    return outcomes


def _copy_plots(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for picture in source.glob("*.png"):
        (target / picture.name).write_bytes(picture.read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, two minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"one or more of {', '.join(PARTS)}")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="output folder for RESULTS.md and plots/")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    args = parser.parse_args()
    is_full = not args.quick and not args.only
    folder = args.to or (HERE if is_full else Path(tempfile.mkdtemp(prefix="memgraph-results-")))
    began, described = time.perf_counter(), describe_machine()
    outcomes = measure(args.only or PARTS, folder, quick=args.quick)
    (folder / "RESULTS.md").write_text(render_report(outcomes, described, versions()), encoding="utf-8")
    if args.json:
        print(as_json(outcomes))
    for name in unmet(outcomes):
        print(f"not met: {name}", file=sys.stderr)
    print(f"{time.perf_counter() - began:.0f} s in total; see {folder / 'RESULTS.md'}", file=sys.stderr)
    return int(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
