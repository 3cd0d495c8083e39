"""What facts are compared with."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from memgraph.models import Turn
from memgraph.retrieval.query import MAX_CHARS, Query, build_query


def texts(query: Query) -> list[str]:
    return [text for text, _ in query.parts]


CONVERSATION = [
    SystemMessage("Be brief."),
    HumanMessage("first"),
    AIMessage("one"),
    HumanMessage("second"),
    AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}]),
    ToolMessage("found", tool_call_id="1"),
    AIMessage("two"),
    HumanMessage("third"),
]


@pytest.mark.parametrize(
    ("turns", "kept"),
    [(0, []), (1, ["third"]), (2, ["second", "two", "third"]), (9, ["first", "one", "second", "two", "third"])],
)
def test_human_messages_are_counted_and_answers_between_them_included(turns: int, kept: list[str]) -> None:
    assert texts(build_query(CONVERSATION, max_context_turns=turns)) == kept


def test_the_latest_counts_most_and_an_answer_less_than_its_question() -> None:
    weights = dict(build_query(CONVERSATION).parts)

    assert weights["third"] == 1 > weights["second"] > weights["two"] > weights["one"]


@pytest.mark.parametrize(
    "said",
    [
        "hello",
        ["hello"],
        [Turn(id="1", role="human", text="hello")],
        [{"role": "user", "content": "hello"}],
        [("user", "hello")],
        ["hello", HumanMessage("")],
        [Turn(id="1", role="human", text="hello"), SystemMessage("x")],
    ],
)
def test_a_conversation_may_be_given_in_any_form(said: Any) -> None:
    assert texts(build_query(said)) == ["hello"]


def test_what_only_acknowledges_asks_nothing() -> None:
    assert texts(build_query([HumanMessage("How do I test?"), AIMessage("So."), HumanMessage("thanks!")])) == [
        "How do I test?",
        "So.",
    ]


def test_injected_memory_is_not_compared_with() -> None:
    """Memory must not find itself."""
    assert not build_query([HumanMessage("<memory>Likes tea.</memory>", name="memory_context")])


def test_of_a_long_turn_the_ends_are_compared() -> None:
    """A pasted log costs no more than a page of text."""
    (text,) = texts(build_query(["a" * 100_000 + "end"]))

    assert len(text) <= MAX_CHARS + 1
    assert text.endswith("end")


def test_the_beginning_of_a_long_conversation_is_not_read() -> None:
    """Recall stays as quick as the conversation gets long."""
    unreadable: Any = [object()] * 1_000

    assert texts(build_query([*unreadable, *CONVERSATION, *CONVERSATION, *CONVERSATION], max_context_turns=1)) == [
        "third"
    ]


def test_nothing_said_is_no_query() -> None:
    assert not build_query([])
    assert not build_query(["  "])
