"""A quote that states the opposite of a fact does not support it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.text.polarity import states_opposite


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Hates tea.", "I love tea"),
        ("Dislikes tea", "I really love tea!"),
        ("Loves tea.", "I hate tea."),
        ("Likes tea", "I can't stand tea"),
        ("Loves tea", "I don't like tea."),
        ("Eats meat.", "I don't eat meat, it makes me sick"),
        ("The user does not eat meat.", "I eat meat."),
        ("Is vegan.", "I'm not vegan"),
        ("Does not live in Berlin.", "I live in Berlin"),
        ("Has a dog", "I have no dog"),
        ("Is not allergic to nuts.", "I'm allergic to nuts"),
        ("用户讨厌喝茶。", "我很喜欢喝茶"),
        ("喜欢香菜", "我不喜欢香菜"),
        ("喜欢香菜", "我讨厌香菜。"),
        ("吃肉", "我不吃肉"),
    ],
)
def test_the_opposite_is_recognised(content: str, said: str) -> None:
    assert states_opposite(content, said, said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Loves tea", "I love tea"),
        ("Loves tea", "no I love tea"),
        ("Loves tea", "No, I love tea"),
        ("Loves tea", "Who doesn't love tea?"),
        ("Loves tea", "Don't I love tea"),
        ("Loves tea", "I don't only love tea"),
        ("Likes tea", "I don't dislike tea"),
        ("Likes tea", "I don't want tea"),
        ("Likes tea", "I didn't like tea"),
        ("Likes tea", "My wife doesn't like tea"),
        ("Likes coffee", "I don't like tea, I like coffee"),
        ("Loves Oolong", "I have never loved a tea as much as Oolong"),
        ("Hates tea", "I love tea. Just kidding, I hate it"),
        ("Hates tea", "I love tea. NOT."),
        ("Hates tea", "I used to love tea"),
        ("Hates tea", "I love the smell of tea"),
        ("Drinks tea", "I don't drink tea every day"),
        ("Works 30 hours", "I don't work 40 hours"),
        ("Does not eat meat at home", "I eat meat"),
        ("Lives in Berlin", "I don't live in Berlin, I live in Berlin Mitte"),
        ("喜欢茶", "我特别喜欢茶"),
        ("喜欢茶", "我不是不喜欢茶"),
        ("喜欢茶", "我不得不喜欢茶"),
        ("喜欢茶", "谁不喜欢茶"),
        ("喜欢茶", "我不仅喜欢茶"),
    ],
)
def test_what_is_not_certainly_the_opposite_is_none(content: str, said: str) -> None:
    """A true fact must not be lost to a denial that denies something else, or only in part."""
    assert not states_opposite(content, said, said)


WORDS = ("I", "like", "hate", "tea", "not", "don't", ",", "never", "cats", "我", "喜欢", "不", "茶")


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_no_text_is_the_opposite_of_itself(text: str) -> None:
    assert not states_opposite(text, text, text)
