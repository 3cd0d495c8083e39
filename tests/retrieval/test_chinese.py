"""How well Chinese is found, on the set that the benchmark prints."""

from __future__ import annotations

import json
from pathlib import Path

from memgraph import Fact, rank_facts
from memgraph.retrieval.fact_index import IndexCache

DATA = json.loads((Path(__file__).parents[2] / "benchmarks/chinese_recall.json").read_text())


def test_the_right_fact_is_first_in_four_of_five_and_among_five_in_nineteen_of_twenty() -> None:
    facts = [Fact.model_validate(fact) for fact in DATA["facts"]]
    cache, places = IndexCache(), list[int]()

    for item in DATA["questions"]:
        ranked = [entry.fact for entry in rank_facts(facts, item["question"], cache=cache)]
        places.append(ranked.index(facts[item["fact"]]))

    assert len(facts) >= 60
    assert len(places) >= 40
    assert sum(place == 0 for place in places) >= 0.8 * len(places)
    assert sum(place < 5 for place in places) >= 0.95 * len(places)
