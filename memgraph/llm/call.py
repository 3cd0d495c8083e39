"""Calls a chat model, with a timeout and retries."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.ai import UsageMetadata
from tenacity import AsyncRetrying, RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from memgraph._concurrency import run_with_timeout
from memgraph.errors import MemgraphError, ModelError
from memgraph.models import Answer
from memgraph.policy import Policy
from memgraph.prompts.schema import StructuredOutput, answer_schema
from memgraph.report import Usage
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig


T = TypeVar("T")

TRANSIENT_STATUSES = frozenset({408, 409, 429})
_SERVER_ERROR = 500
MAX_WAIT_SECONDS = 600.0  # a provider with a Retry-After of more than ten minutes is down, not busy
# clients wrap transport errors in classes of their own, without a common base class
TRANSIENT_ERROR_NAMES = frozenset({"APIConnectionError", "APITimeoutError", "TransportError"})


class RetryOptions(TypedDict):
    """The arguments of tenacity's Retrying."""

    stop: Any
    wait: Callable[[RetryCallState], float]
    retry: Any
    reraise: bool


def retry_options(policy: Policy) -> RetryOptions:
    """Return the retry options of *policy*: exponential backoff with jitter, never before Retry-After."""
    return {
        "stop": stop_after_attempt(policy.model_tries),
        "wait": lambda state: _delay(state, policy.retry_wait_seconds),
        "retry": retry_if_exception(is_transient),
        "reraise": True,
    }


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed."""
    if (retry_after(error) or 0) > MAX_WAIT_SECONDS:
        return False
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in TRANSIENT_STATUSES or status >= _SERVER_ERROR
    has_transient_name = any(kind.__name__ in TRANSIENT_ERROR_NAMES for kind in type(error).__mro__)
    return has_transient_name or isinstance(error, TimeoutError | ConnectionError)


def _delay(state: RetryCallState, first: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    backoff = first * 2 ** (state.attempt_number - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - jitter is not a secret
    return max(min(backoff, MAX_WAIT_SECONDS), (retry_after(error) or 0) if error else 0)


def retry_after(error: BaseException) -> float | None:
    """Return the seconds of a Retry-After header, given as a number or a date; None without one."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = cast("Any", headers).get("retry-after") if hasattr(headers, "get") else None
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


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
    if shape in ("none", "auto"):
        return model
    try:
        return model.with_structured_output(answer_schema(strict=False, summaries=True), method=shape, include_raw=True)
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


_FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason")  # OpenAI and Google, Anthropic, Ollama
_LENGTH_LIMITS = frozenset({"length", "max_tokens"})


def read_answer(message: AIMessage) -> Answer:
    """Return the answer in the text of *message*, or in its tool calls."""
    return Answer(
        text=clean(message.text or "\n".join(json.dumps(tool_call["args"]) for tool_call in message.tool_calls)),
        cut_off=any(str(message.response_metadata.get(key)).lower() in _LENGTH_LIMITS for key in _FINISH_KEYS),
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
