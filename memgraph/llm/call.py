"""Calls a chat model, with a timeout and retries."""

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

# keeps the tokens of the memory's own calls out of the stream of the agent around it
CONFIG: RunnableConfig = {"run_name": "memory_agent", "tags": ["nostream"]}


def call(
    model: BaseChatModel,
    prompt: Sequence[AnyMessage],
    policy: Policy,
    structured_output: StructuredOutput = "none",
) -> AIMessage:
    """Return the model's response.

    Raises:
        ModelError: If the call failed permanently, or at every attempt.
    """
    runnable = _with_schema(model, structured_output)
    try:
        answer = Retrying(**retry_options(policy))(
            lambda: run_with_timeout(
                policy.model_timeout_seconds, lambda: runnable.invoke(list(prompt), CONFIG), "memgraph-model-call"
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
    """Return the model's response without blocking a thread, see `call`."""
    runnable = _with_schema(model, structured_output)

    async def attempt() -> object:
        async with asyncio.timeout(policy.model_timeout_seconds):
            return await runnable.ainvoke(list(prompt), CONFIG)

    try:
        answer: object = await AsyncRetrying(**retry_options(policy))(attempt)
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
    except NotImplementedError:  # not supported by the model; the prompt describes the same schema
        return model


def _raw_message(answer: object) -> AIMessage:
    """Return the message itself: memgraph parses it, even if the client has parsed it already."""
    message = cast("dict[str, object]", answer)["raw"] if isinstance(answer, dict) else answer
    if not isinstance(message, AIMessage):
        raise ModelError(f"the model returned a {type(message).__name__} instead of an AIMessage")
    return message


def _truncated_answer(error: Exception) -> AIMessage | None:
    """Return the text up to the length limit, for which OpenAI's client raises an error if a schema was requested."""
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
    """Return the answer in the text of *message*, or in its tool calls."""
    return Answer(
        text=clean(message.text or "\n".join(json.dumps(tool_call["args"]) for tool_call in message.tool_calls)),
        cut_off=message.response_metadata.get("finish_reason") in {"length", "max_tokens"},
        refused=bool(message.additional_kwargs.get("refusal")),
    )


def read_usage(message: AIMessage) -> Usage:
    """Return the usage of one call."""
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
            f"the model did not answer within {policy.model_timeout_seconds:g} s, in {policy.model_tries} attempts"
        )
    return ModelError(f"the model did not answer: {type(error).__name__}: {str(error)[:500]}")
