"""Cost of an update without the model: CPU by node, prompt tokens, model calls, memory use.

python benchmarks/update.py [--quick]
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from common import Bound, Measurement, Plot, Row, at_most, median_row, run_standalone
from datasets import conversation, cpu_ms, fact_of_turn, learning_model, make_memory, new_turns, some_episodes
from langchain_core.messages import BaseMessage

from memgraph import Context, Policy, Scope, build_graph, open_storage
from memgraph.analysis.tokens import count_tokens
from memgraph.testing import ScriptedModel, update_answer

SIZES = (10, 100, 1_000, 10_000)
CPU_BOUNDS = {100: at_most(30), 1_000: at_most(45), 10_000: at_most(150)}
TOKEN_BOUNDS = {1_000: at_most(6_000)}
EPISODES = 3_000
USER = Scope("ada")
PEAK = """
import sys
from update import peak_mb, prepared_update
with prepared_update(int(sys.argv[1])) as act:
    act()
print(peak_mb())
"""


class Update:
    """Runs the graph repeatedly on one memory, each time with a new thread."""

    def __init__(self, graph: Any, model: ScriptedModel) -> None:  # noqa: ANN401
        self._graph = graph
        self._threads = count()
        self.model = model

    def __call__(self, number: int = 0) -> None:
        del number
        number = next(self._threads)
        self._graph.invoke({"messages": _said_in(number)}, context=_context_of(number))

    def by_node(self) -> dict[str, float]:
        """Return the CPU of each step in ms, including LangGraph's overhead."""
        spent: dict[str, float] = {}
        start = time.process_time()
        number = next(self._threads)
        conversation, context = {"messages": _said_in(number)}, _context_of(number)
        for step in self._graph.stream(conversation, context=context, stream_mode="updates"):
            now = time.process_time()
            spent[next(iter(step))] = (now - start) * 1_000
            start = now
        return spent


def _said_in(number: int) -> list[BaseMessage]:
    """Return the conversation of a thread, in words of its own."""
    return conversation(start=20 * number)


def _context_of(number: int) -> Context:
    return Context(user_id=USER.user_id, thread_id=f"t{number}")


@contextmanager
def prepared_update(facts: int) -> Iterator[Update]:
    """Yield an update of a memory of that many facts, in files, after a first run that loads all modules.

    The memory is full, so its size is constant: each update adds one fact and evicts one. It also has 3,000
    episodes, to which each update adds ten.
    """
    model = ScriptedModel(lambda prompt: update_answer(fact_of_turn(new_turns(prompt)[0])))
    with tempfile.TemporaryDirectory() as folder:
        storage = open_storage(f"file:{folder}")
        storage.save(USER, make_memory(facts))
        storage.append_episodes(USER, some_episodes(EPISODES), Policy())
        update = Update(build_graph(model=model, storage=storage, policy=Policy(max_facts=facts)), model)
        update()
        yield update


def tokens_of(prompt: Sequence[BaseMessage]) -> int:
    """Return the number of tokens of a prompt."""
    return sum(count_tokens(str(message.content)) for message in prompt)


def format_size(facts: int) -> str:
    return f"{facts:,} facts"


# -- measurements -----------------------------------------------------------------------------


def costs(sizes: Sequence[int], rounds: int) -> tuple[list[Row], list[Row]]:
    """Measure CPU and prompt tokens of an update by the size of the memory."""
    cpu: list[Row] = []
    tokens: list[Row] = []
    for facts in sizes:
        with prepared_update(facts) as update:
            spent = cpu_ms(update, rounds)
            cpu.append(median_row(f"update, {format_size(facts)}", spent, "ms CPU", CPU_BOUNDS.get(facts)))
            prompt = tokens_of(update.model.asked[0])
        tokens.append(Row(f"prompt, {format_size(facts)}", prompt, "tokens", bound=TOKEN_BOUNDS.get(facts)))
    return cpu, tokens


