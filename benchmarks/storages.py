"""8 processes save 50 facts each into one memory: none may be lost, and this is how long it takes.

    python benchmarks/storages.py [--quick]

PostgreSQL is tried where it is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from cluster import postgres_url
from common import Measured, Row, Skipped, alone, at_least, at_most

from memgraph.models import Scope
from memgraph.storage import open_storage

LEARNER = """
import sys, time
from memgraph.errors import RevisionConflictError
from memgraph.models import Fact, Scope
from memgraph.storage import open_storage

url, who, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
scope, races = Scope("benchmark"), 0
with open_storage(url) as storage:
    storage.load(scope)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(times):
        while True:
            memory = storage.load(scope)
            try:
                storage.save(scope, memory.with_facts((*memory.facts, Fact(content=f"{who}-{number}"))))
                break
            except RevisionConflictError:
                races += 1
print(races)
"""


def rows_of(url: str, processes: int, saves: int) -> list[Row]:
    """What became of the facts, and what it took."""
    with open_storage(url) as storage:
        scope = Scope("benchmark")
        learners = [_start(url, number, saves) for number in range(processes)]
        started = time.perf_counter()
        with ThreadPoolExecutor(processes) as threads:
            races = sum(threads.map(lambda learner: int(learner.communicate("go\n")[0]), learners))
        seconds = time.perf_counter() - started
        contents = [fact.content for fact in storage.load(scope).facts]
    said, every = url.partition(":")[0], processes * saves
    return [
        Row(f"{said}: facts kept, of {every}", len(set(contents)), bound=at_least(every)),
        Row(f"{said}: facts kept twice", len(contents) - len(set(contents)), bound=at_most(0)),
        Row(f"{said}: saves that lost a race and were done again", races),
        Row(f"{said}: a save, all processes together", seconds / every * 1e3, "ms wall"),
    ]


def _start(url: str, number: int, saves: int) -> subprocess.Popen[str]:
    learner = subprocess.Popen(  # noqa: S603 - the script above
        [sys.executable, "-c", LEARNER, url, str(number), str(saves)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert learner.stdout
    learner.stdout.readline()
    return learner


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure each storage."""
    processes, saves = (2, 10) if quick else (8, 50)
    with tempfile.TemporaryDirectory() as folder:
        places = (f"file:{folder}", f"sqlite:{folder}/memory.db")
        rows = [row for url in places for row in rows_of(url, processes, saves)]
    notes = [f"{processes} processes at once, {saves} saves each, all into one memory: the hardest case there is."]
    try:
        with postgres_url() as url:
            rows += rows_of(url, processes, saves)
    except Skipped as reason:
        notes.append(f"PostgreSQL is left out: it {reason}.")
    return Measured("Many processes, one memory", rows, notes=notes)


if __name__ == "__main__":
    alone(measure)
