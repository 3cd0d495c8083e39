"""Measure all that is claimed, and write RESULTS.md and the plots.

    python benchmarks/all.py                     # 20 minutes on two cores: writes benchmarks/RESULTS.md and plots/
    python benchmarks/all.py --quick             # two minutes, small sizes: does everything still run?
    python benchmarks/all.py --only update kill  # some parts

Only the first writes into the checkout; the others write into a folder for temporary files, or the one of --to. Each
part runs in a process of its own. The exit code is 1 where a part failed; a bound that is not met is reported only,
since it may be the machine's fault.
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
from machine import machine, versions
from report import page, unmet
from result import Outcome, as_json, read_outcome

PARTS = (
    *("update", "start", "recall", "own_recall", "recall_speed", "extraction"),
    *("debounce", "invoker", "langmem_background", "langmem_ends", "langmem_updates", "kill", "storages", "servers"),
    *("agents", "attachments", "file_memory"),
)
LIMIT_SECONDS = 600
KEPT_LINES = 12


def run(name: str, folder: Path, *, quick: bool) -> Outcome:
    """Run a part in a process of its own; what goes wrong there is its outcome."""
    if not (HERE / f"{name}.py").exists():
        return Outcome(name, 0, failed=f"there is no benchmarks/{name}.py")
    command = [sys.executable, str(HERE / "run_one.py"), name, "--to", str(folder), *(["--quick"] if quick else [])]
    began = time.perf_counter()
    # a session of its own, so that all it started can be ended with it
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_quiet(), start_new_session=True
    )
    try:
        _, said = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome(name, time.perf_counter() - began, failed=f"it was not done after {LIMIT_SECONDS} s")
    finally:
        _end(process)
    if process.returncode:
        return Outcome(name, time.perf_counter() - began, failed=_end_of(said))
    return read_outcome(name, folder)


def _end(process: subprocess.Popen[str]) -> None:
    """End what is left of a part."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr:
        process.stderr.close()


def _quiet() -> dict[str, str]:
    """The environment, less what would ask a real model or tell somebody of the run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "LANGSMITH_"))}
    return kept | {"LANGSMITH_TRACING": "false"}


def _end_of(stderr: str) -> str:
    """The last lines, without the folders that the files are in."""
    text = stderr.replace(f"{HERE.parent}{os.sep}", "").replace(str(Path(sys.prefix)), "PYTHON")
    return "\n".join(text.strip().splitlines()[-KEPT_LINES:])


def tell(outcome: Outcome) -> None:
    """Say on the terminal what became of a part."""
    said = f"FAILED\n{outcome.failed}" if outcome.failed else f"skipped: it {outcome.skipped}"
    if finding := outcome.finding:
        said = "\n".join(["done\n", *table(finding.rows), ""])
    print(f"{outcome.name}, {outcome.seconds:.0f} s: {said}", file=sys.stderr, flush=True)


def measure(names: Sequence[str], folder: Path, *, quick: bool) -> list[Outcome]:
    """Run these parts, one after the other."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="memgraph-bench-") as scratch:
        for name in names:
            outcomes.append(run(name, Path(scratch), quick=quick))
            tell(outcomes[-1])
        _keep_plots(Path(scratch, "plots"), folder / "plots")
    return outcomes


def _keep_plots(drawn: Path, kept: Path) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    for picture in drawn.glob("*.png"):
        (kept / picture.name).write_bytes(picture.read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, two minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where RESULTS.md and plots/ go")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    given = parser.parse_args()
    whole = not given.quick and not given.only
    folder = given.to or (HERE if whole else Path(tempfile.mkdtemp(prefix="memgraph-results-")))
    began, on = time.perf_counter(), machine()
    outcomes = measure(given.only or PARTS, folder, quick=given.quick)
    (folder / "RESULTS.md").write_text(page(outcomes, on, versions()), encoding="utf-8")
    if given.json:
        print(as_json(outcomes))
    for name in unmet(outcomes):
        print(f"not met: {name}", file=sys.stderr)
    print(f"{time.perf_counter() - began:.0f} s in all; see {folder / 'RESULTS.md'}", file=sys.stderr)
    return int(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
