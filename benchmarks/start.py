"""How soon the command line starts: CPU of whole processes.

python benchmarks/start.py [--quick]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile

from common import Measured, Row, alone, at_most, median_row
from datasets import memory_of

from memgraph import Scope, open_storage


def child_cpu(*command: str, rounds: int) -> list[float]:
    """CPU of child processes in s, user and system, the first one left out: it reads what the rest find cached."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    figures: list[float] = []
    for _ in range(rounds + 1):
        before = spent()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        figures.append(spent() - before)
    return figures[1:]


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure starts."""
    rounds = 3 if quick else 15
    bare = min(child_cpu(sys.executable, "-c", "pass", rounds=rounds))
    imported = [cpu - bare for cpu in child_cpu(sys.executable, "-c", "import memgraph", rounds=rounds)]
    memgraph = (sys.executable, "-m", "memgraph")
    with tempfile.TemporaryDirectory() as folder:
        open_storage(f"file:{folder}").save(Scope("ada"), memory_of(100))
        common = ("--user", "ada", "--storage", f"file:{folder}")
        rows: list[Row] = [
            median_row("import memgraph", imported, "s CPU", at_most(0.1), "less that of Python itself"),
            median_row("memgraph --help", child_cpu(*memgraph, "--help", rounds=rounds), "s CPU", at_most(0.3)),
            median_row("memgraph show", child_cpu(*memgraph, "show", *common, rounds=rounds), "s CPU", at_most(0.6)),
            median_row("memgraph recall", child_cpu(*memgraph, "recall", "tea?", *common, rounds=rounds), "s CPU"),
        ]
    return Measured("The start", rows, notes=["Whole processes, a memory of 100 facts; Python's own start included."])


if __name__ == "__main__":
    alone(measure)
