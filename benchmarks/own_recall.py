"""How well recall finds what was asked for, in a set of our own: English and Chinese, with what makes it hard.

    python benchmarks/own_recall.py [--quick]

The set is sets/recall.json, made by sets/make_recall_set.py. `hybrid` needs the extra `local` and takes a minute.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common import HERE, Measured, Plot, Row, alone, sha256_of
from langchain_core.embeddings import Embeddings
from ordering import by_bm25, small_model
from sets.intervals import hit_row

from memgraph import Fact, IndexCache, Memory, rank_facts, recall

SET = HERE / "sets/recall.json"
LANGUAGES = {"en": "English", "zh": "Chinese"}
KINDS = ("direct", "no word shared", "updated, linked", "updated, not linked", "correction", "other language")
BUDGET = 500
NOTES = (
    (
        "12 made-up people, 6 a language, with 60 to 200 facts each, most of them of somebody else, of another time or "
        "of no matter. `no word shared`: the question says nothing that the fact says. `updated`: an older fact says "
        "otherwise, and the newer one replaces it by id (linked) or does not. `other language`: asked in English of a "
        "Chinese memory, or the other way round. The intervals are Wilson's, over questions."
    ),
    (
        f"`in {BUDGET} tokens`: the right fact is in the text that an agent is given, in which preferences and "
        "corrections have a share of their own. `newer wins`: asked about what has changed, recall puts the fact that "
        "is true above the one that was."
    ),
    "The facts and questions are drawn from hand-written patterns: people speak less regularly, and ask worse.",
)


@dataclass(frozen=True)
class Question:
    """A question, the fact that answers it, and facts that did so once."""

    kind: str
    text: str
    answer: str
    outdated: frozenset[str]


@dataclass(frozen=True)
class Persona:
    """A memory, and questions about it."""

    language: str
    memory: Memory
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Asked:
    """What became of a question."""

    question: Question
    language: str
    place: int
    """Of the answer, 0 being the first."""
    newer_wins: bool | None
    """Whether the answer stands above what was true before; None where the question is not about that."""
    is_linked: bool
    """Whether the answer names what it replaces."""
    in_budget: bool | None
    """None where the order is none of ours."""


def read_personas() -> list[Persona]:
    """Read the set."""
    return [_persona(item) for item in json.loads(SET.read_text("utf-8"))["personas"]]


def _persona(item: Mapping[str, Any]) -> Persona:
    questions = [
        Question(asked["kind"], asked["text"], asked["answer"], frozenset(asked.get("outdated", ())))
        for asked in item["questions"]
    ]
    return Persona(item["language"], Memory(facts=item["facts"]), tuple(questions))


# -- asking ---------------------------------------------------------------------------------------


class Remembering(Embeddings):
    """Embeds each question once, however often it is asked."""

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self._query = functools.cache(model.embed_query)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._query(text)


def asked_of_ours(persona: Persona, ranker: str, embeddings: Embeddings | None = None) -> Iterator[Asked]:
    """Ask one of our rankers, and for the text that an agent is given."""
    cache, facts = IndexCache(), persona.memory.facts
    for question in persona.questions:
        ranked = rank_facts(facts, question.text, ranker=ranker, embeddings=embeddings, cache=cache)
        told = recall(
            persona.memory, [question.text], max_tokens=BUDGET, ranker=ranker, embeddings=embeddings, cache=cache
        )
        yield _asked(persona, question, [entry.fact for entry in ranked], told)


def asked_of_bm25(persona: Persona) -> Iterator[Asked]:
    """Ask plain BM25."""
    facts = persona.memory.facts
    for question in persona.questions:
        yield _asked(persona, question, [facts[place] for place in by_bm25(facts, question.text)], None)


def _asked(persona: Persona, question: Question, ranked: Sequence[Fact], told: str | None) -> Asked:
    places = {fact.id: place for place, fact in enumerate(ranked)}
    place = places[question.answer]
    answer = ranked[place]
    return Asked(
        question,
        persona.language,
        place,
        all(place < places[old] for old in question.outdated) if question.kind.startswith("updated") else None,
        bool(answer.replaces),
        None if told is None else answer.content in told,
    )


def compared(personas: Sequence[Persona], model: Embeddings | None) -> dict[str, list[Asked]]:
    """Ask every question of every order, by its name."""
    every = {
        "scikit-learn TF-IDF": [asked for one in personas for asked in asked_of_ours(one, "tfidf")],
        "BM25": [asked for one in personas for asked in asked_of_bm25(one)],
        "lexical": [asked for one in personas for asked in asked_of_ours(one, "lexical")],
    }
    if model:
        remembering = Remembering(model)
        every["hybrid"] = [asked for one in personas for asked in asked_of_ours(one, "hybrid", remembering)]
    return every


# -- rows -----------------------------------------------------------------------------------------


def rows_of(name: str, asked: Sequence[Asked]) -> Iterator[Row]:
    """Yield what an order finds, by language; ours by kind too."""
    for language, heading in LANGUAGES.items():
        part = [one for one in asked if one.language == language]
        if not part:
            continue
        yield hit_row(f"{heading}, {name}: first", [one.place < 1 for one in part])
        yield hit_row(f"{heading}, {name}: among the first five", [one.place < 5 for one in part])
        told = [one.in_budget for one in part if one.in_budget is not None]
        if told:
            yield hit_row(f"{heading}, {name}: in {BUDGET} tokens", told)
        for linked, said in ((True, "linked"), (False, "not linked")):
            wins = [one.newer_wins for one in part if one.newer_wins is not None and one.is_linked is linked]
            if wins:
                yield hit_row(f"{heading}, {name}: newer wins, {said}", wins, note=f"{len(wins)} questions")


def kind_rows(name: str, asked: Sequence[Asked]) -> Iterator[Row]:
    """Yield how often the answer is the first, by language and kind of question."""
    for language, heading in LANGUAGES.items():
        for kind in KINDS:
            part = [one for one in of_kind(asked, kind) if one.language == language]
            if part:
                five = sum(one.place < 5 for one in part) / len(part)
                note = f"{len(part)} questions; among the first five: {five:.3f}"
                yield hit_row(f"{heading}, {name}, {kind}: first", [one.place < 1 for one in part], note=note)


def of_kind(asked: Iterable[Asked], kind: str) -> list[Asked]:
    return [one for one in asked if one.question.kind == kind]


def plot(every: Mapping[str, Sequence[Asked]]) -> Plot:
    """By kind of question and order."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for number, (name, asked) in enumerate(every.items()):
            kinds = [kind for kind in KINDS if of_kind(asked, kind)]
            rows = [hit_row(kind, [one.place < 5 for one in of_kind(asked, kind)]) for kind in kinds]
            places = [place + (number - len(every) / 2 + 0.5) * 0.2 for place in range(len(rows))]
            spread = [[row.value - (row.low or 0) for row in rows], [(row.high or 0) - row.value for row in rows]]
            axes.bar(places, [row.value for row in rows], 0.18, yerr=spread, capsize=2, label=name)
            axes.set_xticks(range(len(kinds)), [kind.replace(", ", ",\n") for kind in kinds], fontsize=8)
        axes.set(ylabel="answer among the first five", ylim=(0, 1.05))
        axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.14), fontsize=8)

    return Plot("recall_own", "Our own set, both languages: share of questions by kind, with 95 % intervals.", draw, 8)


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure what recall finds in the set of our own."""
    personas = read_personas()
    model = None if quick else small_model()
    every = compared(personas[::6] if quick else personas, model)
    rows = [row for name, asked in every.items() for row in rows_of(name, asked)]
    rows += [row for name in ("lexical", "hybrid") if name in every for row in kind_rows(name, every[name])]
    missing = () if model else ("`hybrid` is left out: it needs the extra `local`.",)
    return Measured("Recall, a set of our own", rows, [plot(every)], {SET.name: sha256_of(SET)}, [*NOTES, *missing])


if __name__ == "__main__":
    alone(measure)
