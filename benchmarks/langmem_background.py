"""The background beside LangMem's ReflectionExecutor: how fast, and how soon a caller goes on.

python benchmarks/langmem_background.py [--quick]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common import Measured, Plot, Row, alone, median_row
from comparison import MODEL_SECONDS, ours, talk, theirs
from fakes import langmem

from memgraph import Scope

NOTES = (
    (
        "LangMem's local executor keeps what waits in the memory of the process and works it off in one thread; "
        "several executors are several threads. It does not claim to survive the end of its process: the figures are"
        " beside each other so that the difference can be seen, not because it broke a promise. For a durable queue "
        "it has a remote executor over a LangGraph server, which is not compared here. Its store is in RAM, ours a "
        "file; its submission is in RAM too, so ours is shown both in RAM and on disk."
    ),
)


# -- throughput -----------------------------------------------------------------------------------


def our_throughput(conversations: int, at_once: int) -> tuple[float, float]:
    """Seconds and CPU seconds until all conversations are learned from, on disk."""
    with tempfile.TemporaryDirectory() as folder, ours(Path(folder), at_once=at_once) as invoker:
        began, spent = time.perf_counter(), time.process_time()
        for number in range(conversations):
            invoker.submit(talk(number), Scope(f"user-{number}"), "t")
        assert invoker.flush(240)
        return time.perf_counter() - began, time.process_time() - spent


def their_throughput(conversations: int, executors: int) -> tuple[float, float]:
    """The same of LangMem, in RAM."""
    with theirs(executors) as submit:
        began, spent = time.perf_counter(), time.process_time()
        for future in [submit(number) for number in range(conversations)]:
            future.result()
        return time.perf_counter() - began, time.process_time() - spent


def throughput(conversations: int) -> list[Row]:
    """Conversations a minute, and CPU of each."""
    our_throughput(2, 1), their_throughput(2, 1)  # what is loaded once a process is nobody's time
    rows: list[Row] = []
    runs: list[tuple[str, Callable[[], tuple[float, float]]]] = [
        ("memgraph, 4 at once", lambda: our_throughput(conversations, 4)),
        ("memgraph, 16 at once", lambda: our_throughput(conversations, 16)),
        ("LangMem, one executor", lambda: their_throughput(conversations, 1)),
        ("LangMem, 4 executors", lambda: their_throughput(conversations, 4)),
    ]
    for name, run in runs:
        seconds, cpu = run()
        rows += [
            Row(f"{conversations} conversations: {name}", seconds, "s wall"),
            Row(f"an update: {name}", cpu / conversations * 1e3, "ms CPU"),
        ]
    return rows


# -- handing over ---------------------------------------------------------------------------------


def submit_times(submit: Callable[[int], object], count: int) -> list[float]:
    """Milliseconds of each submission, less the first."""
    times: list[float] = []
    for number in range(count + 1):
        began = time.perf_counter()
        submit(number)
        times.append((time.perf_counter() - began) * 1e3)
    return times[1:]


def submits(count: int) -> list[Row]:
    """What handing over costs while nothing runs."""
    with tempfile.TemporaryDirectory() as folder, ours(Path(folder), debounce=3_600) as invoker:
        disk = submit_times(lambda number: invoker.submit(talk(number), Scope(f"user-{number}"), "t"), count)
    with ours(None, debounce=3_600) as invoker:
        ram = submit_times(lambda number: invoker.submit(talk(number), Scope(f"user-{number}"), "t"), count)
    with theirs(drop=True) as submit:
        other = submit_times(lambda number: submit(number, 3_600), count)
    return [
        median_row("submit: memgraph, on disk", disk, "ms wall"),
        median_row("submit: memgraph, in RAM", ram, "ms wall"),
        median_row("submit: LangMem, in RAM", other, "ms wall"),
    ]


# -- picture --------------------------------------------------------------------------------------


def throughput_plot(rows: Sequence[Row], conversations: int) -> Plot:
    """How long all takes, and the least that a model of that speed allows."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        runs = [(row.name.partition(": ")[2], row.value) for row in rows if row.unit == "s wall"][::-1]
        axes.barh([name for name, _ in runs], [seconds for _, seconds in runs], color=["C1", "C1", "C0", "C0"])
        for place, (_, seconds) in enumerate(runs):
            axes.text(seconds, place, f" {seconds:.1f} s", va="center")
        axes.set_xlim(0, 1.1 * max(seconds for _, seconds in runs))
        for place, at_once in enumerate((4, 1, 16, 4)):
            axes.vlines(conversations * MODEL_SECONDS / at_once, place - 0.4, place + 0.4, color="k", linestyle=":")
        axes.set(
            xlabel=f"seconds for {conversations} conversations, a model of {MODEL_SECONDS} s (dotted: the model's own)"
        )

    return Plot("background_throughput", "Conversations learned from, beside LangMem.", draw, height=2.6)


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure both."""
    langmem()
    conversations, count = (4, 100) if quick else (96, 1_000)
    speed = throughput(conversations)
    plots = [throughput_plot(speed, conversations)]
    return Measured("The background, beside LangMem", [*speed, *submits(count)], plots, notes=NOTES)


if __name__ == "__main__":
    alone(measure)
