"""What a message asks for: an answer, a greeting, or that words are remembered."""

from __future__ import annotations

import pytest

from memgraph.analysis.requests import (
    is_bare_question,
    is_brief_reply,
    is_greeting,
    is_question,
    words_to_forget,
    words_to_remember,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("remember that I park on level 3", "I park on level 3"),
        ("Remember: my locker code is 12-B.", "my locker code is 12-B."),
        ("Please remember my sister's birthday is May 3.", "my sister's birthday is May 3."),
        ("Remember Ada's birthday is in May", "Ada's birthday is in May"),
        ("Remember, I never eat fish", "I never eat fish"),
        ("Remember this: the gate is green", "the gate is green"),
        ("Don't forget that I hate olives", "I hate olives"),
        ("Keep in mind that I'm left-handed.", "I'm left-handed."),
        ("Note that we use tabs", "we use tabs"),
        ("Can you remember that I park on level 3?", "I park on level 3"),
        ("Remember to water the plants", "Remember to water the plants"),
        ("记住：我停在三楼", "我停在三楼"),
        ("请记住我对花生过敏。", "我对花生过敏。"),
        ("帮我记住，车牌是沪A12345", "车牌是沪A12345"),
        ("記住我姓王", "我姓王"),
        ("别忘了我周五要去医院", "我周五要去医院"),
        ("记一下我的工号是88", "我的工号是88"),
    ],
)
def test_words_to_remember_are_whole(text: str, words: str) -> None:
    """Word for word, without the request itself."""
    assert words_to_remember(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Do you remember my name?",
        "Remember me?",
        "Remember when we went to Rome?",
        "I remember the day we met",
        "remember",
        "remember that",
        "Note to self",
        "你记得我吗？",
        "记得我叫什么吗？",
        "记得我们去罗马那次",
        "记住了吗",
        "记住了",
        "",
    ],
)
def test_a_memory_or_a_question_is_no_request_to_remember(text: str) -> None:
    assert words_to_remember(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live",
        "what's my name",
        "Have I been to Rome?",
        "I'm vegan. What can I eat?",
        "我叫什么名字",
        "我住哪里",
        "我和谁住",
        "你好吗",
    ],
)
def test_questions_need_no_question_mark(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    ["I have a cat", "Had a great day", "Will is my brother.", "I live where it rains", "我住在杭州", "我什么都吃", ""],
)
def test_statements_are_no_questions(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    "text", ["By the way, who wrote Faust?", "Hello, can you help me?", "Thanks, what is 2 + 2?", "嗨，今晚吃什么？"]
)
def test_a_question_after_an_opening_is_bare(text: str) -> None:
    assert is_bare_question(text)


@pytest.mark.parametrize(
    "text", ["What's my name?", "Can I eat this raw?", "Why am I so tired?", "我应该穿什么？", "我的生日是哪天？"]
)
def test_a_question_with_what_everyone_has_is_bare(text: str) -> None:
    assert is_bare_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "Can I, as a diabetic, drink cola?",
        "Is it safe to run with asthma like mine?",
        "How should a widow of 70 like me invest?",
        "孕妇像我这样能吃寿司吗？",
        "Am I too old at 66 for a first marathon?",
        "Why does my psoriasis get worse in spring?",
        "When does my niece Orla finish school?",
        "Should I, being left-handed, buy another guitar?",
        "我怀孕了能泡温泉吗？",
        "我女儿两岁可以喝酸奶吗？",
        "我有哮喘可以潜水吗",
        "我是保安上夜班怎么睡觉？",
        "My dog died. What now?",
        "I got fired, what should I do?",
        "我离婚了，怎么办？",
        "家里那只布偶猫最近老掉毛，换什么粮好？",
    ],
)
def test_a_question_that_tells_what_its_author_is_states_something(text: str) -> None:
    assert not is_bare_question(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("Hi!", True), ("你好", True), ("Hi, I'm Tom.", False), ("high", False)]
)
def test_a_greeting_is_nothing_else(text: str, *, expected: bool) -> None:
    assert is_greeting(text) is expected


@pytest.mark.parametrize(("text", "expected"), [("Thanks!", True), ("好的。", True), ("no, I moved", False)])
def test_an_acknowledgement_is_nothing_else(text: str, *, expected: bool) -> None:
    assert is_brief_reply(text) is expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Forget that I smoke.", "I smoke"),
        ("please forget about my boat", "my boat"),
        ("Forget the boat, take the train.", ""),
        ("Can you forget my old number?", "my old number"),
        ("Forget to water them.", ""),
        ("I keep forgetting names.", ""),
        ("Don't forget that I smoke.", ""),
        ("请忘掉我的旧地址", "我的旧地址"),
        ("忘了带伞", ""),
    ],
)
def test_words_that_are_to_be_forgotten_are_those_after_a_request(text: str, words: str) -> None:
    assert words_to_forget(text) == words
