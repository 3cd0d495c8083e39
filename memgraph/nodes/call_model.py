"""call_model: the one node that waits, so the one with an async twin."""

from __future__ import annotations

from typing import NotRequired

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.llm.call import acall, answer_of, call, usage_of
from memgraph.models import Answer
from memgraph.prompts.update_prompt import correction_request, shorten
from memgraph.report import Usage
from memgraph.state import Answered, ConflictCount, Problem, Prompted

_SHOWN_OF_A_BAD_ANSWER = 2_000


class CallModelInput(Prompted, Problem, ConflictCount):
    """What call_model reads; the answer before this one counts only where there is a problem with it."""

    response: NotRequired[Answer]
    usage: NotRequired[Usage]


def call_model(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """Ask the model; once more, saying what was wrong, where its answer could not be read."""
    given = runtime.context
    return _answered(state, call(given.model, _messages(state), given.policy, given.structured_output))


async def call_model_async(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """As `call_model`, without holding up a thread."""
    given = runtime.context
    return _answered(state, await acall(given.model, _messages(state), given.policy, given.structured_output))


def _messages(state: CallModelInput) -> list[AnyMessage]:
    prompt = state["prompt"]
    messages: list[AnyMessage] = [SystemMessage(prompt.system), HumanMessage(prompt.human)]
    response, problem = state.get("response"), state.get("problem")
    if response and problem:
        said = shorten(response.text, _SHOWN_OF_A_BAD_ANSWER) or "(nothing)"
        messages += [AIMessage(said), HumanMessage(correction_request(prompt, problem))]
    return messages


def _answered(state: CallModelInput, message: AIMessage) -> Answered:
    """Count what the answer cost, on top of what this pass spent before."""
    again = "problem" in state
    spent = state.get("usage", Usage()) if again or state.get("conflicts") else Usage()
    return {
        "response": answer_of(message),
        "attempt": 2 if again else 1,
        "usage": spent + usage_of(message),
    }
