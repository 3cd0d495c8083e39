"""Summaries take in what is new, and lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memgraph.models import Fact

Learn = Callable[..., dict[str, Any]]


def test_each_kind_of_fact_goes_into_its_summary(learn: Learn) -> None:
    """Work, person and aims are told apart, as the prompt asks."""
    user = learn("I work at Acme. I love hiking. I want to learn Rust.")["user"]

    assert user == {
        "workContext": {"summary": "Works at Acme.", "shouldUpdate": True},
        "personalContext": {"summary": "Loves hiking.", "shouldUpdate": True},
        "topOfMind": {"summary": "Wants to learn Rust.", "shouldUpdate": True},
    }


def test_what_stands_in_a_summary_stays_there(learn: Learn) -> None:
    """Another model may have written it."""
    answer = learn("我在腾讯工作", summaries="workContext: 张三是后端工程师\npersonalContext: (empty)")

    assert answer["user"]["workContext"] == {"summary": "张三是后端工程师。用户在腾讯工作。", "shouldUpdate": True}
    assert not answer["user"]["personalContext"]["shouldUpdate"]


def test_a_summary_without_news_is_left_alone(learn: Learn) -> None:
    """Rewriting it would only make two writers race."""
    answer = learn("I love hiking.", summaries="personalContext: Loves hiking.")

    assert not any(section["shouldUpdate"] for section in [*answer["user"].values(), *answer["history"].values()])


def test_what_a_replaced_fact_said_leaves_the_summary(learn: Learn) -> None:
    """Otherwise the summary would contradict the facts."""
    old = Fact(id="fact_00000001", content="Works at Acme.", confidence=0.9)
    answer = learn("I joined Initech.", known=[old], summaries="workContext: Works at Acme. Uses Rust &amp; Go.")

    assert answer["user"]["workContext"]["summary"] == "Uses Rust & Go. Works at Initech."


def test_a_full_summary_takes_nothing_more(learn: Learn) -> None:
    """It would be cut, and lose what stands in it."""
    answer = learn("I work at Acme.", summaries=f"workContext: {'x' * 1_195}")

    assert not answer["user"]["workContext"]["shouldUpdate"]
