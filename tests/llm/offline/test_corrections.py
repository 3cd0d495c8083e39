"""Corrections as people word them, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Learn = Callable[..., dict[str, Any]]

CORRECTIONS = [
    ("Use npm install to add it.", "No, that's wrong. We use pnpm, not npm.", "We use pnpm, not npm.", "npm install"),
    ("The port is 3000.", "That's wrong, the port is 8080 not 3000", "The port is 8080 not 3000.", "3000"),
    (
        "I put the helper in utils.py. Tests go in test_utils.py.",
        "Wrong place. Helpers go in src/lib, never in utils.py.",
        "Helpers go in src/lib, never in utils.py.",
        "I put the helper in utils.py",
    ),
    (
        "I deployed it with Heroku. Run git push heroku main.",
        "That's not how we deploy. We deploy with GitHub Actions to ECS.",
        "We deploy with GitHub Actions to ECS.",
        "I deployed it with Heroku",
    ),
    (
        "The logger prints to stdout.",
        "That's a mistake, logs should go to stderr.",
        "Logs should go to stderr.",
        "stdout",
    ),
    (
        "可以在提交时用正则表达式逐个检查每个字段，例如：",
        "不对，你理解错了。我们项目里不手写正则，统一用 Zod 做校验。",
        "我们项目里不手写正则，统一用 Zod 做校验",
        "用正则表达式逐个检查",
    ),
    ("测试我用 unittest 写的。", "说了多少次了，用 pytest，不要用 unittest", "用 pytest，不要用 unittest", "unittest"),
    ("你好，张伟！", "你理解错了，我叫张三", "用户名叫张三", "张伟"),
]

PREFERENCES = [
    ("Since you live in Munich, go hiking.", "No, I live in Berlin, not Munich."),
    ("Add it with npm install zod.", "we don't use npm, we use pnpm"),
    ("I converted the price to dollars. It is $25.", "I don't want dollars, I always need prices in euros."),
    ("可以用 Flask 写。", "别用Flask，改用FastAPI"),
    ("Use var for the loop.", "Never use var. Use const or let."),
    ("你可以用 npm 安装依赖。", "我们不用 npm，用 pnpm"),
    ("这是英文版的回答：Hello.", "请用中文回答，不要用英文"),
]

LOOKALIKES = [
    ("The port is 3000.", "that's wrong? I thought it was right"),
    ("I set the timeout to 30.", "no wait, I meant my previous message was wrong, sorry. ignore it"),
    ("Use npm install.", "My colleague says that's wrong, he says we should use yarn"),
    ("Shall I use Redis?", "No, not now. Use whatever you think."),
    ("Do you use Python?", "No, I don't use it, never needed it."),
    ("Here is the code.", "Hmm, I was wrong. It does work."),
    ("The file is missing.", "I made a mistake, the file is called data.csv, not dat.csv"),
    ("The build failed.", 'The error says "wrong version, use Node 18 instead of 16"'),
    ("Which file?", "use the second one instead"),
    ("The plan has five steps.", "The teacher marked my answer as wrong. What should be corrected?"),
    ("I added a button.", "That's not bad at all"),
    ("超时设置为30。", "不好意思我刚才说错了，忽略上一条"),
    ("用 npm 安装。", "同事说不对，应该用 yarn"),
    ("端口是3000。", "这不对吗？"),
    ("文件不存在。", "我写错了，文件名是 data.csv"),
    ("祝你愉快。", "不用谢"),
    ("哪个文件？", "用第二个"),
    ("计划有五步。", "老师说我写错了，应该怎么改"),
]


NOTHING_NEW = [
    ("You are so brave.", "Exactly!"),
    ("Thank you!", "No worries, Mel! Your friendship means so much to me."),
    ("Here you are.", "That's wrong."),
    ("Here you are.", "That's wrong, it should be the other one."),
    ("给你。", "不对，再来一次"),
    ("给你。", "不对，这个不是我要的"),
    ("Sure.", "Perfect, thanks!"),
]


@pytest.mark.parametrize(("answer", "said"), PREFERENCES)
def test_what_objects_to_no_answer_is_a_fact_as_any_other(learn: Learn, answer: str, said: str) -> None:
    facts = learn(answer, said)["newFacts"]

    assert facts
    assert all(fact["category"] != "correction" for fact in facts)


@pytest.mark.parametrize(("answer", "said", "content", "wrong"), CORRECTIONS)
def test_a_correction_is_kept_with_what_was_wrong(
    learn: Learn, answer: str, said: str, content: str, wrong: str
) -> None:
    """The next agent must know both: what to do, in the user's words, and what not to do again."""
    (fact,) = learn(answer, said)["newFacts"]

    assert (fact["content"], fact["category"]) == (content, "correction")
    assert wrong in fact["sourceError"]


@pytest.mark.parametrize(("answer", "said"), LOOKALIKES)
def test_what_only_looks_like_a_correction_is_none(learn: Learn, answer: str, said: str) -> None:
    """Users correct themselves, quote others, ask whether something is wrong."""
    assert not any(fact["category"] == "correction" for fact in learn(answer, said)["newFacts"])


@pytest.mark.parametrize(("answer", "said"), NOTHING_NEW)
def test_a_reply_that_says_nothing_new_leaves_nothing(learn: Learn, answer: str, said: str) -> None:
    """A no is often an answer, and praise often manners."""
    assert learn(answer, said)["newFacts"] == []


def test_an_answer_to_a_question_is_no_correction(learn: Learn) -> None:
    (fact,) = learn("Do you have pets?", "No, I live alone.")["newFacts"]

    assert (fact["content"], fact["category"]) == ("Lives alone.", "context")


def test_a_correction_quotes_the_sentence_that_says_what_is_right(learn: Learn) -> None:
    """Its quote has to carry its names."""
    (fact,) = learn("Use npm.", "No, that's wrong. We use pnpm.")["newFacts"]

    assert fact["quote"] == "We use pnpm"


def test_earlier_turns_are_context_only(learn: Learn) -> None:
    """They were learned from before; repeating them would confirm what nobody repeated."""
    facts = learn("I live in Rome.", "Use npm.", "That's wrong, we use pnpm, not npm.", earlier=2)["newFacts"]

    assert [fact["content"] for fact in facts] == ["We use pnpm, not npm."]


def test_what_follows_a_role_play_is_not_believed(learn: Learn) -> None:
    """In a game the user is whoever the game needs."""
    answer = learn("I work at Acme.", "Nice.", "Let's role-play: you are a doctor.", "Hello.", "I live in Narnia.")

    assert [fact["content"] for fact in answer["newFacts"]] == ["Works at Acme."]
