"""The recall set is reproducible, and its questions have the properties that their kinds promise."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from memgraph import Fact, MemoryDocument
from memgraph.analysis.normalize import HAN, fold, stem

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/own_recall.py` has it

import own_recall
import recall
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
    """Return stems of words and pairs of Chinese characters."""
    plain = fold(text)
    pairs = {run[at : at + 2] for run in re.findall(f"[{HAN}]+", plain) for at in range(len(run) - 1)}
    return pairs | {stem(word) for word in re.findall("[a-z0-9]+", plain) if word not in STOP}


def of_kind(kind: str) -> list[tuple[MemoryDocument, Question]]:
    return [(one.memory, question) for one in PERSONAS for question in one.questions if question.kind == kind]


def test_set_is_reproducible() -> None:
    """Byte for byte, so that figures can be reproduced."""
    assert make_recall_set.render().encode() == make_recall_set.OUTPUT.read_bytes()


@pytest.mark.parametrize("language", own_recall.LANGUAGES)
def test_each_language_has_all_sizes_and_kinds(language: str) -> None:
    """A missing kind would silently drop its row."""
    personas = [one for one in PERSONAS if one.language == language]

    assert len(personas) == 6
    assert min(len(one.memory.facts) for one in personas) >= 60
    assert max(len(one.memory.facts) for one in personas) >= 200
    assert {question.kind for one in personas for question in one.questions} == set(KINDS)


def test_facts_of_a_memory_are_distinct() -> None:
    """With two equal facts, either would be a right answer."""
    for persona in PERSONAS:
        contents = [fact.content for fact in persona.memory.facts]

        assert len(set(contents)) == len(contents)


@pytest.mark.parametrize("kind", ["no word shared", "other language"])
def test_indirect_questions_share_no_word_with_the_answer(kind: str) -> None:
    """A ranker that counts words finds nothing to match."""
    shared = {
        (question.text, fact.content)
        for memory, question in of_kind(kind)
        for fact in [memory.fact(question.answer)]
        if fact and words_of(question.text) & words_of(fact.content)
    }

    assert shared == set()


@pytest.mark.parametrize("kind", ["direct", "correction"])
def test_direct_questions_share_a_word_with_the_answer(kind: str) -> None:
    """Otherwise they would belong to another kind."""
    for memory, question in of_kind(kind):
        fact = memory.fact(question.answer)

        assert fact
        assert words_of(question.text) & words_of(fact.content)


def test_outdated_facts_are_older() -> None:
    """A ranker that uses age must be able to tell."""
    updated = [(memory, question) for kind in KINDS for memory, question in of_kind(kind) if question.outdated]

    for memory, question in updated:
        answer, *old = (memory.fact(fact_id) for fact_id in (question.answer, *question.outdated))
        assert answer
        assert all(one and one.created_at < answer.created_at for one in old)


@pytest.mark.parametrize(("kind", "linked"), [("updated, linked", True), ("updated, not linked", False)])
def test_linked_answers_name_the_facts_they_replace(kind: str, *, linked: bool) -> None:
    """By id, as an update writes it."""
    for memory, question in of_kind(kind):
        answer = memory.fact(question.answer)

        assert answer
        assert (set(answer.replaces) == question.outdated) is linked


# -- ranking ---------------------------------------------------------------------------------------

NEW = Fact(id="new", content="Lives in Rome.", created_at="2026-05-01T00:00:00Z")
OLD = Fact(id="old", content="Lives in Oslo.", created_at="2026-01-01T00:00:00Z")
QUESTION = Question("updated, not linked", "Where do I live?", "new", frozenset({"old"}))


@pytest.mark.parametrize(("ranked", "rank", "wins"), [([NEW, OLD], 0, True), ([OLD, NEW], 1, False)])
def test_result_has_the_rank_of_the_answer(ranked: list[Fact], rank: int, *, wins: bool) -> None:
    """The newer fact wins if it ranks above the older one."""
    persona = Persona("en", MemoryDocument(facts=(OLD, NEW)), (QUESTION,))

    result = own_recall._to_result(persona, QUESTION, ranked, None)

    assert (result.rank, result.newer_wins, result.in_budget) == (rank, wins, None)


def test_paraphrases_are_two_questions_each_in_other_words() -> None:
    """A question shares at most two pairs of characters with the text that answers it, "我的" included."""
    items = recall.read_paraphrases()
    questions = [question for item in items for question in item.questions]

    assert len(items) >= 60
    assert {(item.kind in {"fact", "episode"}, len(item.questions)) for item in items} == {(True, 2)}
    assert len(set(questions)) == len(questions)
    assert max(len(words_of(item.text) & words_of(question)) for item in items for question in item.questions) <= 2


def test_unseen_questions_share_hardly_a_word_with_their_fact() -> None:
    lines = [line.split("\t") for line in recall.UNSEEN.read_text("utf-8").splitlines()]
    asked = [line for line in lines if line[0] == "fact"]

    assert len(asked) == 40
    assert len({line[1] for line in lines}) == len(lines) == 190
    assert max(len(words_of(content) & words_of(question)) for _, content, question in asked) <= 1


def test_question_is_embedded_once() -> None:
    """Embedding takes most of the time."""
    model = RecordingEmbeddings()
    cached = own_recall.CachedEmbeddings(model)

    cached.embed_query("a")
    cached.embed_query("a")

    assert model.queries == ["a"]


class RecordingEmbeddings(own_recall.Embeddings):
    def __init__(self) -> None:
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return [1.0]
