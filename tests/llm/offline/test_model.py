"""Summaries take in what is new, and lose nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from memgraph.llm.offline import OfflineChatModel
from memgraph.models import Fact
from memgraph.text.tokens import count_tokens

Learn = Callable[..., dict[str, Any]]


def test_each_kind_of_fact_goes_into_its_summary(learn: Learn) -> None:
    """Work, person and aims are told apart, as the prompt asks."""
    summaries = learn("I work at Acme. I love hiking. I want to learn Rust.")["summaries"]

    assert summaries == {
        "workContext": "Works at Acme.",
        "personalContext": "Loves hiking.",
        "topOfMind": "Wants to learn Rust.",
    }


def test_what_stands_in_a_summary_stays_there(learn: Learn) -> None:
    """Another model may have written it."""
    answer = learn("我在腾讯工作", summaries="workContext: 张三是后端工程师\npersonalContext: (empty)")

    assert answer["summaries"] == {"workContext": "张三是后端工程师。用户在腾讯工作。"}


def test_a_summary_without_news_is_left_alone(learn: Learn) -> None:
    """Rewriting it would only make two writers race."""
    assert learn("I love hiking.", summaries="personalContext: Loves hiking.")["summaries"] == {}


def test_what_a_replaced_fact_said_leaves_the_summary(learn: Learn) -> None:
    """Otherwise the summary would contradict the facts."""
    old = Fact(id="fact_00000001", content="Works at Acme.", confidence=0.9)
    answer = learn("I joined Initech.", known=[old], summaries="workContext: Works at Acme. Uses Rust &amp; Go.")

    assert answer["summaries"]["workContext"] == "Uses Rust & Go. Works at Initech."


def test_a_full_summary_takes_nothing_more(learn: Learn) -> None:
    """It would be cut, and lose what stands in it."""
    assert learn("I work at Acme.", summaries=f"workContext: {'x' * 1_195}")["summaries"] == {}


SAID = "<conversation>\n<turn 3 user>Hi there. I love hiking.</turn>\n</conversation>"


@pytest.mark.parametrize(("rules", "asked"), [('Write "summaries".', True), ("List what is new.", False)])
def test_summaries_are_written_if_the_rules_ask_for_them(rules: str, asked: bool) -> None:  # noqa: FBT001
    """They may be left to the upkeep."""
    answer = json.loads(OfflineChatModel().invoke([SystemMessage(rules), HumanMessage(SAID)]).text)

    assert ("summaries" in answer) is asked


def test_each_fact_names_its_turn_and_quotes_its_sentence() -> None:
    """So that it gets the date and the words of what the user said."""
    (fact,) = json.loads(OfflineChatModel().invoke([HumanMessage(SAID)]).text)["newFacts"]

    assert (fact["turn"], fact["quote"]) == (3, "I love hiking")


@pytest.mark.parametrize(
    ("day", "said", "date"),
    [
        ("2026-05-03 Sun", "I moved to Oslo two days ago.", "2026-05-01"),
        ("2026-05-03 Sun", "我去年搬到了北京。", "2025"),
        ("2026-05-03 Sun", "I live in Oslo until next month.", None),
        ("2026-05-03 Sun", "I moved to Oslo a few days ago.", None),
        ("2026-05-03 Sun", "My name is Ada and I moved to Oslo two days ago.", None),
        ("2026-99-03", "I moved to Oslo two days ago.", None),
        ("", "I moved to Oslo two days ago.", None),
    ],
)
def test_relative_date_becomes_a_date_if_it_is_certain(day: str, said: str, date: str | None) -> None:
    """Of two statements, one end or an unknown day none is certain."""
    prompt = f"<conversation>\n<turn 3 user{f' {day}' if day else ''}>{said}</turn>\n</conversation>"

    facts = json.loads(OfflineChatModel().invoke([HumanMessage(prompt)]).text)["newFacts"]

    assert facts
    assert {fact.get("date") for fact in facts} == {date}


def test_words_of_another_speaker_are_not_learned() -> None:
    """And what follows them is not an answer to the assistant."""
    turns = '<turn 1 other "Bea" 2026-05-03>I live in Rome.</turn><turn 2 user 2026-05-03>I love tea.</turn>'

    facts = json.loads(OfflineChatModel().invoke([HumanMessage(f"<conversation>{turns}</conversation>")]).text)

    assert [fact["content"] for fact in facts["newFacts"]] == ["Loves tea."]


def test_an_answer_is_compact() -> None:
    """No empty field, no blank between fields."""
    empty = OfflineChatModel().invoke([HumanMessage("<conversation></conversation>")]).text
    one = OfflineChatModel().invoke([SystemMessage("Rules."), HumanMessage(SAID)]).text

    assert empty == '{"newFacts":[]}'
    assert count_tokens(one) <= 60
