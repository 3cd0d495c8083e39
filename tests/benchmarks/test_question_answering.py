"""The optional question answering on LoCoMo: grading of answers, and handling of failures."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from memgraph import Fact, MemoryDocument, Policy, recall
from memgraph.testing import Answer, ScriptedModel

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/question_answering.py` has it

import question_answering
from question_answering import GradedAnswer, Grader, Question, add_dates, parse_verdict, rows_of, token_f1

MEMORY = MemoryDocument(facts=(Fact(content="Ada bought a boat.", source="session_2_observation"),))
QUESTION = Question("What did Ada buy?", "a boat", 4, MEMORY)


def grade(model: Answer, judge: Answer) -> tuple[GradedAnswer, ScriptedModel, ScriptedModel]:
    models = ScriptedModel(model), ScriptedModel(judge)
    grader = Grader(*models, partial(recall, max_tokens=200), Policy(model_tries=1))
    return grader(QUESTION), *models


def test_model_sees_the_memory_but_not_the_answer() -> None:
    """Only the judge sees the right answer."""
    graded, model, judge = grade("A boat.", "Right.")

    assert graded.is_right
    assert "Ada bought a boat." in str(model.asked[0][-1].content)
    assert "Right answer" not in str(model.asked[0][-1].content)
    assert "Right answer: a boat" in str(judge.asked[0][-1].content)


@pytest.mark.parametrize(("model", "judge"), [(ValueError("no"), "right"), ("A boat.", "perhaps"), ("A boat.", "")])
def test_failure_is_reported_and_counts_as_wrong(model: Answer, judge: Answer) -> None:
    """It does not end the run."""
    graded, *_ = grade(model, judge)

    assert graded.error
    assert not graded.is_right
    assert {row.name: row.value for row in rows_of([graded])}["failed"] == 1


def test_tokens_of_both_models_are_counted() -> None:
    """Both cost money."""
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}

    graded, *_ = grade(AIMessage("A boat.", usage_metadata=usage), AIMessage("right", usage_metadata=usage))

    assert (graded.input_tokens, graded.output_tokens) == (20, 4)


@pytest.mark.parametrize(("text", "verdict"), [("right", True), ("Wrong.", False), ("**RIGHT**", True)])
def test_verdict_is_parsed(text: str, *, verdict: bool) -> None:
    """Case, punctuation and Markdown do not matter."""
    assert parse_verdict(text) is verdict


@pytest.mark.parametrize("text", ["", "yes", "right or wrong", "rightly"])
def test_unclear_verdict_is_an_error(text: str) -> None:
    """It counts as a failure, not as a wrong answer."""
    with pytest.raises(ValueError, match="neither"):
        parse_verdict(text)


@pytest.mark.parametrize(
    ("answer", "right", "expected"), [("The boat", "a boat", 1), ("a red boat", "boat", 2 / 3), ("", "boat", 0)]
)
def test_token_f1_counts_shared_words(answer: str, right: str, expected: float) -> None:
    """Case and articles are ignored."""
    assert token_f1(answer, right) == pytest.approx(expected)


def test_facts_get_the_date_of_their_session() -> None:
    """Questions about time have no answer without it."""
    facts = add_dates(MEMORY, {"session_2_date_time": "8 May, 2023"}).facts

    assert facts[0].content == "Ada bought a boat. (said 8 May, 2023)"


@pytest.mark.skipif(not question_answering.LOCOMO.exists(), reason="needs LoCoMo")
def test_adversarial_questions_are_skipped() -> None:
    """They have no answer to compare with."""
    questions = question_answering.read_questions()

    assert len(questions) > 100
    assert {question.category for question in questions} == {1, 2, 3, 4}
