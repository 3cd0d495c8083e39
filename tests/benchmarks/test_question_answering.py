"""The optional run on LoCoMo: how answers are marked, and that failures are told."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from memgraph import Fact, Memory, Policy, recall
from memgraph.testing import Answer, ScriptedModel

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/question_answering.py` has it

import question_answering
from question_answering import Asked, Exam, Marked, dated, read_verdict, rows_of, token_f1

MEMORY = Memory(facts=(Fact(content="Ada bought a boat.", source="session_2_observation"),))
ASKED = Asked("What did Ada buy?", "a boat", 4, MEMORY)


def mark(model: Answer, judge: Answer) -> tuple[Marked, ScriptedModel, ScriptedModel]:
    asked, judges = ScriptedModel(model), ScriptedModel(judge)
    exam = Exam(asked, judges, partial(recall, max_tokens=200), Policy(model_tries=1))
    return exam(ASKED), asked, judges


def test_the_model_sees_the_memory_and_not_the_answer() -> None:
    """The judge sees the answer, and not the memory."""
    marked, asked, judges = mark("A boat.", "Right.")

    assert marked.is_right
    assert "Ada bought a boat." in str(asked.asked[0][-1].content)
    assert "Right answer" not in str(asked.asked[0][-1].content)
    assert "Right answer: a boat" in str(judges.asked[0][-1].content)


@pytest.mark.parametrize(("model", "judge"), [(ValueError("no"), "right"), ("A boat.", "perhaps"), ("A boat.", "")])
def test_a_failure_is_told_and_counts_as_wrong(model: Answer, judge: Answer) -> None:
    """Neither hidden nor the end of the run."""
    marked, *_ = mark(model, judge)

    assert marked.error
    assert not marked.is_right
    assert {row.name: row.value for row in rows_of([marked])}["failed"] == 1


def test_tokens_of_both_models_are_counted() -> None:
    """Both are paid for."""
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}

    marked, *_ = mark(AIMessage("A boat.", usage_metadata=usage), AIMessage("right", usage_metadata=usage))

    assert (marked.input_tokens, marked.output_tokens) == (20, 4)


@pytest.mark.parametrize(("said", "verdict"), [("right", True), ("Wrong.", False), ("**RIGHT**", True)])
def test_a_verdict_is_read(said: str, *, verdict: bool) -> None:
    """Judges decorate."""
    assert read_verdict(said) is verdict


@pytest.mark.parametrize("said", ["", "yes", "right or wrong", "rightly"])
def test_no_verdict_is_guessed(said: str) -> None:
    """An unclear judge is a failure, not a wrong answer."""
    with pytest.raises(ValueError, match="neither"):
        read_verdict(said)


@pytest.mark.parametrize(
    ("said", "answer", "expected"), [("The boat", "a boat", 1), ("a red boat", "boat", 2 / 3), ("", "boat", 0)]
)
def test_shared_words_are_counted(said: str, answer: str, expected: float) -> None:
    """Without case and articles."""
    assert token_f1(said, answer) == pytest.approx(expected)


def test_facts_say_when_they_were_said() -> None:
    """Questions of time cannot be answered otherwise."""
    facts = dated(MEMORY, {"session_2_date_time": "8 May, 2023"}).facts

    assert facts[0].content == "Ada bought a boat. (said 8 May, 2023)"


@pytest.mark.skipif(not question_answering.LOCOMO.exists(), reason="LoCoMo is not beside the checkout")
def test_questions_without_an_answer_are_left_out() -> None:
    """Adversarial ones have none to compare with."""
    questions = question_answering.read_questions()

    assert len(questions) > 100
    assert {asked.category for asked in questions} == {1, 2, 3, 4}