def steps(facts: int, rounds: int) -> list[Row]:
    """Measure the CPU of each node at one size."""
    spent = defaultdict[str, list[float]](list)
    with prepared_update(facts) as update:
        for _ in range(rounds):
            for node, ms in update.by_node().items():
                spent[node].append(ms)
    return [median_row(f"{node}, {format_size(facts)}", figures, "ms CPU") for node, figures in spent.items()]


def calls() -> list[Row]:
    """Count model calls."""
    model = learning_model()
    graph = build_graph(model=model, storage="memory:")

    def count_calls(messages: Sequence[BaseMessage]) -> int:
        before = len(model.asked)
        graph.invoke({"messages": messages}, context=Context(user_id="ada", thread_id="t1"))
        return len(model.asked) - before

    few, zero, one = conversation(20), at_most(0), at_most(1)
    first, again, longer = count_calls(few), count_calls(few), count_calls(conversation(22))
    return [
        _calls("a conversation of 20 messages", first, one),
        _calls("the same conversation again", again, zero),
        _calls("the same conversation with one more exchange", longer, one),
    ]


def _calls(name: str, number: int, bound: Bound) -> Row:
    return Row(f"model calls: {name}", number, bound=bound)


def peak_mb() -> float:
    """Return the peak memory of this process, on Linux without that of the process it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def peaks(sizes: Sequence[int]) -> list[Row]:
    """Measure the peak memory of a new process that runs two updates."""
    here = str(Path(__file__).parent)

    def peak(facts: int) -> float:
        command = [sys.executable, "-c", PEAK, str(facts)]
        return float(subprocess.run(command, check=True, capture_output=True, cwd=here, text=True).stdout)  # noqa: S603

    return [Row(f"peak memory of the process, {format_size(facts)}", peak(facts), "MB") for facts in sizes]


# -- plot --------------------------------------------------------------------------------------


def growth(sizes: Sequence[int], cpu: Sequence[Row], tokens: Sequence[Row]) -> Plot:
    """Plot CPU and prompt tokens against the size of the memory."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        figure = axes.figure
        axes.remove()
        left, right = figure.subplots(1, 2)
        spread = [[row.value - (row.low or 0) for row in cpu], [(row.high or 0) - row.value for row in cpu]]
        left.errorbar(sizes, [row.value for row in cpu], yerr=spread, marker="o", capsize=3, label="measured")
        _bounds(left, CPU_BOUNDS, sizes)
        left.set(yscale="log", title="CPU of an update, ms")
        left.set_yticks([5, 10, 20, 50, 100, 200], ["5", "10", "20", "50", "100", "200"])
        right.plot(sizes, [row.value for row in tokens], marker="o", label="measured")
        _bounds(right, TOKEN_BOUNDS, sizes)
        right.set(ylim=(0, 6_500), title="tokens of its prompt")
        for part in (left, right):
            part.set(xscale="log", xlabel="facts in the memory")
            part.set_xticks(sizes, [f"{size:,}" for size in sizes])
            part.legend(loc="lower right")

    return Plot("update_growth", "An update of 20 messages against the size of the memory.", draw, 8, 3.4)


def _bounds(axes: Any, bounds: Mapping[int, Bound], sizes: Sequence[int]) -> None:  # noqa: ANN401
    shown = [(size, bound.value) for size, bound in bounds.items() if size in sizes]
    if shown:
        axes.plot(*zip(*shown, strict=True), "k_", markersize=16, label="at most")


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure updates."""
    sizes, rounds = (SIZES[:2], 8) if quick else (SIZES, 60)
    cpu, tokens = costs(sizes, rounds)
    rows = [*cpu, *tokens, *steps(min(1_000, sizes[-1]), rounds), *calls(), *peaks(sizes[::3] if quick else sizes)]
    note = (
        "20 new messages, a memory in a file, a model without latency; medians of the CPU of the process. The figure "
        "of a node includes LangGraph's overhead."
    )
    return Measurement(
        "An update",
        rows,
        [growth(sizes, cpu, tokens)],
        notes=[note],
    )


if __name__ == "__main__":
    run_standalone(measure)
