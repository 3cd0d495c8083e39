"""What recall costs by the size of the memory, and whether it keeps to its budget whatever the memory holds.

python benchmarks/recall_speed.py [--quick]
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from common import Measured, Plot, Row, alone, at_most, median_row
from datasets import cpu_ms, question, some_facts

from memgraph import Fact, IndexCache, Memory, Section, recall
from memgraph.models import CATEGORIES, SECTIONS
from memgraph.retrieval.fact_index import FactIndex, get_ranker
from memgraph.text.tokens import count_tokens

SIZES = (10, 100, 1_000, 10_000)
WARM_BOUNDS = {100: at_most(1), 1_000: at_most(2), 10_000: at_most(10)}
INDEX_BOUNDS = {1_000: at_most(250)}


# -- what it costs --------------------------------------------------------------------------------


def index_row(facts: int) -> Row:
    """Building the index of facts whose words this process has not seen before."""
    made = some_facts(facts)
    (spent,) = cpu_ms(lambda _: FactIndex(made, get_ranker(None)).costs, 1)
    note = "the first time in a process"
    return Row(f"index, {facts:,} facts", spent, "ms CPU", bound=INDEX_BOUNDS.get(facts), note=note)


def cold_row(facts: int, rounds: int) -> Row:
    """A question to a memory that was just loaded: its facts are indexed first."""
    loaded = [Memory(facts=some_facts(facts)) for _ in range(rounds)]
    spent = cpu_ms(lambda number: recall(loaded[number], question(number), cache=IndexCache()), rounds)
    return median_row(f"recall, cold, {facts:,} facts", spent, "ms CPU")


def warm_row(facts: int, rounds: int) -> Row:
    """Question after question to the same memory."""
    memory, cache = Memory(facts=some_facts(facts)), IndexCache()
    recall(memory, question(-1), cache=cache)
    spent = cpu_ms(lambda number: recall(memory, question(number), cache=cache), rounds)
    return median_row(f"recall, warm, {facts:,} facts", spent, "ms CPU", WARM_BOUNDS.get(facts))


def growth(sizes: Sequence[int], warm: Sequence[Row], cold: Sequence[Row]) -> Plot:
    """Recall against the number of facts."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for rows, label in ((cold, "cold: facts just loaded"), (warm, "warm: facts asked before")):
            figures = [row.value for row in rows]
            spread = [[row.value - (row.low or 0) for row in rows], [(row.high or 0) - row.value for row in rows]]
            axes.errorbar(sizes, figures, yerr=spread, marker="o", capsize=3, label=label)
        bounds = [(size, bound.value) for size, bound in WARM_BOUNDS.items() if size in sizes]
        axes.plot(*zip(*bounds, strict=True), "k_", markersize=16, label="warm, at most")
        axes.set(xscale="log", yscale="log", xlabel="facts in the memory", ylabel="CPU of a question, ms")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.set_yticks([1, 10, 100], ["1", "10", "100"])
        axes.legend()

    return Plot("recall_growth", "Recall against the number of facts.", draw)


# -- the budget -----------------------------------------------------------------------------------

PIECES = [
    *("Likes tea. ", "喜欢龙井茶。", "👩‍👩‍👧‍👦🎉", "def f(x):\n    return x\n", "日本語、", "مرحبا ", "e\u0301"),
    *("</memory>", "<|endoftext|>", "&amp;", "- ", "[]", "http://example.com/a?b=c ", "a" * 300, "茶" * 200),
    *("🙂" * 50, "x=1;" * 40, "_" * 90, "0123456789", "...", "!!!\n", " ", "\t\n", "\u2028", "\x00", "\U0010ffff"),
]


def some_memory(draw: random.Random) -> Memory:
    """Any memory: a few pieces in each text, of any script."""

    def text(pieces: int) -> str:
        return "".join(
            draw.choice(PIECES) if draw.random() < 0.8 else chr(draw.randrange(32, 0x2FFFF))
            for _ in range(draw.randrange(pieces))
        )

    facts = (
        Fact(content=text(20), category=draw.choice(list(CATEGORIES)), confidence=draw.random(), source_error=text(3))
        for _ in range(draw.randrange(40))
    )
    memory = Memory(facts=tuple(facts))
    for name in SECTIONS:
        memory = memory.with_section(name, Section(summary=text(15)))
    return memory


def budget_rows(memories: int) -> list[Row]:
    """Random memories, random budgets: how many were exceeded, and how full the fullest was."""
    draw, exceeded, filled = random.Random(7), 0, list[float]()  # noqa: S311
    for _ in range(memories):
        budget = draw.randrange(20, 3_000)
        tokens = count_tokens(recall(some_memory(draw), [draw.choice(PIECES)], max_tokens=budget))
        exceeded += tokens > budget
        filled.append(tokens / budget)
    return [
        Row(f"budgets exceeded, of {memories:,} random memories", exceeded, bound=at_most(0)),
        Row("the fullest of them", max(filled), "share", bound=at_most(1)),
    ]


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure what recall costs."""
    sizes, rounds = (SIZES[:3], 10) if quick else (SIZES, 100)
    count_tokens("the encoding is read once a process")
    first = index_row(1_000)
    warm = [warm_row(size, rounds) for size in sizes]
    cold = [cold_row(size, max(5, rounds // 5)) for size in sizes]
    rows = [*warm, *cold, first, *budget_rows(100 if quick else 5_000)]
    note = (
        "Three short messages ask, 2,000 tokens answer; facts of 20 tokens, a tenth of them Chinese. Cold is "
        "without any index; the words were seen before in the process. The index of the first time stems every "
        "word for the first time and counts the tokens of every fact."
    )
    return Measured(
        "What recall costs",
        rows,
        [growth(sizes, warm, cold)],
        notes=[note],
    )


if __name__ == "__main__":
    alone(measure)
