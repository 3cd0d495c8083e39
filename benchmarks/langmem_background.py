"""Background updates compared with LangMem's ReflectionExecutor: throughput, and latency of submit.

python benchmarks/langmem_background.py [--quick]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common import Measurement, Plot, Row, median_row, run_standalone
from comparison import MODEL_SECONDS, langmem_executors, make_conversation, memgraph_invoker
from fakes import langmem

from memgraph import Scope

NOTES = (
    (
        "LangMem's local executor keeps its queue in RAM and processes it in one thread; several executors are several "
        "threads. It does not claim to survive the end of its process: the comparison shows a difference, not a broken "
        "promise. For a durable queue LangMem has a remote executor on a LangGraph server, which is not compared here. "
        "Its store and its submissions are in RAM; memgraph's memories are files, and its submissions are measured "
        "both in RAM and on disk."
    ),
)


# -- throughput -----------------------------------------------------------------------------------


def memgraph_throughput(conversations: int, at_once: int) -> tuple[float, float]:
    """Return seconds and CPU seconds until memgraph has processed all conversations, on disk."""
    with tempfile.TemporaryDirectory() as folder, memgraph_invoker(Path(folder), at_once=at_once) as invoker:
        began, spent = time.perf_counter(), time.process_time()
        for number in range(conversations):
            invoker.submit(make_conversation(number), Scope(f"user-{number}"), "t")
        assert invoker.flush(240)
        return time.perf_counter() - began, time.process_time() - spent


def langmem_throughput(conversations: int, executors: int) -> tuple[float, float]:
    """Return the same for LangMem, in RAM."""
    with langmem_executors(executors) as submit:
        began, spent = time.perf_counter(), time.process_time()
        for future in [submit(number) for number in range(conversations)]:
            future.result()
        return time.perf_counter() - began, time.process_time() - spent


def throughput(conversations: int) -> list[Row]:
    """Measure the time for all conversations, and the CPU of each update."""
    memgraph_throughput(2, 1), langmem_throughput(2, 1)  # exclude what is loaded once per process
    rows: list[Row] = []
    runs: list[tuple[str, Callable[[], tuple[float, float]]]] = [
        ("memgraph, 4 at once", lambda: memgraph_throughput(conversations, 4)),
        ("memgraph, 16 at once", lambda: memgraph_throughput(conversations, 16)),
        ("LangMem, one executor", lambda: langmem_throughput(conversations, 1)),
        ("LangMem, 4 executors", lambda: langmem_throughput(conversations, 4)),
    ]
    for name, run in runs:
        seconds, cpu = run()
        rows += [
            Row(f"{conversations} conversations: {name}", seconds, "s wall"),
            Row(f"an update: {name}", cpu / conversations * 1e3, "ms CPU"),
        ]
    return rows


# -- submissions ---------------------------------------------------------------------------------


def submit_times(submit: Callable[[int], object], count: int) -> list[float]:
    """Return the milliseconds of each submission except the first."""
    times: list[float] = []
    for number in range(count + 1):
        began = time.perf_counter()
        submit(number)
        times.append((time.perf_counter() - began) * 1e3)
    return times[1:]


def submit_rows(count: int) -> list[Row]:
    """Measure submit while no update runs."""
    with tempfile.TemporaryDirectory() as folder, memgraph_invoker(Path(folder), debounce=3_600) as invoker:
        disk = submit_times(
            lambda number: invoker.submit(make_conversation(number), Scope(f"user-{number}"), "t"), count
        )
        invoker.close(wait=False)  # nothing is to be learned
    with memgraph_invoker(None, debounce=3_600) as invoker:
        ram = submit_times(
            lambda number: invoker.submit(make_conversation(number), Scope(f"user-{number}"), "t"), count
        )
        invoker.close(wait=False)
    with langmem_executors(drop=True) as submit:
        other = submit_times(lambda number: submit(number, 3_600), count)
    return [
        median_row("submit: memgraph, on disk", disk, "ms wall"),
        median_row("submit: memgraph, in RAM", ram, "ms wall"),
        median_row("submit: LangMem, in RAM", other, "ms wall"),
    ]


# -- plot --------------------------------------------------------------------------------------


def throughput_plot(rows: Sequence[Row], conversations: int) -> Plot:
    """Plot the total time, and the minimum that the model's latency allows."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        runs = [(row.name.partition(": ")[2], row.value) for row in rows if row.unit == "s wall"][::-1]
        axes.barh([name for name, _ in runs], [seconds for _, seconds in runs], color=["C1", "C1", "C0", "C0"])
        for index, (_, seconds) in enumerate(runs):
            axes.text(seconds, index, f" {seconds:.1f} s", va="center")
        axes.set_xlim(0, 1.1 * max(seconds for _, seconds in runs))
        for index, at_once in enumerate((4, 1, 16, 4)):
            axes.vlines(conversations * MODEL_SECONDS / at_once, index - 0.4, index + 0.4, color="k", linestyle=":")
        axes.set(
            xlabel=f"seconds for {conversations} conversations, a model of {MODEL_SECONDS} s (dotted: the model alone)"
        )

    return Plot("background_throughput", "Time to process all conversations, compared with LangMem.", draw, height=2.6)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure memgraph and LangMem."""
    langmem()
    conversations, count = (4, 100) if quick else (96, 1_000)
    speed = throughput(conversations)
    plots = [throughput_plot(speed, conversations)]
    return Measurement("Background updates, compared with LangMem", [*speed, *submit_rows(count)], plots, notes=NOTES)


if __name__ == "__main__":
    run_standalone(measure)
