"""call_model: the one node that waits, so the one with an async twin."""

from __future__ import annotations

from typing import NotRequired

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from memgraph.context import Resolved
from memgraph.llm.ask import ask, ask_async
from memgraph.prompts.update_prompt import asked_again
from memgraph.report import Usage
from memgraph.state import Answered, Problem, Prompted, Raced


class Asked(Prompted, Problem, Raced):
    """What call_model reads; the answer before this one counts only where there is a problem with it."""

    response: NotRequired[AIMessage]
    usage: NotRequired[Usage]


def call_model(state: Asked, runtime: Runtime[Resolved]) -> Answered:
    """Ask the model; once more, saying what was wrong, where its answer could not be read."""
    given = runtime.context
    return _answered(state, ask(given.model, _question(state), given.policy, given.structured_output))


async def call_model_async(state: Asked, runtime: Runtime[Resolved]) -> Answered:
    """As `call_model`, without holding up a thread."""
    given = runtime.context
    return _answered(state, await ask_async(given.model, _question(state), given.policy, given.structured_output))


def _question(state: Asked) -> list[AnyMessage]:
    response, problem = state.get("response"), state.get("problem")
    return asked_again(state["prompt"], response, problem) if response and problem else state["prompt"]


def _answered(state: Asked, response: AIMessage) -> Answered:
    """Count what the answer cost, on top of what this pass spent before."""
    again = "problem" in state
    spent = state.get("usage", Usage()) if again or state.get("races") else Usage()
    tokens = response.usage_metadata
    cost = Usage(
        calls=1,
        input_tokens=tokens["input_tokens"] if tokens else 0,
        output_tokens=tokens["output_tokens"] if tokens else 0,
    )
    return {"response": response, "attempt": 2 if again else 1, "usage": spent + cost}
