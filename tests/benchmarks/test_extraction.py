"""Conversations go through the real update, and what goes wrong is part of the result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from memgraph import Context
from memgraph.testing import ScriptedModel, update_answer

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/extraction.py` has it

import extraction
from sets.labels import Conversation

TALK = Conversation.model_validate(
    {
        "id": "talk",
        "language": "en",
        "kind": "made up",
        "memory": [{"content": "Lives in Oslo.", "category": "context"}],
        "messages": [{"human": "I moved to Rome."}, {"ai": "Nice."}],
        "should": ["rome"],
        "outdated": ["oslo"],
    }
)


def test_a_perfect_model_is_perfect() -> None:
    """What it stored, and what it took back, is read from the memory that the graph saved."""
    model = ScriptedModel(update_answer("Lives in Rome.", remove=["fact_00000000"]))

    judged = extraction.learn(Context(model=model), TALK)

    assert (judged.right, list(judged.found), list(judged.retired)) == (1, [True], [True])
    assert not judged.error


def test_an_update_that_fails_is_told() -> None:
    """It is neither hidden nor the end of the others."""
    judged = list(extraction.all_learned(Context(model=ScriptedModel("I cannot.")), [TALK, TALK], jobs=2))

    assert [one.error.split(":")[0] for one in judged] == ["UnreadableAnswerError"] * 2
    assert {row.name: row.value for row in extraction.rows_of("x", judged)}["x: updates that failed"] == 2


def test_a_tool_answers_a_call() -> None:
    """As a lead agent has it, so that the filter has something to drop."""
    talk = TALK.model_copy(
        update={"messages": Conversation.model_validate({**BASE, "messages": [{"human": "q"}, {"tool": "t"}]}).messages}
    )

    _, call, answer = extraction.messages_of(talk)

    assert isinstance(call, AIMessage)
    assert isinstance(answer, ToolMessage)
    assert call.tool_calls[0]["id"] == answer.tool_call_id


BASE = {"id": "x", "language": "en", "kind": "made up"}


@pytest.mark.parametrize(("limit", "expected"), [(None, 6), (2, 2), (6, 6), (9, 6)])
def test_a_sample_is_spread_over_the_whole(limit: int | None, expected: int) -> None:
    """So that a few conversations are of both languages."""
    talks = [TALK.model_copy(update={"id": str(number)}) for number in range(6)]

    chosen = extraction.sample(talks, limit)

    assert len({one.id for one in chosen}) == expected
    assert limit != 2 or [one.id for one in chosen] == ["0", "3"]


def test_a_share_of_nothing_is_no_row() -> None:
    """A model that stores nothing has no precision, rather than a bad one."""
    judged = list(extraction.all_learned(Context(model=ScriptedModel(update_answer())), [TALK]))

    names = {row.name for row in extraction.rows_of("x", judged)}

    assert "x, English: recall" in names
    assert "x, English: precision" not in names
