"""8 processes save 50 facts each into one memory: none may be lost, and this is how long it takes.

python benchmarks/storages.py                             # file and sqlite
python benchmarks/storages.py postgresql://HOST/DATABASE  # which is used, and holds user "benchmark" afterwards
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from memgraph.models import Scope
from memgraph.storage import open_storage

PROCESSES = 8
SAVES = 50
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


def measure(url: str) -> None:
    """Print what became of the facts, and what it took."""
    with open_storage(url) as storage:
        scope = Scope("benchmark")
        storage.delete(scope)
        learners = [_start(url, number) for number in range(PROCESSES)]
        started = time.perf_counter()
        with ThreadPoolExecutor(PROCESSES) as threads:
            races = sum(threads.map(lambda learner: int(learner.communicate("go\n")[0]), learners))
        seconds = time.perf_counter() - started
        contents = [fact.content for fact in storage.load(scope).facts]
    print(
        f"{storage.name.partition(':')[0]:>12}: {len(set(contents))} of {PROCESSES * SAVES} facts, "
        f"{len(contents) - len(set(contents))} twice, {seconds:.1f} s, {races} lost races"
    )


def _start(url: str, number: int) -> subprocess.Popen[str]:
    learner = subprocess.Popen(  # noqa: S603 - the script above
        [sys.executable, "-c", LEARNER, url, str(number), str(SAVES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert learner.stdout
    learner.stdout.readline()
    return learner


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for url in (f"file:{folder}", f"sqlite:{folder}/memory.db", *sys.argv[1:]):
            measure(url)
