"""The recall set is what its words make, and asks what it says it asks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from memgraph import Fact, Memory
from memgraph.retrieval.terms import stem
from memgraph.text.normalize import HAN, fold

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/own_recall.py` has it

import own_recall
from own_recall import KINDS, Persona, Question
from sets import make_recall_set

PERSONAS = own_recall.read_personas()
_STOP = """
    a an the and or in on at of for to with by from as is are was were be been have has had do does did i me my we our
    you your it its this that what which who whom when where how any some all must should would will there these those
    not no one up out so much before while back them they she he her his into
"""
STOP = frozenset(_STOP.split())


def words_of(text: str) -> set[str]:
    """Stems of words, and pairs of Chinese characters."""
    plain = fold(text)
    pairs = {run[at : at + 2] for run in re.findall(f"[{HAN}]+", plain) for at in range(len(run) - 1)}
    return pairs | {stem(word) for word in re.findall("[a-z0-9]+", plain) if word not in STOP}


def of_kind(kind: str) -> list[tuple[Memory, Question]]:
    return [(one.memory, asked) for one in PERSONAS for asked in one.questions if asked.kind == kind]


def test_the_set_is_what_the_words_make() -> None:
    """Byte for byte, so that a figure can be had again."""
    assert make_recall_set.text().encode() == make_recall_set.MADE.read_bytes()


@pytest.mark.parametrize("language", own_recall.LANGUAGES)
def test_each_language_has_memories_of_all_sizes_and_questions_of_all_kinds(language: str) -> None:
    """A missing kind would leave its row out without a word."""
    personas = [one for one in PERSONAS if one.language == language]

    assert len(personas) == 6
    assert min(len(one.memory.facts) for one in personas) >= 60
    assert max(len(one.memory.facts) for one in personas) >= 200
    assert {asked.kind for one in personas for asked in one.questions} == set(KINDS)


def test_no_memory_says_a_thing_twice() -> None:
    """Of two equal facts either would be right."""
    for persona in PERSONAS:
        contents = [fact.content for fact in persona.memory.facts]

        assert len(set(contents)) == len(contents)


@pytest.mark.parametrize("kind", ["no word shared", "other language"])
def test_such_questions_share_no_word_with_the_answer(kind: str) -> None:
    """Names of products apart, a ranker that counts words has nothing to go by."""
    shared = {
        (asked.text, fact.content)
        for memory, asked in of_kind(kind)
        for fact in [memory.fact(asked.answer)]
        if fact and words_of(asked.text) & words_of(fact.content)
    }

    assert shared == set()


@pytest.mark.parametrize("kind", ["direct", "correction"])
def test_direct_questions_share_a_word_with_the_answer(kind: str) -> None:
    """Otherwise they would be of another kind."""
    for memory, asked in of_kind(kind):
        fact = memory.fact(asked.answer)

        assert fact
        assert words_of(asked.text) & words_of(fact.content)


def test_what_was_true_before_is_older() -> None:
    """A ranker that goes by age has to have a chance."""
    dated = [(memory, asked) for kind in KINDS for memory, asked in of_kind(kind) if asked.outdated]

    for memory, asked in dated:
        answer, *old = (memory.fact(fact_id) for fact_id in (asked.answer, *asked.outdated))
        assert answer
        assert all(one and one.created_at < answer.created_at for one in old)


@pytest.mark.parametrize(("kind", "linked"), [("updated, linked", True), ("updated, not linked", False)])
def test_what_replaces_says_so_where_it_is_linked(kind: str, *, linked: bool) -> None:
    """By id, as an update writes it."""
    for memory, asked in of_kind(kind):
        answer = memory.fact(asked.answer)

        assert answer
        assert (set(answer.replaces) == asked.outdated) is linked


# -- asking ---------------------------------------------------------------------------------------

NEW = Fact(id="new", content="Lives in Rome.", created_at="2026-05-01T00:00:00Z")
OLD = Fact(id="old", content="Lives in Oslo.", created_at="2026-01-01T00:00:00Z")
ASKED = Question("updated, not linked", "Where do I live?", "new", frozenset({"old"}))


@pytest.mark.parametrize(("ranked", "place", "wins"), [([NEW, OLD], 0, True), ([OLD, NEW], 1, False)])
def test_the_place_of_the_answer_is_read_from_the_order(ranked: list[Fact], place: int, *, wins: bool) -> None:
    """The newer fact wins when it stands above the older one."""
    persona = Persona("en", Memory(facts=(OLD, NEW)), (ASKED,))

    asked = own_recall._asked(persona, ASKED, ranked, None)

    assert (asked.place, asked.newer_wins, asked.in_budget) == (place, wins, None)


def test_a_question_embeds_once() -> None:
    """The model takes most of the time."""
    counted = Counting()
    remembering = own_recall.Remembering(counted)

    remembering.embed_query("a")
    remembering.embed_query("a")

    assert counted.asked == ["a"]


class Counting(own_recall.Embeddings):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return [1.0]
