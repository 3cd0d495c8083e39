"""The call of the model, and the retry after an unreadable answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from update_values import runtime

from memgraph.models import Answer, Prompt, PromptExample
from memgraph.report import Usage
from memgraph.state import MessageCalls
from memgraph.testing import ScriptedModel
from memgraph.update.call_model import call_model, call_model_async

EXAMPLE = PromptExample(human="Hm.", ai='{"newFacts":[]}')
PROMPT = Prompt(system="Be brief.", examples=(EXAMPLE,), human="I live in Oslo.")
REPLY = AIMessage("{}", usage_metadata={"input_tokens": 10, "output_tokens": 1, "total_tokens": 11})
ONE = Usage(calls=1, input_tokens=10, output_tokens=1)
USED = Usage(calls=2, input_tokens=5, output_tokens=3)
SUM = Usage(calls=3, input_tokens=15, output_tokens=4)


def run(is_async: bool, model: ScriptedModel, **state: Any) -> Any:  # noqa: FBT001
    context = runtime(model=model)
    given: Any = {"prompt": PROMPT, "batch": ("m1",), **state}
    return asyncio.run(call_model_async(given, context)) if is_async else call_model(given, context)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_prompt_is_sent_and_the_answer_returned(is_async: bool) -> None:  # noqa: FBT001
    """Both variants do the same."""
    model = ScriptedModel(REPLY)

    output = run(is_async, model)

    assert [[(sent.type, sent.text) for sent in prompt] for prompt in model.asked] == [
        [("system", "Be brief."), ("human", "Hm."), ("ai", '{"newFacts":[]}'), ("human", "I live in Oslo.")]
    ]
    assert output == {"response": Answer(text="{}"), "question": "update", "attempt": 1, "usage": ONE} | {
        "message_calls": MessageCalls(message_id="m1", calls=1)
    }


def test_a_retry_repeats_the_unreadable_answer_with_the_problem() -> None:
    """And counts what both attempts used."""
    model = ScriptedModel(REPLY)

    output = run(False, model, response=Answer(text="Sure!"), problem="it is empty", usage=USED)  # noqa: FBT003

    (sent,) = model.asked
    assert [message.type for message in sent] == ["system", "human", "ai", "human", "ai", "human"]
    assert sent[4].text == "Sure!"
    assert "could not be used: it is empty" in sent[5].text
    assert (output["attempt"], output["usage"]) == (2, SUM)


@pytest.mark.parametrize(
    ("text", "repeated"),
    [("", "(nothing)"), ("x" * 2_000, "x" * 2_000), ("x" * 2_001, "x" * 1_333 + " [...] " + "x" * 667)],
)
def test_a_long_answer_is_repeated_in_part(text: str, repeated: str) -> None:
    """An empty message is refused by providers."""
    model = ScriptedModel(REPLY)

    run(False, model, response=Answer(text=text), problem="?")  # noqa: FBT003

    assert model.asked[0][4].text == repeated


@pytest.mark.parametrize(
    ("state", "usage"),
    [
        ({}, ONE),
        ({"usage": USED}, ONE),  # of the pass before, which has reported it
        ({"usage": USED, "conflicts": 0}, ONE),
        ({"usage": USED, "conflicts": 1}, SUM),  # of this pass: its save was lost
        ({"conflicts": 1}, ONE),
        ({"problem": "?"}, ONE),
    ],
)
def test_usage_adds_up_within_a_pass(state: dict[str, Any], usage: Usage) -> None:
    """Each pass reports its own."""
    assert run(False, ScriptedModel(REPLY), **state)["usage"] == usage  # noqa: FBT003


def test_an_earlier_answer_without_a_problem_is_not_repeated() -> None:
    """It belongs to an earlier pass."""
    model = ScriptedModel(REPLY)

    output = run(False, model, response=Answer(text="Earlier."))  # noqa: FBT003

    assert (len(model.asked[0]), output["attempt"]) == (4, 1)
