"""call_model: the only node that waits for the network, so it has an async variant."""

from __future__ import annotations

import logging
from functools import partial

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import ModelError
from memgraph.llm.answer import read_answer, read_usage
from memgraph.llm.call import acall, call, update_schema
from memgraph.models import Answer
from memgraph.policy import Policy
from memgraph.prompts.reconcile import verdict_schema
from memgraph.prompts.schema import SchemaFactory, upkeep_schema
from memgraph.prompts.update_prompt import correction_request, shorten
from memgraph.report import Usage
from memgraph.rules.watermark import without_progress
from memgraph.state import Answered, CallModelInput, MessageCalls
from memgraph.telemetry import trace_chat

logger = logging.getLogger(__name__)

_UNREADABLE_ANSWER_CHARS = 2_000  # of an unreadable answer that the correction request repeats


def call_model(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """Call the model; after an unreadable answer, send it back with the problem.

    A second look that fails costs no update: without an answer, known facts stay as they are.
    """
    context = runtime.context
    policy, method, refused = context.policy, context.structured_output, context.refused
    try:
        model = context.open_model()
        with trace_chat(model) as record_usage:
            message = call(model, _messages(state), policy, method, refused, schema=_schema(state, policy))
            usage = read_usage(message)
            record_usage(usage)
    except ModelError as error:
        return _without_second_look(state, error)
    return _answered(state, read_answer(message), usage)


async def call_model_async(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """As `call_model`, without blocking a thread."""
    context = runtime.context
    policy, method, refused = context.policy, context.structured_output, context.refused
    try:
        model = context.open_model()
        with trace_chat(model) as record_usage:
            message = await acall(model, _messages(state), policy, method, refused, schema=_schema(state, policy))
            usage = read_usage(message)
            record_usage(usage)
    except ModelError as error:
        return _without_second_look(state, error)
    return _answered(state, read_answer(message), usage)


def _schema(state: CallModelInput, policy: Policy) -> SchemaFactory:
    if "second_look" not in state:
        is_upkeep = state["prompt"].answer == "upkeep"
        return partial(upkeep_schema, sections=policy.section_names) if is_upkeep else update_schema(policy)
    schema = verdict_schema(len(state.get("likely_conflicts", ())))
    return lambda _strict: schema


def _messages(state: CallModelInput) -> list[AnyMessage]:
    if "second_look" in state:
        return [HumanMessage(state["second_look"])]
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


def _without_second_look(state: CallModelInput, error: ModelError) -> Answered:
    """Return an empty answer to a second look that failed.

    Raises:
        ModelError: *error*, if it was the update that failed.
    """
    if "second_look" not in state:
        raise error
    logger.warning("likely conflicts with known facts are left undecided: %s", error)
    return _answered(state, Answer(text=""), Usage())


def _answered(state: CallModelInput, answer: Answer, usage: Usage) -> Answered:
    """Return *answer*, and *usage* added to what this pass has used before."""
    is_retry, is_second_look = "problem" in state, "second_look" in state
    used = state.get("usage", Usage()) if is_retry or is_second_look or state.get("conflicts") else Usage()
    return {
        "response": answer,
        "question": "conflicts" if is_second_look else "update",
        "attempt": 2 if is_retry else 1,
        "usage": used + usage,
        "message_calls": _count(state),
    }


def _count(state: CallModelInput) -> MessageCalls:
    """Count this call for the message that the prompt ends with: only that one may be continued in the next pass."""
    message_id = without_progress(state["batch"][-1]) if state.get("batch") else ""
    before = state.get("message_calls")
    calls = before.calls if before and before.message_id == message_id else 0
    return MessageCalls(message_id=message_id, calls=calls + 1)
