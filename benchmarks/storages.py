"""8 processes save 50 facts each into one memory: are any lost, and how long does a save take? And a large import.

    python benchmarks/storages.py [--quick]

PostgreSQL is included if it is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from cluster import postgres_url
from common import Measurement, Row, Skipped, at_least, at_most, run_standalone

from memgraph.editing import merge_memory, read_document
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.storage import open_storage

WRITER = """
import sys, time
from memgraph.errors import RevisionConflictError
from memgraph.models import Fact, Scope
from memgraph.storage import open_storage

url, who, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
scope, conflicts = Scope("benchmark"), 0
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
                conflicts += 1
print(conflicts)
"""


def rows_of(url: str, processes: int, saves: int) -> list[Row]:
    """Count facts and conflicts, and time the saves."""
    with open_storage(url) as storage:
        scope = Scope("benchmark")
        writers = [_start(url, number, saves) for number in range(processes)]
        started = time.perf_counter()
        with ThreadPoolExecutor(processes) as threads:
            conflicts = sum(threads.map(lambda writer: int(writer.communicate("go\n")[0]), writers))
        seconds = time.perf_counter() - started
        contents = [fact.content for fact in storage.load(scope).facts]
    scheme, total = url.partition(":")[0], processes * saves
    return [
        Row(f"{scheme}: facts stored, of {total}", len(set(contents)), bound=at_least(total)),
        Row(f"{scheme}: facts stored twice", len(contents) - len(set(contents)), bound=at_most(0)),
        Row(f"{scheme}: saves retried after a conflict", conflicts),
        Row(f"{scheme}: a save, all processes together", seconds / total * 1e3, "ms wall"),
    ]


def _start(url: str, number: int, saves: int) -> subprocess.Popen[str]:
    writer = subprocess.Popen(  # noqa: S603 - the script above
        [sys.executable, "-c", WRITER, url, str(number), str(saves)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout
    writer.stdout.readline()
    return writer


def import_rows(count: int) -> list[Row]:
    """Time the import of a document of *count* facts into a memory that has half of them."""
    facts = tuple(Fact(content=f"Has visited the harbour of place {number}.") for number in range(count))
    data = MemoryDocument(facts=facts).model_dump_json(by_alias=True).encode()
    started = time.process_time()
    merged = merge_memory(MemoryDocument(facts=facts[::2]), read_document(data, "facts.json"))
    seconds = time.process_time() - started
    name = f"import of {count:,} facts, half of them known"
    return [
        Row(f"{name}: facts in the end", len(merged.facts), bound=at_least(count)),
        Row(f"{name}: read and merged", seconds, "s CPU", bound=at_most(5)),
    ]


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure each storage."""
    processes, saves = (2, 10) if quick else (8, 50)
    with tempfile.TemporaryDirectory() as folder:
        urls = (f"file:{folder}", f"sqlite:{folder}/memory.db")
        rows = [row for url in urls for row in rows_of(url, processes, saves)]
    imported = import_rows(1_000 if quick else 100_000)
    notes = [f"{processes} concurrent processes, {saves} saves each, all into one memory: the worst case."]
    try:
        with postgres_url() as url:
            rows += rows_of(url, processes, saves)
    except Skipped as reason:
        notes.append(f"PostgreSQL is left out: it {reason}.")
    return Measurement("Many processes, one memory", [*rows, *imported], notes=notes)


if __name__ == "__main__":
    run_standalone(measure)
