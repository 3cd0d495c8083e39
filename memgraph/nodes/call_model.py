"""call_model: the only node that waits for the network, so it has an async variant."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.llm.answer import read_answer, read_usage
from memgraph.llm.call import acall, call
from memgraph.prompts.update_prompt import correction_request, shorten
from memgraph.report import Usage
from memgraph.state import Answered, CallModelInput

_UNREADABLE_ANSWER_CHARS = 2_000  # of an unreadable answer that the correction request repeats


def call_model(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """Call the model; after an unreadable answer, send it back with the problem."""
    context, messages = runtime.context, _messages(state)
    message = call(context.open_model(), messages, context.policy, context.structured_output, context.refused)
    return _to_answer(state, message)


async def call_model_async(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """As `call_model`, without blocking a thread."""
    context, messages = runtime.context, _messages(state)
    message = await acall(context.open_model(), messages, context.policy, context.structured_output, context.refused)
    return _to_answer(state, message)


def _messages(state: CallModelInput) -> list[AnyMessage]:
    prompt = state["prompt"]
    messages: list[AnyMessage] = [SystemMessage(prompt.system)]
    for example in prompt.examples:
        messages += [HumanMessage(example.human), AIMessage(example.ai)]
    messages.append(HumanMessage(prompt.human))
    response, problem = state.get("response"), state.get("problem")
    if response and problem:
        unreadable = shorten(response.text, _UNREADABLE_ANSWER_CHARS) or "(nothing)"
        messages += [AIMessage(unreadable), HumanMessage(correction_request(prompt, problem))]
    return messages


def _to_answer(state: CallModelInput, message: AIMessage) -> Answered:
    """Add the usage of *message* to what this pass has used before."""
    is_retry = "problem" in state
    used = state.get("usage", Usage()) if is_retry or state.get("conflicts") else Usage()
    usage, answer = read_usage(message), read_answer(message)
    return {"response": answer, "attempt": 2 if is_retry else 1, "usage": used + usage}
