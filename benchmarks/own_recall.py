"""Recall quality on our own set of questions in English and Chinese, with typical difficulties.

    python benchmarks/own_recall.py [--quick]

The set is sets/recall.json, made by sets/make_recall_set.py. `hybrid` needs the extra `local` and takes a minute.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common import Measurement, Plot, Row, run_standalone, sha256_of
from langchain_core.embeddings import Embeddings
from newer_wins import NOTES as LEARNED_NOTES
from newer_wins import Learned, rule_rows, win_rows
from ordering import by_bm25, small_model
from sets.intervals import hit_row
from sets.recall_set import LANGUAGES, SET, Persona, Question, read_personas

from memgraph import Fact, IndexCache, rank_facts, recall

KINDS = ("direct", "no word shared", "updated, linked", "updated, not linked", "correction", "other language")
BUDGET = 500
NOTES = (
    (
        "12 invented people, 6 per language, with 60 to 200 facts each; most facts are about other people, other times "
        "or irrelevant topics. `no word shared`: the question shares no word with the fact. `updated`: an older fact "
        "contradicts the answer, and the newer one replaces it by id (linked) or not. `other language`: an English "
        "question to a Chinese memory, or vice versa. The intervals are Wilson's, over questions."
    ),
    (
        f"`in {BUDGET} tokens`: the answer is in the text for the prompt, in which preferences and corrections have a "
        "reserved share. `newer wins`: for a fact that has changed, recall ranks the current one above the older one."
    ),
    "Facts and questions are generated from hand-written patterns: real users are less regular and less clear.",
)


@dataclass(frozen=True)
class Result:
    """The rank of a question's answer."""

    question: Question
    language: str
    rank: int
    """Of the answer, starting at 0."""
    newer_wins: bool | None
    """Whether the answer ranks above the outdated ones; None for other questions."""
    is_linked: bool
    """Whether the answer names the fact it replaces."""
    in_budget: bool | None
    """Whether recall's text contains the answer; None for baselines."""


# -- ranking ---------------------------------------------------------------------------------------


class CachedEmbeddings(Embeddings):
    """Caches the vectors of questions."""

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self._query = functools.cache(model.embed_query)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._query(text)


def rank_answers(persona: Persona, ranker: str, embeddings: Embeddings | None = None) -> Iterator[Result]:
    """Rank the facts for every question, and recall the text for the prompt."""
    cache, facts = IndexCache(), persona.memory.facts
    for question in persona.questions:
        ranked = rank_facts(facts, question.text, ranker=ranker, embeddings=embeddings, cache=cache)
        text = recall(
            persona.memory, [question.text], max_tokens=BUDGET, ranker=ranker, embeddings=embeddings, cache=cache
        )
        yield _to_result(persona, question, [entry.fact for entry in ranked], text)


def rank_answers_by_bm25(persona: Persona) -> Iterator[Result]:
    """Rank the facts by plain BM25."""
    facts = persona.memory.facts
    for question in persona.questions:
        yield _to_result(persona, question, [facts[index] for index in by_bm25(facts, question.text)], None)


def _to_result(persona: Persona, question: Question, ranked: Sequence[Fact], text: str | None) -> Result:
    ranks = {fact.id: rank for rank, fact in enumerate(ranked)}
    rank = ranks[question.answer]
    answer = ranked[rank]
    return Result(
        question,
        persona.language,
        rank,
        all(rank < ranks[old] for old in question.outdated) if question.kind.startswith("updated") else None,
        bool(answer.replaces),
        None if text is None else answer.content in text,
    )


def compare(personas: Sequence[Persona], model: Embeddings | None) -> dict[str, list[Result]]:
    """Return the results of every order, by name."""
    every = {
        "scikit-learn TF-IDF": [result for one in personas for result in rank_answers(one, "tfidf")],
        "BM25": [result for one in personas for result in rank_answers_by_bm25(one)],
        "lexical": [result for one in personas for result in rank_answers(one, "lexical")],
    }
    if model:
        cached = CachedEmbeddings(model)
        every["hybrid"] = [result for one in personas for result in rank_answers(one, "hybrid", cached)]
    return every


# -- rows -----------------------------------------------------------------------------------------


def rows_of(name: str, results: Sequence[Result]) -> Iterator[Row]:
    """Yield the figures of an order, by language."""
    for language, heading in LANGUAGES.items():
        part = [one for one in results if one.language == language]
        if not part:
            continue
        yield hit_row(f"{heading}, {name}: first", [one.rank < 1 for one in part])
        yield hit_row(f"{heading}, {name}: among the first five", [one.rank < 5 for one in part])
        in_budget = [one.in_budget for one in part if one.in_budget is not None]
        if in_budget:
            yield hit_row(f"{heading}, {name}: in {BUDGET} tokens", in_budget)
        for linked, label in ((True, "linked"), (False, "neither linked nor learned")):
            wins = [one.newer_wins for one in part if one.newer_wins is not None and one.is_linked is linked]
            if wins:
                yield hit_row(f"{heading}, {name}: newer wins, {label}", wins, note=f"{len(wins)} questions")


def kind_rows(name: str, results: Sequence[Result]) -> Iterator[Row]:
    """Yield how often the answer ranks first, by language and kind of question."""
    for language, heading in LANGUAGES.items():
        for kind in KINDS:
            part = [one for one in of_kind(results, kind) if one.language == language]
            if part:
                five = sum(one.rank < 5 for one in part) / len(part)
                note = f"{len(part)} questions; among the first five: {five:.3f}"
                yield hit_row(f"{heading}, {name}, {kind}: first", [one.rank < 1 for one in part], note=note)


def of_kind(results: Iterable[Result], kind: str) -> list[Result]:
    return [one for one in results if one.question.kind == kind]


def plot(every: Mapping[str, Sequence[Result]]) -> Plot:
    """Plot the results by kind of question and order."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for number, (name, results) in enumerate(every.items()):
            kinds = [kind for kind in KINDS if of_kind(results, kind)]
            rows = [hit_row(kind, [one.rank < 5 for one in of_kind(results, kind)]) for kind in kinds]
            positions = [index + (number - len(every) / 2 + 0.5) * 0.2 for index in range(len(rows))]
            spread = [[row.value - (row.low or 0) for row in rows], [(row.high or 0) - row.value for row in rows]]
            axes.bar(positions, [row.value for row in rows], 0.18, yerr=spread, capsize=2, label=name)
            axes.set_xticks(range(len(kinds)), [kind.replace(", ", ",\n") for kind in kinds], fontsize=8)
        axes.set(ylabel="answer among the first five", ylim=(0, 1.05))
        axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.14), fontsize=8)

    return Plot("recall_own", "Our own set, both languages: share of questions by kind, with 95 % intervals.", draw, 8)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure recall on our own set."""
    personas = read_personas()
    model = None if quick else small_model()
    chosen = personas[::6] if quick else personas
    every = compare(chosen, model)
    rows = [row for name, results in every.items() for row in rows_of(name, results)]
    rows += [row for name in ("lexical", "hybrid") if name in every for row in kind_rows(name, every[name])]
    learned = [Learned(persona) for persona in chosen]
    rows += [row for name in ("lexical", "hybrid") if name in every for row in win_rows(learned, name, model)]
    rows += rule_rows(learned)
    missing = () if model else ("`hybrid` is omitted: it needs the extra `local`.",)
    return Measurement(
        "Recall on our own set", rows, [plot(every)], {SET.name: sha256_of(SET)}, [*NOTES, *LEARNED_NOTES, *missing]
    )


if __name__ == "__main__":
    run_standalone(measure)
