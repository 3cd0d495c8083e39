"""What an update costs besides the model: CPU, prompt tokens, and the start of the command line.

    python benchmarks/update.py

Prints a table. CPU is that of this process by time.process_time, so other load does not count; the lower
quartile is given, since noise only ever adds.
"""

from __future__ import annotations

import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memgraph import Context, Fact, Memory, Policy, Scope, Section, build_graph, open_storage
from memgraph.testing import ScriptedModel, update_answer
from memgraph.text.tokens import count_tokens

ROUNDS = 40
TOPICS = [
    "gardens",
    "trains",
    "ships",
    "bread",
    "Python",
    "uv",
    "LangGraph",
    "tests",
    "tea",
    "chess",
    "maps",
    "rivers",
    "music",
    "physics",
]


def memory_of(facts: int) -> Memory:
    """A memory as one that has been used for long: facts of about 20 tokens, and all six summaries."""
    memory = Memory(
        facts=tuple(
            Fact(
                content=f"Works with {TOPICS[n % 14]} and {TOPICS[n * 5 % 14]} in project {n}, version {n % 9}.{n % 7}",
                category="context",
                confidence=0.9,
                created_at=f"2026-01-{n % 28 + 1:02}T00:00:00Z",
                source=f"thread_{n % 50}",
            )
            for n in range(facts)
        )
    )
    for name, _ in memory.sections():
        memory = memory.with_section(name, Section(summary="Works on several projects at once. " * 8))
    return memory


def conversation(messages: int = 20) -> list[BaseMessage]:
    """A conversation of everyday length."""
    return [
        (HumanMessage, AIMessage)[n % 2](f"Turn {n}: how do {TOPICS[n % 14]} go with {TOPICS[n * 3 % 14]}? " * 3)
        for n in range(messages)
    ]


def cpu_ms(act: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Lower quartile and median of the CPU time of *act*, in ms."""
    spent: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        act()
        spent.append((time.process_time() - start) * 1_000)
    return statistics.quantiles(spent, n=4)[0], statistics.median(spent)


def update_cost(facts: int) -> tuple[float, float, int]:
    """CPU of one update on a memory of that many facts, and the tokens of its prompt."""
    threads = count()
    facts_said = count()
    model = ScriptedModel(lambda _: update_answer(f"Learned thing number {next(facts_said)}."))
    with tempfile.TemporaryDirectory() as folder:
        storage = open_storage(f"file:{folder}")
        storage.save(Scope("ada"), memory_of(facts))
        graph = build_graph(model=model, storage=storage, policy=Policy(max_facts=10_000))

        def update() -> None:
            context = Context(user_id="ada", thread_id=f"t{next(threads)}")
            graph.invoke({"messages": conversation()}, context=context)

        update()
        quartile, median = cpu_ms(update)
    return quartile, median, sum(count_tokens(str(message.content)) for message in model.asked[-1])


def child_cpu(*command: str, rounds: int = 7) -> float:
    """Least CPU seconds of a child process: user and system."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    figures: list[float] = []
    for _ in range(rounds):
        before = spent()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        figures.append(spent() - before)
    return min(figures)


def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}\n")
    print("| update, 20 messages, file storage | CPU ms, lower quartile | median | prompt tokens | must stay under |")
    print("|---|---|---|---|---|")
    for facts, bound in ((100, "20 ms"), (1_000, "50 ms, 6,000 tokens")):
        quartile, median, tokens = update_cost(facts)
        print(f"| {facts:,} facts | {quartile:.1f} | {median:.1f} | {tokens:,} | {bound} |")
    print("\n| start | CPU s, least of 7 | must stay under |")
    print("|---|---|---|")
    bare = child_cpu(sys.executable, "-c", "pass")
    memgraph = [sys.executable, "-m", "memgraph"]
    with tempfile.TemporaryDirectory() as folder:
        open_storage(f"file:{folder}").save(Scope("ada"), memory_of(100))
        show = [*memgraph, "show", "--user", "ada", "--storage", f"file:{folder}"]
        print(f"| import memgraph | {child_cpu(sys.executable, '-c', 'import memgraph') - bare:.2f} | 0.1 |")
        print(f"| memgraph --help | {child_cpu(*memgraph, '--help'):.2f} | 0.3 |")
        print(f"| memgraph show | {child_cpu(*show):.2f} | 0.6 |")


if __name__ == "__main__":
    main()
