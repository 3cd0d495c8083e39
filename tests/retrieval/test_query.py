"""What facts are compared with: the query of a conversation."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from memgraph.models import Turn
from memgraph.retrieval.query import ANSWER_WEIGHT, MAX_CHARS, READ_FACTOR, TURN_DECAY, Query, build_query


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
    ("turns", "expected"),
    [(0, []), (1, ["third"]), (2, ["second", "two", "third"]), (9, ["first", "one", "second", "two", "third"])],
)
def test_human_messages_are_counted_and_answers_between_them_included(turns: int, expected: list[str]) -> None:
    assert texts(build_query(CONVERSATION, max_context_turns=turns)) == expected


def test_weights_halve_with_each_exchange_and_an_answer_weighs_less_than_its_question() -> None:
    assert build_query(CONVERSATION).parts == (
        ("first", 0.25),
        ("one", 0.25 * 0.4),
        ("second", 0.5),
        ("two", 0.5 * 0.4),
        ("third", 1.0),
    )
    assert (TURN_DECAY, ANSWER_WEIGHT) == (0.5, 0.4)


def test_an_answer_at_the_end_weighs_less_than_the_question_before_it() -> None:
    assert build_query([HumanMessage("question"), AIMessage("answer")]).parts == (("question", 1.0), ("answer", 0.4))


def test_three_exchanges_count_by_default() -> None:
    assert texts(build_query(["a", "b", "c", "d"])) == ["b", "c", "d"]


def test_a_negative_number_of_exchanges_is_none() -> None:
    assert build_query(["a"], max_context_turns=-1).parts == ()


@pytest.mark.parametrize(
    "messages",
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
def test_any_form_of_a_conversation_is_accepted(messages: Any) -> None:
    assert texts(build_query(messages)) == ["hello"]


def test_acknowledgements_do_not_count() -> None:
    assert texts(build_query([HumanMessage("How do I test?"), AIMessage("So."), HumanMessage("thanks!")])) == [
        "How do I test?",
        "So.",
    ]


def test_injected_memory_is_not_compared() -> None:
    """Memory must not find itself."""
    assert not build_query([HumanMessage("<memory>Likes tea.</memory>", name="memory_context")])


@pytest.mark.parametrize("text", ["a" * MAX_CHARS, "a" * (MAX_CHARS - 1)])
def test_a_turn_of_a_page_is_compared_as_it_is(text: str) -> None:
    assert texts(build_query([text])) == [text]


def test_a_longer_turn_is_shortened_to_its_ends() -> None:
    """A pasted log costs no more than a page of text."""
    text = "a" * 999 + "b" + "c" * 100_000 + "d" + "e" * 999

    assert MAX_CHARS == 2_000
    assert texts(build_query([text])) == ["a" * 999 + "b\nd" + "e" * 999]
    assert build_query(text).parts == (("a" * 999 + "b\nd" + "e" * 999, 1.0),)
    assert len(texts(build_query(["a" * (MAX_CHARS + 1)]))[0]) == MAX_CHARS + 1


def test_the_beginning_of_a_long_conversation_is_not_read() -> None:
    """Recall stays as quick as the conversation gets long."""
    unreadable: Any = [object()] * 1_000

    assert texts(build_query([*unreadable, *CONVERSATION, *CONVERSATION, *CONVERSATION], max_context_turns=1)) == [
        "third"
    ]


def test_blank_messages_are_no_query() -> None:
    assert not build_query([])
    assert not build_query(["  "])


def test_the_text_of_a_query_is_all_of_it() -> None:
    assert Query(parts=(("a", 0.5), ("b", 1.0))).text == "a\nb"
    assert Query(parts=(("", 0.5), (" ", 1.0), ("b", 1.0)))
    assert not Query(parts=(("", 0.5), (" ", 1.0)))


def test_turns_are_taken_as_they_are() -> None:
    """They are filtered already; also those among other messages."""
    turns = [Turn(id=f"{n}", role="human" if n % 2 else "ai", text=f"turn {n}") for n in range(1, 8)]

    assert texts(build_query(turns, max_context_turns=2)) == ["turn 5", "turn 6", "turn 7"]
    assert texts(build_query([*turns, HumanMessage("last")], max_context_turns=2)) == ["turn 7", "last"]


def test_acknowledgements_are_read_past() -> None:
    """Twice as many messages of the user are read as count, and one more."""
    thanks = [HumanMessage("thanks!")] * 2

    assert READ_FACTOR == 2
    assert texts(build_query([HumanMessage("question"), *thanks], max_context_turns=1)) == ["question"]
    assert texts(build_query([HumanMessage("question"), *thanks, *thanks], max_context_turns=1)) != ["question"]


# -- dates ----------------------------------------------------------------------------------------

TODAY = date(2026, 5, 20)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("What did I do on October 13, 2023?", ("2023-10-13",)),
        ("What did I do yesterday?", ("2026-05-19",)),
        ("2023年5月去了哪里？", ("2023-05",)),
        ("In May 2023, or in 2021?", ("2023-05", "2021")),
        ("May I ask you something?", ()),
        ("What did I do between March and June 2025?", ("2025-03/2025-06", "2025-06")),
        ("What did I do before March 2024?", ("0001-01-01/2024-02-29",)),
        ("Where have I been since 2025?", ("2025/9999-12-31",)),
        ("What do I have after June 10?", ("2026-06-10/9999-12-31",)),
        ("2024年3月以前我在做什么", ("0001-01-01/2024-02-29",)),
        ("昨天前台说了什么？", ("2026-05-19",)),
        ("What did I do last week?", ("2026-05-11/2026-05-17",)),
        ("上周我做了什么", ("2026-05-11/2026-05-17",)),
        ("What did I buy since last week?", ("2026-05-11/2026-05-17/9999-12-31",)),
    ],
)
def test_the_dates_of_a_question_are_part_of_the_query(text: str, dates: tuple[str, ...]) -> None:
    assert build_query(text, today=TODAY).dates == dates
    assert build_query([text], today=TODAY).dates == dates


def test_only_the_last_message_of_the_user_names_dates() -> None:
    messages = [HumanMessage("It was in May 2023."), HumanMessage("And who came?"), AIMessage("In 2021?")]

    assert build_query(messages, today=TODAY).dates == ()


# -- terms ----------------------------------------------------------------------------------------


def test_synonyms_weigh_half_as_much_as_the_words() -> None:
    query = Query(parts=(("docker", 0.5),))

    assert query.terms == {"docker": 0.5}
    assert query.synonyms["contain"] == 0.25


@pytest.mark.parametrize(
    ("text", "is_general"),
    [
        ("Tell me all you know about me.", True),
        ("So who am I, and what did I tell you till now?", True),
        ("Do you remember me?", True),
        ("你都了解我哪些情况？", True),
        ("What do you know about my brother?", False),
        ("Tell me how to bake bread.", False),
        ("你知道我弟弟住哪儿吗？", False),
        ("我该怎么做红烧肉？", False),
        ("Please tell me how you can do that.", False),
        ("我们" * 45 + "猫", False),
        ("", False),
    ],
)
def test_a_question_about_the_user_in_general_names_nothing(text: str, is_general: bool) -> None:  # noqa: FBT001
    assert build_query([text]).is_general is is_general
