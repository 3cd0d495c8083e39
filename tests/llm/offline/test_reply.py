"""Corrections and confirmations need what the assistant said before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Learn = Callable[..., dict[str, Any]]

CORRECTIONS = [
    ("Use npm install to add it.", "No, that's wrong. We use pnpm, not npm.", "Uses pnpm at work.", "npm install"),
    ("The port is 3000.", "That's wrong, the port is 8080 not 3000", "The port is 8080 not 3000.", "3000"),
    ("Since you live in Munich, go hiking.", "No, I live in Berlin, not Munich.", "Lives in Berlin.", "Munich"),
    ("That's Java 8.", "I said Java 17, not Java 8", "Meant Java 17, not Java 8.", "Java 8"),
    (
        "Here it is for 3.9.",
        "You misunderstood. I need the Python 3.12 version.",
        "Needs the Python 3.12 version.",
        "3.9",
    ),
    (
        "你可以用 ReAct 模式。",
        "不对，应该用 pydantic 模型，而不是 ReAct",
        "正确做法：应该用 pydantic 模型，而不是 ReAct",
        "ReAct",
    ),
    ("你好，张伟！", "你理解错了，我叫张三", "用户名叫张三", "张伟"),
    ("可以用 Flask 写。", "别用Flask，改用FastAPI", "正确做法：别用Flask，改用FastAPI", "Flask"),
]


@pytest.mark.parametrize(("answer", "said", "content", "wrong"), CORRECTIONS)
def test_a_correction_keeps_the_right_way_and_what_went_wrong(
    learn: Learn, answer: str, said: str, content: str, wrong: str
) -> None:
    """The next agent must know both: what to do, and what not to do again."""
    facts = learn(answer, said)["newFacts"]

    assert [(fact["content"], fact["category"]) for fact in facts] == [(content, "correction")]
    assert facts[0]["confidence"] >= 0.95
    assert wrong in facts[0]["sourceError"]


@pytest.mark.parametrize(
    ("answer", "said", "approach"),
    [
        ("I kept it short and put the code first.", "Yes, exactly!", "I kept it short and put the code first"),
        (
            "I will use pytest fixtures here.",
            "Perfect, that's exactly what I wanted.",
            "I will use pytest fixtures here",
        ),
        ("我会先给结论，再给代码。", "对，就是这样，以后都这样回答", "我会先给结论，再给代码"),
    ],
)
def test_a_confirmed_approach_is_kept_as_behavior(learn: Learn, answer: str, said: str, approach: str) -> None:
    """What was praised should be done again."""
    facts = learn(answer, said)["newFacts"]

    assert [(fact["category"], fact["confidence"]) for fact in facts] == [("behavior", 0.9)]
    assert approach in facts[0]["content"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Do you have pets?", "No, I live alone."),
        ("You are so brave.", "Exactly!"),
        ("Thank you!", "No worries, Mel! Your friendship means so much to me."),
        ("Here you are.", "That's wrong."),
        ("Here you are.", "That's wrong, it should be the other one."),
        ("给你。", "不对，再来一次"),
        ("给你。", "不对，这个不是我要的"),
        ("Sure.", "Perfect, thanks!"),
    ],
)
def test_a_reply_that_says_nothing_new_leaves_nothing(learn: Learn, answer: str, said: str) -> None:
    """A no is often an answer, and praise often manners."""
    assert learn(answer, said)["newFacts"] == []


def test_earlier_turns_are_context_only(learn: Learn) -> None:
    """They were learned from before; repeating them would confirm what nobody repeated."""
    facts = learn("I live in Rome.", "Use npm.", "That's wrong, we use pnpm, not npm.", earlier=2)["newFacts"]

    assert [fact["content"] for fact in facts] == ["Uses pnpm at work."]


def test_what_follows_a_role_play_is_not_believed(learn: Learn) -> None:
    """In a game the user is whoever the game needs."""
    answer = learn("I work at Acme.", "Nice.", "Let's role-play: you are a doctor.", "Hello.", "I live in Narnia.")

    assert [fact["content"] for fact in answer["newFacts"]] == ["Works at Acme."]
