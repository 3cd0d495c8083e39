"""The format of the answer."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from memgraph import Context, Fact, Scope, build_graph, open_storage
from memgraph.analysis.tokens import count_tokens
from memgraph.llm.offline import OfflineChatModel

SAID = "<conversation>\n<turn 3 user>Hi there. I love hiking.</turn>\n</conversation>"


def test_each_fact_names_its_turn_and_quotes_its_sentence() -> None:
    """So that it gets the date and the words of what the user said."""
    (fact,) = json.loads(OfflineChatModel().invoke([HumanMessage(SAID)]).text)["newFacts"]

    assert (fact["turn"], fact["quote"]) == (3, "I love hiking")


def learned_from(said: str) -> tuple[Fact, ...]:
    """Return what the graph stores of a message of 3 May 2026."""
    storage = open_storage("memory:")
    message = HumanMessage(said, id="m1", additional_kwargs={"created_at": "2026-05-03T12:00:00Z"})
    build_graph(storage=storage, model="offline").invoke({"messages": [message]}, context=Context(user_id="ada"))
    return storage.load(Scope("ada")).facts


def test_a_phrase_that_ends_a_talk_is_no_fact() -> None:
    """Also as an answer."""
    assert learned_from("ok, back to work. Thanks!") == ()


@pytest.mark.parametrize(
    ("said", "quotes"),
    [
        ("I'm vegetarian btw, what can I cook tonight?", ["I'm vegetarian btw"]),
        ("My name is Ada and I live in Oslo now.", ["My name is Ada", "I live in Oslo now"]),
        ("hi, i’m  allergic\tto nuts 🥜", ["i’m  allergic\tto nuts 🥜"]),
        ("We code in Rust 👩\u200d💻 since 2020.", ["We code in Rust 👩\u200d💻 since 2020"]),
        ("Hey! By the way, I park on level 3.", ["I park on level 3"]),
        ("我住在北京，我对花生过敏。今晚吃什么？", ["我住在北京", "我对花生过敏"]),
    ],
)
def test_a_fact_quotes_the_part_of_the_turn_that_states_it(said: str, quotes: list[str]) -> None:
    """Without the rest of the sentence, and as it was typed: with every mark and blank."""
    assert [quote.quote for fact in learned_from(said) for quote in fact.evidence] == quotes


@pytest.mark.parametrize(
    ("said", "dates"),
    [
        ("I moved to Oslo two days ago.", ["2026-05-01"]),
        ("我去年搬到了北京。", ["2025"]),
        ("I live in Oslo until next month.", [""]),
        ("I moved to Oslo a few days ago.", [""]),
        ("My name is Ada and I moved to Oslo two days ago.", ["", "2026-05-01"]),
        ("I'm vegetarian btw, what can I cook tonight?", [""]),
        ("我吃素，今晚可以做什么菜？", [""]),
    ],
)
def test_a_fact_has_the_date_of_its_own_words(said: str, dates: list[str]) -> None:
    """Not that of another part of the sentence: nobody is a vegetarian for one evening."""
    assert [(fact.valid_from or "", fact.valid_until or "") for fact in learned_from(said)] == [
        (date, "") for date in dates
    ]


def test_words_of_another_speaker_are_not_learned() -> None:
    """And what follows them is not an answer to the assistant."""
    turns = '<day 2026-05-03 Sun><turn 1 other "Bea">I live in Rome.</turn><turn 2 user>I love tea.</turn>'

    facts = json.loads(OfflineChatModel().invoke([HumanMessage(f"<conversation>{turns}</conversation>")]).text)

    assert [fact["content"] for fact in facts["newFacts"]] == ["Loves tea."]


def test_an_answer_is_compact() -> None:
    """No empty field, no blank between fields."""
    empty = OfflineChatModel().invoke([HumanMessage("<conversation></conversation>")]).text
    one = OfflineChatModel().invoke([SystemMessage("Rules."), HumanMessage(SAID)]).text

    assert empty == '{"newFacts":[]}'
    assert count_tokens(one) <= 60


def test_summaries_are_left_alone() -> None:
    """A fact in the user's own words needs no second place, and what a better model wrote stays."""
    answer = json.loads(OfflineChatModel().invoke([SystemMessage('Write "summaries".'), HumanMessage(SAID)]).text)

    assert "summaries" not in answer
