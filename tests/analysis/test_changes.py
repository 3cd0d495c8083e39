"""Words by which people say that something has changed."""

from __future__ import annotations

import pytest

from memgraph.analysis.signals import find_change


@pytest.mark.parametrize(
    "text",
    [
        "I no longer eat meat.", "I don't go to the gym anymore.", "We use Zed instead.", "I switched to tea.",
        "I've stopped smoking!", "I gave it up.", "Jonas and I split up.", "The dog passed away.",
        "I used to hate it.", "Turns out I'm not allergic.", "We moved in May.",
        "On Fridays rather than on Mondays.", "我不再吃肉。", "我不喝咖啡了。",
        "改用Zed了", "我换工作了", "日本取消了", "我辞职了", "我以前很讨厌它", "医生说弄错了", "那辆车送人了",
    ],
)  # fmt: skip
def test_words_that_end_something(text: str) -> None:
    """What held before does not hold any more."""
    assert find_change(text) == "ends"


@pytest.mark.parametrize(
    "text", ["I cycle to work now.", "Since last week I eat fish.", "From now on be brief.", "我现在骑车上班。"]
)
def test_words_that_begin_something(text: str) -> None:
    """The old may hold beside it."""
    assert find_change(text) == "begins"


@pytest.mark.parametrize(
    "text",
    [
        "I like tea.", "I paint these days.",
        "I will not give up!", "Don't let anything stop you.", "I never quit.", "It ended up fine.",
        "The block changed the game.", "I dropped off the cake.", "Now that I think of it, nothing.",
        "I got used to the cold.", "I finished a painting.", "我喜欢茶。", "我在学西班牙语。",
    ],
)  # fmt: skip
def test_words_that_change_nothing(text: str) -> None:
    """A second look costs a call."""
    assert find_change(text) is None
