"""The format of the answer."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from memgraph.llm.offline import OfflineChatModel
from memgraph.text.tokens import count_tokens

SAID = "<conversation>\n<turn 3 user>Hi there. I love hiking.</turn>\n</conversation>"


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
    prompt = f"<conversation>\n{f'<day {day}>' if day else ''}\n<turn 3 user>{said}</turn>\n</conversation>"

    facts = json.loads(OfflineChatModel().invoke([HumanMessage(prompt)]).text)["newFacts"]

    assert facts
    assert {fact.get("date") for fact in facts} == {date}


def test_words_of_another_speaker_are_not_learned() -> None:
    """And what follows them is not an answer to the assistant."""
    turns = '<day 2026-05-03 Sun><turn 1 other "Bea">I live in Rome.</turn><turn 2 user>I love tea.</turn>'

    facts = json.loads(OfflineChatModel().invoke([HumanMessage(f"<conversation>{turns}</conversation>")]).text)

    assert [fact["content"] for fact in facts["newFacts"]] == ["I love tea."]


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
