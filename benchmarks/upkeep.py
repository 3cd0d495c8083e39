"""Cost of the upkeep of a memory in which there is nothing to do.

python benchmarks/upkeep.py [--quick]
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from string import ascii_lowercase

from common import Measurement, Row, at_most, median_row, run_standalone
from datasets import cpu_ms

from memgraph import Context, Fact, MemoryDocument, Policy, Scope, build_upkeep_graph, open_storage
from memgraph.models import CATEGORIES, timestamp
from memgraph.testing import ScriptedModel

FACTS = 2_000
USER = "ada"
VERBS = ("likes", "uses", "works with", "visited", "owns")


def distinct_facts(count: int) -> tuple[Fact, ...]:
    """Return facts of ten words with a vocabulary of 3,000, no two of them alike, all of them said now."""
    draw = random.Random(count)  # noqa: S311
    vocabulary = ["".join(draw.choices(ascii_lowercase, k=draw.randint(4, 9))) for _ in range(3_000)]
    now = timestamp(datetime.now(UTC))
    return tuple(
        Fact(
            content=f"The user {draw.choice(VERBS)} {' '.join(draw.sample(vocabulary, 7))}.",
            category=draw.choice(list(CATEGORIES)),
            confidence=0.9,
            created_at=now,
        )
        for _ in range(count)
    )


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Run the upkeep again and again; nothing is saved, so that each run finds the same."""
    rounds = 5 if quick else 30
    storage, model = open_storage("memory:"), ScriptedModel('{"merge": [], "end": []}')
    before = storage.save(Scope(USER), MemoryDocument(facts=distinct_facts(FACTS)))
    graph = build_upkeep_graph(model=model, storage=storage, policy=Policy(summaries="update"))
    context = Context(user_id=USER)
    graph.invoke({}, context=context)
    spent = cpu_ms(lambda _: graph.invoke({}, context=context), rounds)
    is_untouched = storage.load(Scope(USER)) == before
    return Measurement(
        "Upkeep without anything to do",
        (
            median_row(f"upkeep, {FACTS:,} facts without candidates", spent, "ms CPU", at_most(50)),
            Row("calls of the model", len(model.asked), "", bound=at_most(0)),
            Row("saves", 0 if is_untouched else 1, "", bound=at_most(0)),
        ),
        notes=["A memory in which no two facts are alike, none is stale, and none has expired. Nothing is saved."],
    )


if __name__ == "__main__":
    run_standalone(measure)
