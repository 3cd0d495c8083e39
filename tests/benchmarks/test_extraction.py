"""Labelled conversations run through the real update; failures are part of the result."""

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

CONVERSATION = Conversation.model_validate(
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


def test_perfect_model_gets_a_perfect_score() -> None:
    """Additions and removals are read from the memory that the graph saved."""
    model = ScriptedModel(
        update_answer({"content": "Lives in Rome.", "quote": "I moved to Rome", "replaces": ["fact_00000000"]})
    )

    judged = extraction.learn(Context(model=model), CONVERSATION)

    assert (judged.right, list(judged.found), list(judged.retired)) == (1, [True], [True])
    assert not judged.error


def test_failed_update_is_reported() -> None:
    """It does not end the run."""
    judged = list(extraction.learn_all(Context(model=ScriptedModel("I cannot.")), [CONVERSATION, CONVERSATION], jobs=2))

    assert [one.error.split(":")[0] for one in judged] == ["UnreadableAnswerError"] * 2
    assert {row.name: row.value for row in extraction.rows_of("x", judged)}["x: updates that failed"] == 2


def test_tool_message_follows_its_call() -> None:
    """As in a real agent, so that the filter has something to drop."""
    conversation = CONVERSATION.model_copy(
        update={"messages": Conversation.model_validate({**BASE, "messages": [{"human": "q"}, {"tool": "t"}]}).messages}
    )

    _, call, answer = extraction.to_messages(conversation)

    assert isinstance(call, AIMessage)
    assert isinstance(answer, ToolMessage)
    assert call.tool_calls[0]["id"] == answer.tool_call_id


BASE = {"id": "x", "language": "en", "kind": "made up"}


@pytest.mark.parametrize(("limit", "expected"), [(None, 6), (2, 2), (6, 6), (9, 6)])
def test_sample_is_evenly_spaced(limit: int | None, expected: int) -> None:
    """So that a small sample has both languages."""
    conversations = [CONVERSATION.model_copy(update={"id": str(number)}) for number in range(6)]

    selected = extraction.sample(conversations, limit)

    assert len({one.id for one in selected}) == expected
    assert limit != 2 or [one.id for one in selected] == ["0", "3"]


def test_undefined_share_has_no_row() -> None:
    """A model that stores nothing has no precision, rather than a bad one."""
    judged = list(extraction.learn_all(Context(model=ScriptedModel(update_answer())), [CONVERSATION]))

    names = {row.name for row in extraction.rows_of("x", judged)}

    assert "x, English: recall" in names
    assert "x, English: precision" not in names
