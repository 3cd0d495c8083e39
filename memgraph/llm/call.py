"""Ask a chat model, with a time limit and a second chance."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.ai import UsageMetadata
from tenacity import AsyncRetrying, Retrying

from memgraph._concurrency import run_with_timeout
from memgraph.errors import MemgraphError, ModelError
from memgraph.llm.retry import retry_options
from memgraph.models import Answer
from memgraph.policy import Policy
from memgraph.prompts.schema import ANSWER_SCHEMA, StructuredOutput
from memgraph.report import Usage
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

# A lead agent's stream must not show the words of its memory.
CONFIG: RunnableConfig = {"run_name": "memory_agent", "tags": ["nostream"]}


def call(
    model: BaseChatModel,
    prompt: Sequence[AnyMessage],
    policy: Policy,
    structured_output: StructuredOutput = "none",
) -> AIMessage:
    """Return the model's answer.

    Raises:
        ModelError: If it did not answer: refused for good, or failed at every try.
    """
    asked = _with_schema(model, structured_output)
    try:
        answer = Retrying(**retry_options(policy))(
            lambda: run_with_timeout(
                policy.model_timeout_seconds, lambda: asked.invoke(list(prompt), CONFIG), "memgraph-model-call"
            )
        )
    except Exception as error:
        answer = _truncated_answer(error)
        if answer is None:
            raise _to_model_error(error, policy) from error
    return _raw_message(answer)


async def acall(
    model: BaseChatModel,
    prompt: Sequence[AnyMessage],
    policy: Policy,
    structured_output: StructuredOutput = "none",
) -> AIMessage:
    """As `ask`, without a thread: waiting for the model is the one thing that is worth doing both ways."""
    asked = _with_schema(model, structured_output)

    async def once() -> object:
        async with asyncio.timeout(policy.model_timeout_seconds):
            return await asked.ainvoke(list(prompt), CONFIG)

    try:
        answer: object = await AsyncRetrying(**retry_options(policy))(once)
    except Exception as error:
        answer = _truncated_answer(error)
        if answer is None:
            raise _to_model_error(error, policy) from error
    return _raw_message(answer)


def _with_schema(model: BaseChatModel, shape: str) -> Runnable[Any, Any]:
    if shape == "none":
        return model
    try:
        return model.with_structured_output(ANSWER_SCHEMA, method=shape, include_raw=True)
    except NotImplementedError:  # the model knows no such thing; the prompt asks for the same shape
        return model


def _raw_message(answer: object) -> AIMessage:
    """The model's own message: what it says is read by our rules, also where a client has parsed it."""
    message = cast("dict[str, object]", answer)["raw"] if isinstance(answer, dict) else answer
    if not isinstance(message, AIMessage):
        raise ModelError(f"the model answered with a {type(message).__name__} where an AIMessage was expected")
    return message


def _truncated_answer(error: Exception) -> AIMessage | None:
    """What the model had said at its length limit, which OpenAI's client raises where a schema was asked for."""
    completion: Any = getattr(error, "completion", None)
    if type(error).__name__ != "LengthFinishReasonError" or completion is None:
        return None
    usage = completion.usage
    return AIMessage(
        completion.choices[0].message.content or "",
        response_metadata={"finish_reason": "length"},
        usage_metadata=UsageMetadata(
            input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, total_tokens=usage.total_tokens
        )
        if usage
        else None,
    )


def read_answer(message: AIMessage) -> Answer:
    """What the message says, in its text or by a tool call."""
    return Answer(
        text=clean(message.text or "\n".join(json.dumps(call["args"]) for call in message.tool_calls)),
        cut_off=message.response_metadata.get("finish_reason") in {"length", "max_tokens"},
        refused=bool(message.additional_kwargs.get("refusal")),
    )


def read_usage(message: AIMessage) -> Usage:
    """What one answer cost."""
    tokens = message.usage_metadata
    return Usage(
        calls=1,
        input_tokens=tokens["input_tokens"] if tokens else 0,
        output_tokens=tokens["output_tokens"] if tokens else 0,
    )


def _to_model_error(error: Exception, policy: Policy) -> MemgraphError:
    if isinstance(error, MemgraphError):
        return error
    if isinstance(error, TimeoutError):
        return ModelError(
            f"the model did not answer within {policy.model_timeout_seconds:g} s, tried {policy.model_tries} times"
        )
    return ModelError(f"the model did not answer: {type(error).__name__}: {str(error)[:500]}")
