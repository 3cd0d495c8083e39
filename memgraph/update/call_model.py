"""call_model: the only node that waits for the network, so it has an async variant."""

from __future__ import annotations

import logging
from functools import partial

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import ModelError
from memgraph.llm.call import ModelCall, read_answer, read_usage
from memgraph.models import Answer, Check
from memgraph.policy import Policy
from memgraph.prompts.check import check_prompt, check_schema
from memgraph.prompts.json_text import SchemaFactory, answer_schema, upkeep_schema
from memgraph.prompts.update_prompt import correction_request, shorten
from memgraph.report import Usage
from memgraph.rules.watermark import without_progress
from memgraph.state import Answered, CallModelInput, MessageCalls
from memgraph.telemetry import trace_chat

logger = logging.getLogger(__name__)

_UNREADABLE_ANSWER_CHARS = 2_000  # of an unreadable answer that the correction request repeats


def call_model(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """Call the model; after an unreadable answer, send it back with the problem.

    A check that fails costs no update: the rules decide alone.
    """
    context = runtime.context
    try:
        model = context.open_model()
        with trace_chat(model) as record_usage:
            message = _model_call(model, state, context).run(_messages(state, context))
            record_usage(read_usage(message))
    except ModelError as error:
        return _without_check(state, error)
    return _answered(state, read_answer(message), read_usage(message))


async def call_model_async(state: CallModelInput, runtime: Runtime[RunContext]) -> Answered:
    """As `call_model`, without blocking a thread."""
    context = runtime.context
    try:
        model = context.open_model()
        with trace_chat(model) as record_usage:
            message = await _model_call(model, state, context).run_async(_messages(state, context))
            record_usage(read_usage(message))
    except ModelError as error:
        return _without_check(state, error)
    return _answered(state, read_answer(message), read_usage(message))


def _model_call(model: BaseChatModel, state: CallModelInput, context: RunContext) -> ModelCall:
    schema = _schema(state, context.policy)
    return ModelCall(model, context.policy, context.structured_output, context.refused, schema)


def _schema(state: CallModelInput, policy: Policy) -> SchemaFactory:
    if not (check := _due_check(state)):
        return partial(upkeep_schema if state["prompt"].answer == "upkeep" else answer_schema, policy)
    schema = check_schema(check)
    return lambda _strict: schema


def _due_check(state: CallModelInput) -> Check | None:
    return state.get("check") if state.get("check_is_due") else None


def _messages(state: CallModelInput, context: RunContext) -> list[AnyMessage]:
    if check := _due_check(state):
        known = {fact.id: fact for fact in state["memory"].facts}
        return [HumanMessage(check_prompt(check, known, timezone=context.timezone))]
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


def _without_check(state: CallModelInput, error: ModelError) -> Answered:
    """Return an empty answer to a check that failed.

    Raises:
        ModelError: *error*, if it was the update that failed.
    """
    if _due_check(state) is None:
        raise error
    logger.warning("what was learned is not checked by the model: %s", error)
    return _answered(state, Answer(text=""), Usage())


def _answered(state: CallModelInput, answer: Answer, usage: Usage) -> Answered:
    """Return *answer*, and *usage* added to what this pass has used before."""
    is_retry, is_check = "problem" in state, _due_check(state) is not None
    used = state.get("usage", Usage()) if is_retry or is_check or state.get("conflicts") else Usage()
    return {
        "response": answer,
        "question": "check" if is_check else "update",
        "attempt": 2 if is_retry else 1,
        "usage": used + usage,
        "message_calls": state.get("message_calls", MessageCalls()) if is_check else _count(state),
    }


def _count(state: CallModelInput) -> MessageCalls:
    """Count this call for the message that the prompt ends with: only that one may be continued in the next pass."""
    message_id = without_progress(state["batch"][-1]) if state.get("batch") else ""
    before = state.get("message_calls")
    calls = before.calls if before and before.message_id == message_id else 0
    return MessageCalls(message_id=message_id, calls=calls + 1)
