"""Startup of the command line: CPU of whole processes.

python benchmarks/start.py [--quick]
"""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common import Measurement, Row, at_most, median_row, run_standalone
from datasets import make_memory

from memgraph import Scope, open_storage

PROMPT = b"you> "
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Of the processes: the first call, which is not counted, writes the bytecode that an installed package has."""


def cpu_of(run: Callable[[], object], rounds: int) -> list[float]:
    """Return the CPU seconds of the processes that *run* waits for (user and system).

    The first call is not counted: it fills the caches.
    """

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    figures: list[float] = []
    for _ in range(rounds + 1):
        before = spent()
        run()
        figures.append(spent() - before)
    return figures[1:]


def child_cpu(*command: str, rounds: int) -> list[float]:
    """Return the CPU seconds of a command."""
    return cpu_of(lambda: subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT), rounds)  # noqa: S603


def run_until_prompt(*command: str) -> None:
    """Run a command at a pseudo-terminal until it prompts for input, and kill it.

    Raises:
        RuntimeError: If it ends without a prompt.
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRONMENT) as process:  # noqa: S603
        os.close(theirs)
        screen = b""
        try:
            while PROMPT not in screen:
                screen += os.read(ours, 65_536)
        except OSError as error:  # the other end is closed
            raise RuntimeError(f"no prompt, but {screen!r}") from error
        finally:
            process.kill()
            process.wait()
            os.close(ours)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure startup."""
    rounds = 1 if quick else 15
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
        chat = (*memgraph, "chat", "--user", "ada", "--model", "offline", "--outbox", "memory:", *common[2:])
        prompted = cpu_of(lambda: run_until_prompt(*chat), rounds)
        rows.append(median_row("memgraph chat until its first prompt", prompted, "s CPU", at_most(1.0)))
        said = Path(folder, "said.json")
        said.write_text(json.dumps([{"role": "user", "content": "I live in Lisbon."}]), "utf-8")
        learned = child_cpu(*memgraph, "update", str(said), *common, "--model", "offline", rounds=rounds)
        rows.append(median_row("memgraph update, one sentence, offline", learned, "s CPU", at_most(1.2)))
    return Measurement(
        "Startup",
        rows,
        notes=[
            "Whole processes, including Python's own startup; a memory of 100 facts. The chat is at a pseudo-terminal."
        ],
    )


if __name__ == "__main__":
    run_standalone(measure)
