"""Startup of the command line: CPU of whole processes.

python benchmarks/start.py [--quick]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile

from common import Measurement, Row, at_most, median_row, run_standalone
from datasets import make_memory

from memgraph import Scope, open_storage


def child_cpu(*command: str, rounds: int) -> list[float]:
    """Return the CPU seconds of child processes (user and system), without the first one, which fills the caches."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    figures: list[float] = []
    for _ in range(rounds + 1):
        before = spent()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        figures.append(spent() - before)
    return figures[1:]


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure startup."""
    rounds = 3 if quick else 15
    bare = min(child_cpu(sys.executable, "-c", "pass", rounds=rounds))
    imported = [cpu - bare for cpu in child_cpu(sys.executable, "-c", "import memgraph", rounds=rounds)]
    memgraph = (sys.executable, "-m", "memgraph")
    with tempfile.TemporaryDirectory() as folder:
        open_storage(f"file:{folder}").save(Scope("ada"), make_memory(100))
        common = ("--user", "ada", "--storage", f"file:{folder}")
        rows: list[Row] = [
            median_row("import memgraph", imported, "s CPU", at_most(0.1), "less that of Python itself"),
            median_row("memgraph --help", child_cpu(*memgraph, "--help", rounds=rounds), "s CPU", at_most(0.3)),
            median_row("memgraph show", child_cpu(*memgraph, "show", *common, rounds=rounds), "s CPU", at_most(0.6)),
            median_row("memgraph recall", child_cpu(*memgraph, "recall", "tea?", *common, rounds=rounds), "s CPU"),
        ]
    return Measurement(
        "Startup", rows, notes=["Whole processes, including Python's own startup; a memory of 100 facts."]
    )


if __name__ == "__main__":
    run_standalone(measure)
