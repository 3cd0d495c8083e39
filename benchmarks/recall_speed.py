"""Cost of recall by the size of the memory, and whether it stays within its budget for any memory.

python benchmarks/recall_speed.py [--quick]
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any

from common import Measurement, Plot, Row, at_most, median_row, run_standalone
from datasets import cpu_ms, question, some_facts
from langchain_core.embeddings import Embeddings

from memgraph import Fact, IndexCache, MemoryDocument, Section, recall
from memgraph.analysis.tokens import count_tokens
from memgraph.models import CATEGORIES, SECTIONS, Episode, Scope
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.vector_store import PROBE
from memgraph.storage.file import FileStorage

SIZES = (10, 100, 1_000, 10_000)
WARM_BOUNDS = {100: at_most(1), 1_000: at_most(4), 10_000: at_most(8)}
INDEX_BOUNDS = {1_000: at_most(250)}
TOGETHER = {(1_000, 3_000): (at_most(4), at_most(150)), (10_000, 10_000): (at_most(8), None)}
"""Facts and episodes, and the bounds of a warm and of a cold recall."""


# -- cost --------------------------------------------------------------------------------


def index_row(facts: int) -> Row:
    """Measure building the index of facts whose words are new to this process."""
    unseen = some_facts(facts)
    (spent,) = cpu_ms(lambda _: IndexCache().facts(unseen), 1)
    note = "the first time in a process"
    return Row(f"index, {facts:,} facts", spent, "ms CPU", bound=INDEX_BOUNDS.get(facts), note=note)


def cold_row(facts: int, rounds: int) -> Row:
    """Measure a question to a memory that was just loaded, including its index."""
    loaded = [MemoryDocument(facts=some_facts(facts)) for _ in range(rounds)]
    spent = cpu_ms(lambda number: recall(loaded[number], question(number), cache=IndexCache()), rounds)
    return median_row(f"recall, cold, {facts:,} facts", spent, "ms CPU")


def warm_row(facts: int, rounds: int) -> Row:
    """Measure repeated questions to the same memory."""
    memory, cache = MemoryDocument(facts=some_facts(facts)), IndexCache()
    recall(memory, question(-1), cache=cache)
    spent = cpu_ms(lambda number: recall(memory, question(number), cache=cache), rounds)
    return median_row(f"recall, warm, {facts:,} facts", spent, "ms CPU", WARM_BOUNDS.get(facts))


def some_episodes(count: int) -> tuple[Episode, ...]:
    """Return episodes of two sentences each, ten per thread."""
    sentences = [fact.content for fact in some_facts(count)]
    return tuple(
        Episode(
            id=f"e{number}",
            thread_id=f"thread_{number // 10}",
            message_id=f"m{number}",
            at=f"2026-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}T00:00:00Z",
            text=f"{sentence}. {sentences[number * 7 % count]}.",
        )
        for number, sentence in enumerate(sentences)
    )


def together_rows(facts: int, episodes: int, rounds: int) -> Iterator[Row]:
    """Measure the first question to facts and episodes, and repeated ones."""
    memory, said, cache = MemoryDocument(facts=some_facts(facts)), some_episodes(episodes), IndexCache()
    warm, cold = TOGETHER[facts, episodes]
    what = f"{facts:,} facts and {episodes:,} episodes"
    (first,) = cpu_ms(lambda number: recall(memory, question(number), episodes=said, cache=cache), 1)
    yield Row(f"recall, cold, {what}", first, "ms CPU", bound=cold)
    spent = cpu_ms(lambda number: recall(memory, question(number), episodes=said, cache=cache), rounds)
    yield median_row(f"recall, warm, {what}", spent, "ms CPU", warm)
    grown = (*said, said[0].model_copy(update={"id": "new"}))
    (added,) = cpu_ms(lambda number: recall(memory, question(number), episodes=grown, cache=cache), 1)
    yield Row(f"recall after one more episode, {what}", added, "ms CPU")


def restart_rows() -> Iterator[Row]:
    """Count the texts that are embedded by the first recall, and by the first after a restart."""
    memory, said, scope = MemoryDocument(facts=some_facts(1_000)), some_episodes(3_000), Scope("ada")
    with TemporaryDirectory() as folder:
        for when, bound in (("first recall", None), ("restart with vectors on disk", at_most(0))):
            model, vectors = CountingEmbeddings(), FileStorage(folder).vectors(scope)
            RecallPipeline(ranker="hybrid", embeddings=model)(memory, question(0), episodes=said, vectors=vectors)
            yield Row(f"{when}: texts embedded, of 1,000 facts and 3,000 episodes", model.texts, bound=bound)


class CountingEmbeddings(Embeddings):
    """A model that costs next to nothing, and counts the texts apart from the probe."""

    def __init__(self) -> None:
        self.texts = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += sum(text != PROBE for text in texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, *(float(text.count(letter)) for letter in ascii_lowercase)]


def growth(sizes: Sequence[int], warm: Sequence[Row], cold: Sequence[Row]) -> Plot:
    """Plot recall against the number of facts."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for rows, label in ((cold, "cold: facts just loaded"), (warm, "warm: facts already indexed")):
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


def some_memory(draw: random.Random) -> MemoryDocument:
    """Return a random memory: texts of a few pieces in any script."""

    def text(pieces: int) -> str:
        return "".join(
            draw.choice(PIECES) if draw.random() < 0.8 else chr(draw.randrange(32, 0x2FFFF))
            for _ in range(draw.randrange(pieces))
        )

    facts = (
        Fact(content=text(20), category=draw.choice(list(CATEGORIES)), confidence=draw.random(), source_error=text(3))
        for _ in range(draw.randrange(40))
    )
    memory = MemoryDocument(facts=tuple(facts))
    for name in SECTIONS:
        memory = memory.with_section(name, Section(summary=text(15)))
    return memory


def budget_rows(memories: int) -> list[Row]:
    """Try random memories and budgets: how many budgets are exceeded, and the highest utilisation."""
    draw, exceeded, filled = random.Random(7), 0, list[float]()  # noqa: S311
    for _ in range(memories):
        budget = draw.randrange(20, 3_000)
        tokens = count_tokens(recall(some_memory(draw), [draw.choice(PIECES)], max_tokens=budget))
        exceeded += tokens > budget
        filled.append(tokens / budget)
    return [
        Row(f"budgets exceeded, of {memories:,} random memories", exceeded, bound=at_most(0)),
        Row("highest utilisation of a budget", max(filled), "share", bound=at_most(1)),
    ]


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure the cost of recall."""
    sizes, rounds = (SIZES[:3], 10) if quick else (SIZES, 100)
    count_tokens("loads the encoding, once per process")
    first = index_row(1_000)
    warm = [warm_row(size, rounds) for size in sizes]
    cold = [cold_row(size, max(5, rounds // 5)) for size in sizes]
    sizes_together = list(TOGETHER)[:1] if quick else TOGETHER
    together = [row for pair in sizes_together for row in together_rows(*pair, rounds)]
    rows = [*warm, *cold, first, *together, *restart_rows(), *budget_rows(100 if quick else 5_000)]
    note = (
        "A query of three short messages and a budget of 2,000 tokens; facts of 20 tokens, a tenth of them Chinese. "
        "Cold is without an index, with words known to the process. The first index in a process also stems every "
        "word and counts the tokens of every fact."
    )
    return Measurement(
        "Cost of recall",
        rows,
        [growth(sizes, warm, cold)],
        notes=[note],
    )


if __name__ == "__main__":
    run_standalone(measure)
