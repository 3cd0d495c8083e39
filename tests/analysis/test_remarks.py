"""A passing remark is about neither the user nor anything that lasts; any doubt makes a sentence none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.remarks import is_about_assistant, is_about_period, is_passing_remark, mentions_user


@pytest.mark.parametrize(
    "text",
    [
        "The tram was late today.",
        "It is raining on the roof again.",
        "Just saw a funny video about a lamp.",
        "It's so windy outside right now.",
        "今天的电车又晚了。",
        "刚看了一个关于台灯的搞笑视频。",
        "电梯又坏了。",
    ],
)
def test_a_sentence_about_the_moment_alone_is_a_passing_remark(text: str) -> None:
    assert is_passing_remark(text)


@pytest.mark.parametrize(
    "text",
    [
        "My tram was late today.",
        "I’m late again today.",
        "The dog died this morning.",
        "The baby was born this morning!",
        "Just signed the contract with the publisher.",
        "The doctor says it is asthma.",
        "The tram is late every day.",
        "The flat has 3 rooms.",
        "今天升职了！",
        "我的电车今天又晚了。",
        "孩子今天又感冒了。",
        "刚领证！！",
        "- 活着（太难过）",
    ],
)
def test_what_concerns_the_user_or_their_life_is_none(text: str) -> None:
    assert not is_passing_remark(text)


@pytest.mark.parametrize("text", ["Lives in Lisbon.", "Works at Acme", "Named Biscuit, 3 years old.", "Vegetarian."])
def test_a_note_without_a_subject_is_none(text: str) -> None:
    assert not is_passing_remark(text)


@pytest.mark.parametrize("text", ["Der Zug war heute wieder zu spät.", "Hoy llueve en la calle.", "今日は雨です。"])
def test_a_sentence_in_another_language_is_none(text: str) -> None:
    """The classifier knows English and Chinese."""
    assert not is_passing_remark(text)


@given(st.sampled_from(["I", "my", "we", "我", "user"]), st.sampled_from(["The tram was late today.", "电梯又坏了。"]))
def test_a_word_for_the_user_makes_it_none_wherever_it_stands(word: str, remark: str) -> None:
    assert mentions_user(f"{remark} {word}")
    assert not is_passing_remark(f"{remark} {word}")
    assert not is_passing_remark(f"{word} {remark}")


@pytest.mark.parametrize(
    "text",
    [
        "What about you?",
        "Do you do any sports?",
        "Hmm, you are explaining very well.",
        "Thank you very much for your advice!",
        "你今天怎么样",
        "谢谢你的建议！",
    ],
)
def test_a_question_to_the_assistant_or_thanks_is_about_the_assistant_alone(text: str) -> None:
    assert is_about_assistant(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do you know what helps my son with maths?",
        "Can you find a school in Lisbon for a deaf child?",
        "How do you cook rice for a diabetic?",
        "The museum was wonderful.",
        "Do you think 2 coffees a day are too much?",
        "你觉得我该辞职吗？",
    ],
)
def test_what_may_tell_of_the_user_is_not(text: str) -> None:
    """A request has reasons."""
    assert not is_about_assistant(text)


@pytest.mark.parametrize(
    "text", ["I've been learning to draw recently.", "My back hurts these days.", "我最近在学画画。", "咱这阵子很忙。"]
)
def test_what_the_user_does_in_these_days_is_about_a_period(text: str) -> None:
    assert is_about_period(text)


@pytest.mark.parametrize(
    "text",
    ["I learned to draw.", "The trams are late these days.", "What have you been doing lately?", "我和你最近常聊。"],
)
def test_what_is_about_others_or_addressed_to_the_assistant_is_not_about_a_period_of_the_user(text: str) -> None:
    assert not is_about_period(text)
