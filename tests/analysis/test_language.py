"""Which of the two prompt languages a conversation is in."""

from __future__ import annotations

import pytest

from memgraph.analysis.words import language_of_texts


@pytest.mark.parametrize(
    "text",
    [
        "我在做一个 Python 项目",
        "使用 FastAPI 和 SQLAlchemy",
        "怎么写测试?",
        "perfect,这正是我想要的",
        "帮我 review 一下这个 pull request 的 code",
        "这段代码报错了：\n```\nTraceback (most recent call last): it is in the file and has an error\n```",
    ],
)
def test_chinese_with_english_terms_is_chinese(text: str) -> None:
    """So people write who work with software."""
    assert language_of_texts([text]) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "I use Vim",
        "What does 你好 mean?",
        "How do I say 我喜欢吃苹果 in English?",
        "",
        "123",
        "これはペンです",
        "Привет",
    ],
)
def test_everything_else_is_english(text: str) -> None:
    """There is a prompt in two languages, and one of them is read by most models best."""
    assert language_of_texts([text]) == "en"


def test_the_conversation_decides_as_a_whole() -> None:
    """One English word in between does not turn it around."""
    assert language_of_texts(["我住在上海", "ok", "请用中文回答"]) == "zh"
    assert language_of_texts([]) == "en"
