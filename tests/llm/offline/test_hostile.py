"""Whatever is fed, there is an answer, soon, and nothing dangerous in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from cpu_time import growth
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from memgraph.llm.offline import OfflineChatModel

Learn = Callable[..., dict[str, Any]]

UNITS = [
    *(
        "I love ",
        "我喜欢",
        "a, ",
        "and I ",
        "my favourite ",
        "really ",
        '"',
        "“",
        "`",
        " - ",
        "(",
        "1 ",
        "A1",
        "、",
        "。",
    ),
    *("I ", "<turn ", "&lt;", "\n", "> ", "\x00", "\ud800", "\u202e", "😀", " is my favourite ", "I have a dog and "),
]


@pytest.mark.parametrize("unit", UNITS)
def test_long_repetitive_text_costs_little(learn: Learn, unit: str) -> None:
    """A pattern that backtracks would take minutes here."""
    assert growth(lambda length: partial(learn, unit * (length // len(unit))), 100_000) is None
    assert growth(lambda length: partial(learn, (unit * 400)[:length]), 390) is None


def test_commas_at_the_end_of_a_value_cost_little(learn: Learn) -> None:
    """The pattern that strips "too" and "now" tried each way to divide the run: 60 characters took years."""
    assert growth(lambda length: partial(learn, "I live in Oslo" + " ," * (length // 2) + "x"), 60) is None


def test_half_characters_and_control_characters_do_no_harm(learn: Learn) -> None:
    """The answer has to be JSON that can be stored as UTF-8."""
    answer = learn("\x00My name is \ud83dAda\x07. I live in Rome.\x1b[0m")

    assert json.dumps(answer, ensure_ascii=False).encode()
    assert "Lives in Rome." in [fact["content"] for fact in answer["newFacts"]]


@pytest.mark.parametrize(
    "secret",
    [
        "My password is hunter2 and I live in Oslo.",
        "I use the api key sk-abcdefghijklmnop1234567890 at work.",
        "My card is 4111 1111 1111 1111 and I love shopping.",
        "My favorite token is ghp_16C7e42F292c6912E7710c838347Ae178B4a.",
        "我的密码是abc123456，我叫王五",
        "我的身份证号是110101199003071234，我住在北京",
    ],
)
def test_a_sentence_with_a_secret_is_not_learned_from(learn: Learn, secret: str) -> None:
    """Memory is shown to models and kept on disk."""
    assert learn(secret)["newFacts"] == []


def test_of_a_pasted_document_only_the_users_own_line_is_read(learn: Learn) -> None:
    """What stands in it was written by somebody else, or about somebody else."""
    pasted = "I work at Acme, look at this:\n" + "I live in Narnia and I love lions. " * 60

    assert "Lives in Narnia." not in [fact["content"] for fact in learn(pasted)["newFacts"]]


def test_the_same_prompt_has_the_same_answer(learn: Learn) -> None:
    """A repeated run must change nothing."""
    said = "I work at Acme. 我喜欢茶和咖啡。 My favorite color is teal."

    assert learn(said) == learn(said)


def test_without_a_conversation_the_answer_is_an_empty_update() -> None:
    """Anything else would be an error to handle, and there is nothing wrong."""
    answer = json.loads(OfflineChatModel().invoke("Hello there").text)

    assert answer == {"newFacts": []}


def test_the_last_human_message_with_a_conversation_is_read() -> None:
    """A second try adds messages after it."""
    prompt = "<conversation>\n<turn 1 user>I live in Rome.</turn>\n</conversation>"
    messages = [SystemMessage("Rules."), HumanMessage(prompt), AIMessage("{"), HumanMessage("That was no JSON.")]

    answer = json.loads(OfflineChatModel().invoke(messages).text)

    assert [fact["content"] for fact in answer["newFacts"]] == ["Lives in Rome."]
