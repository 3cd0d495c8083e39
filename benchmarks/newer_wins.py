"""Learn the memories of the recall set fact by fact, by a model that never says what a new fact replaces.

    python benchmarks/newer_wins.py    # print the facts that stay current although they changed, and the opposite

own_recall.py has the rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from common import Row, at_least, at_most
from langchain_core.embeddings import Embeddings
from life_changes import Life
from sets.intervals import hit_row
from sets.recall_set import LANGUAGES, Persona, Question, read_personas

from memgraph import Fact, IndexCache, rank_facts
from memgraph.testing import update_answer

MIN_WINS = 0.95
SEED = 11
NOTES = (
    (
        "`learned`: the facts go through the update graph with default settings, those of a day in one update. The"
        " user's turn and its quote are the words of the fact; a scripted model states the fact without `replaces` and"
        " `slot`. Where both facts of a pair can be true (another sport, vehicle or day without meetings), the set"
        " has a sentence in which the user says what replaces what, and that is the turn (`said`); the linked ones of"
        " these pairs have none, and both facts have to stay."
    ),
    (
        "A second look answers `replaces` for a pair of the set whose facts cannot both be true, or if the user said"
        " so in the turn that the prompt shows; `both` for every other pair of facts."
    ),
    (
        f"Halves: the changed facts, linked or not, in two halves at random (seed {SEED}). Only failures of the first"
        " were read while patterns were changed; both have the same sentence forms, so the second shows what"
        " depends on words, not on forms."
    ),
)


@dataclass(frozen=True)
class Pair:
    """A changed fact of a persona."""

    language: str
    question: Question
    old: str
    new: str

    @property
    def is_announced(self) -> bool:
        """Whether a reader of both facts and of what the user said can tell that the old one is not true any more."""
        return bool(self.question.said) or not self.question.compatible


class Learned:
    """The memory of a persona after all conversations."""

    def __init__(self, persona: Persona) -> None:
        self.pairs = [*_pairs(persona)]
        announced = {(one.old, one.new) for one in self.pairs if one.is_announced}
        said = {one.new: one.question.said for one in self.pairs if one.question.said}
        life = Life(lambda known, new: (known, new) in announced)
        for at, day in groupby(persona.memory.facts, attrgetter("created_at")):
            _tell(life, datetime.fromisoformat(at), [*day], said)
        self.memory, self.calls, self._cache = life.memory, life.calls, IndexCache()

    def newer_wins(self, pair: Pair, ranker: str, embeddings: Embeddings | None) -> bool:
        """Return whether the new fact of *pair* ranks above the old one, or the old one is not current any more."""
        ranked = rank_facts(
            self.memory.facts, pair.question.text, ranker=ranker, embeddings=embeddings, cache=self._cache
        )
        first = next((entry.fact.content for entry in ranked if entry.fact.content in (pair.old, pair.new)), None)
        return first == pair.new

    def is_current(self, content: str) -> bool:
        return any(fact.content == content for fact in self.memory.facts)

    def superseded(self) -> Iterator[tuple[str, str]]:
        """Yield the facts that are past although nothing says that they changed, and what superseded them."""
        known = {fact.id: fact.content for fact in (*self.memory.facts, *self.memory.past)}
        true = {one.old for one in self.pairs if one.is_announced}
        for fact in self.memory.past:
            if fact.content not in true:
                yield fact.content, known.get(fact.ended_by or "", "")


def _pairs(persona: Persona) -> Iterator[Pair]:
    contents = {fact.id: fact.content for fact in persona.memory.facts}
    for question in persona.questions:
        if question.kind.startswith("updated"):
            (old,) = question.outdated
            yield Pair(persona.language, question, contents[old], contents[question.answer])


def _tell(life: Life, at: datetime, facts: Sequence[Fact], said: dict[str, str]) -> None:
    turns = [said.get(fact.content, fact.content) for fact in facts]
    stated = (
        {"content": fact.content, "category": fact.category, "confidence": fact.confidence, "quote": turn}
        for fact, turn in zip(facts, turns, strict=True)
    )
    life.talk(at, turns, update_answer(*stated))


def halves(learned: Sequence[Learned]) -> Iterator[list[tuple[Learned, Pair]]]:
    """Yield the changed facts in two halves, at random."""
    changed = [(one, pair) for one in learned for pair in one.pairs if pair.is_announced]
    mixed = random.Random(SEED).sample(changed, len(changed))  # noqa: S311
    yield from (mixed[::2], mixed[1::2])


def win_rows(learned: Sequence[Learned], ranker: str, embeddings: Embeddings | None = None) -> Iterator[Row]:
    """Yield how often the newer fact of a pair wins for a question about it, if no fact is linked by the model."""

    def wins(changed: Sequence[tuple[Learned, Pair]]) -> list[bool]:
        return [one.newer_wins(pair, ranker, embeddings) for one, pair in changed]

    for language, heading in LANGUAGES.items():
        pairs = [(one, pair) for one in learned for pair in one.pairs if pair.language == language]
        unlinked = wins([(one, pair) for one, pair in pairs if pair.question.kind == "updated, not linked"])
        if unlinked:
            name, note = f"{heading}, {ranker}: newer wins, not linked, learned", f"{len(unlinked)} questions"
            yield replace(hit_row(name, unlinked, note=note), bound=at_least(MIN_WINS))
    for half, changed in zip(("first", "second"), halves(learned), strict=True):
        note = f"{len(changed)} questions, both languages"
        yield hit_row(f"{ranker}: newer wins, learned, {half} half", wins(changed), note=note)


def rule_rows(learned: Sequence[Learned]) -> Iterator[Row]:
    """Yield what learning the memories superseded without reason, and what it cost."""
    facts = sum(len(one.memory.facts) + len(one.memory.past) for one in learned)
    wrong = sum(len([*one.superseded()]) for one in learned)
    yield Row("learned: facts superseded that may hold", wrong, "facts", bound=at_most(0), note=f"of {facts}")
    yield Row("learned: checks", sum(one.calls for one in learned), "calls")


def main() -> None:
    learned = [Learned(persona) for persona in read_personas()]
    print("Of the first half, still current:")
    for one, pair in next(halves(learned)):
        if one.is_current(pair.old) or not one.is_current(pair.new):
            print(f"  {pair.old} -> {pair.new} {pair.question.said}")
    print("Superseded, but may hold:")
    for one in learned:
        for old, new in one.superseded():
            print(f"  {old} -> {new}")


if __name__ == "__main__":
    main()
