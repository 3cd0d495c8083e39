"""What is known already: repeated, replaced, ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memgraph.models import Fact

Learn = Callable[..., dict[str, Any]]


def known(content: str, category: str = "context") -> Fact:
    return Fact(id="fact_00000001", content=content, category=category, confidence=0.9)


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Lives in Oslo.", "I moved to Lisbon in May.", "Lives in Lisbon."),
        ("The user lives in Oslo", "I live in Lisbon now.", "Lives in Lisbon."),
        ("Works at Acme as a data engineer.", "I just joined Initech.", "Works at Initech."),
        ("The user is a data engineer at Acme.", "I work at Initech.", "Works at Initech."),
        ("Name is Adam.", "My name is Ada.", "Name is Ada."),
        ("Is a junior developer.", "I'm a senior developer.", "Is a senior developer."),
        ("User's favorite color is red", "My favorite color is green.", "Favorite color is green."),
        ("用户住在北京", "我搬到了上海", "用户住在上海"),
        ("在字节跳动担任后端开发工程师", "我在腾讯工作", "用户在腾讯工作"),
        ("用户姓名为张三", "我叫张山", "用户名叫张山"),
        ("用户最喜欢的颜色是红色", "我最喜欢的颜色是蓝色", "用户最喜欢的颜色是蓝色"),
        ("用户住在北京", "I live in Shanghai.", "Lives in Shanghai."),
    ],
)
def test_the_new_answer_takes_the_place_of_the_old(learn: Learn, old: str, said: str, new: str) -> None:
    """Nobody lives in two places at once; whoever wrote the old fact, it is over."""
    answer = learn(said, known=[known(old)])

    assert [(fact["content"], fact["replaces"]) for fact in answer["newFacts"]] == [(new, ["fact_00000001"])]
    assert [removed["id"] for removed in answer["factsToRemove"]] == ["fact_00000001"]


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Is a vegetarian.", "I'm a nurse."),
        ("Is a student.", "I'm a barista."),
        ("Likes tea.", "I like coffee."),
        ("Favorite food is ramen.", "My favorite color is green."),
        ("The user's sister works at Google.", "I work at Acme."),
        ("用户喜欢茶", "我喜欢咖啡"),
        ("用户在腾讯工作", "我在上海工作"),
    ],
)
def test_facts_that_can_both_be_true_stay(learn: Learn, old: str, said: str) -> None:
    """Removing what was not contradicted loses a memory for nothing."""
    answer = learn(said, known=[known(old)])

    assert answer["factsToRemove"] == []
    assert [fact["replaces"] for fact in answer["newFacts"]] == [[]]


def test_saying_less_repeats_the_known_fact_word_for_word(learn: Learn) -> None:
    """A repetition counts as a confirmation; a poorer twin would only be noise."""
    answer = learn("I work at Acme.", known=[known("Works at Acme as a data engineer.")])

    assert [fact["content"] for fact in answer["newFacts"]] == ["Works at Acme as a data engineer."]
    assert answer["factsToRemove"] == []


@pytest.mark.parametrize(
    ("old", "category", "said"),
    [
        ("Works at Acme as a data engineer.", "context", "I no longer work at Acme."),
        ("Uses Vim.", "context", "I stopped using Vim."),
        ("Likes coffee.", "preference", "I don't like coffee anymore."),
        ("用户在百度工作", "context", "我从百度离职了"),
        ("用户使用Vim", "context", "我不再使用Vim了"),
    ],
)
def test_what_is_over_is_removed(learn: Learn, old: str, category: str, said: str) -> None:
    """The user said so, and there is nothing to put in its place."""
    answer = learn(said, known=[known(old, category)])

    assert [removed["id"] for removed in answer["factsToRemove"]] == ["fact_00000001"]
    assert answer["newFacts"] == []


def test_of_two_answers_in_one_conversation_the_last_counts(learn: Learn) -> None:
    """People correct themselves."""
    answer = learn("I live in Rome.", "Nice.", "I live in Milan.")

    assert [fact["content"] for fact in answer["newFacts"]] == ["Lives in Milan."]
