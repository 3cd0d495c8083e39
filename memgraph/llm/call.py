"""Calls a chat model: with retries, and with fewer options if it refuses one; and reads what it answers."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableSequence
from tenacity import AsyncRetrying, BaseRetrying, RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from memgraph._cache import LRUCache
from memgraph.analysis.normalize import clean
from memgraph.errors import MemgraphError, ModelError
from memgraph.llm.stream import DeadlineError, astream, make_limits, stream
from memgraph.models import Answer
from memgraph.policy import Policy
from memgraph.prompts.json_text import SchemaFactory, StructuredOutput, answer_schema
from memgraph.report import Usage

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable


TRANSIENT_STATUSES = frozenset({408, 409, 429})
_SERVER_ERROR = 500
_NOT_IMPLEMENTED = 501
MAX_WAIT_SECONDS = 600.0  # a provider with a Retry-After of more than ten minutes is down, not busy
# clients wrap transport errors in classes of their own, without a common base class
TRANSIENT_ERROR_NAMES = frozenset({"APIConnectionError", "APITimeoutError", "TransportError"})


Kind = TypeVar("Kind", bound=BaseRetrying)


def retrying(kind: type[Kind], policy: Policy) -> Kind:
    """Return tenacity's loop as *policy* limits it: exponential backoff with jitter, never before Retry-After."""
    return kind(
        stop=stop_after_attempt(policy.model_tries),
        wait=lambda state: _delay(state, policy.retry_wait_seconds),
        retry=retry_if_exception(is_transient),
        reraise=True,
    )


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed."""
    if (retry_after(error) or 0) > MAX_WAIT_SECONDS:
        return False
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in TRANSIENT_STATUSES or (status >= _SERVER_ERROR and status != _NOT_IMPLEMENTED)
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


# -- calls ------------------------------------------------------------------------------------------

Option = Literal["structured_output", "temperature", "stream_usage", "streaming"]
"""An option of a call that a model may refuse."""

_NAMED_BY: Mapping[Option, tuple[str, ...]] = {
    "structured_output": ("response_format", "json_schema", "schema", "grammar", "structured"),
    "temperature": ("temperature",),
    "stream_usage": ("stream_options", "include_usage"),
    "streaming": ("stream",),
}
"""The words by which an error names the option that is refused, in the order in which options are dropped."""
_REFUSED_STATUSES = frozenset({400, 422, 501})
_TIMEOUT_FIELDS = frozenset({"request_timeout", "default_request_timeout"})
"""Of the clients whose calls take a `timeout`, which limits the silence on the connection."""
_STRICT_HOST = "api.openai.com"


class RefusedOptions:
    """What models have refused, so that each is asked for it once. A graph owns one. Thread-safe.

    Args:
        max_models: The models that are remembered, the most recently used ones.
    """

    def __init__(self, max_models: int = 16) -> None:
        # an id is unique while its object exists, which the value keeps alive
        self._refused: LRUCache[int, tuple[BaseChatModel, frozenset[Option]]] = LRUCache(max_models)

    def of(self, model: BaseChatModel) -> frozenset[Option]:
        """Return what *model* has refused."""
        known = self._refused.get(id(model))
        return known[1] if known else frozenset()

    def add(self, model: BaseChatModel, options: frozenset[Option]) -> None:
        """Remember that *model* works without *options*, and not with them."""
        self._refused.put(id(model), (model, self.of(model) | options))


def with_schema(
    model: BaseChatModel, method: Literal["json_schema", "function_calling"], schema: SchemaFactory
) -> Runnable[Any, Any]:
    """Return *model* bound to the *schema* of an answer, without the client's parser, which refuses invalid answers."""
    strict = method == "json_schema" and _is_openai(model)
    options = {"strict": True} if strict else {}
    try:
        bound = model.with_structured_output(schema(strict), method=method, **options)
    except (NotImplementedError, ValueError):  # not supported by the model; the prompt describes the same schema
        return model
    return cast("Runnable[Any, Any]", bound.first) if isinstance(bound, RunnableSequence) else model


def _can_stream(model: BaseChatModel) -> bool:
    """Return whether the class of *model* streams at all; otherwise LangChain returns the whole answer as one chunk."""
    methods = ("_stream", "_astream")
    return any(getattr(type(model), name) is not getattr(BaseChatModel, name) for name in methods)


def _is_empty_stream(error: Exception) -> bool:
    """Return whether a server answered with a whole JSON body, in which clients find no chunk."""
    return isinstance(error, AssertionError) or (isinstance(error, ValueError) and "No generation chunks" in str(error))


def _is_openai(model: BaseChatModel) -> bool:
    """Return whether *model* is OpenAI's own: compatible servers may refuse, or pay for, what strict mode requires."""
    client = getattr(model, "root_client", None)
    return getattr(getattr(client, "base_url", None), "host", None) == _STRICT_HOST


@dataclass
class ModelCall:
    """One call of a model: each request after a refusal has an option less."""

    model: BaseChatModel
    """Any chat model; one that cannot stream is waited for as for a first chunk."""
    policy: Policy
    """Attempts and time limits."""
    structured_output: StructuredOutput = "none"
    """How the format of the answer is enforced."""
    refused: RefusedOptions = field(default_factory=RefusedOptions)
    """What models have refused before; extended by what this one refuses."""
    schema: SchemaFactory | None = None
    """Of the answer; default: that of an update."""

    def __post_init__(self) -> None:
        self._refused: frozenset[Option] = self.refused.of(self.model)
        self._first_error: Exception | None = None

    def run(self, prompt: Sequence[AnyMessage]) -> AIMessage:
        """Return the model's response. It is streamed, at temperature 0 unless the model has another or refuses it.

        Raises:
            ModelError: If the call failed permanently, or at every attempt.
        """
        limits = make_limits(prompt, self.policy)
        while True:
            runnable, options = self._runnable(), self._options(limits.client)
            try:
                retry = retrying(Retrying, self.policy)
                return self._succeed(retry(stream, runnable, prompt, limits, options))
            except Exception as error:  # noqa: BLE001 - raised again as a ModelError unless an option was refused
                if (message := self._fail(error)) is not None:
                    return message

    async def run_async(self, prompt: Sequence[AnyMessage]) -> AIMessage:
        """Return the model's response without blocking a thread, see `run`."""
        limits = make_limits(prompt, self.policy)
        while True:
            runnable, options = self._runnable(), self._options(limits.client)
            try:
                retry = retrying(AsyncRetrying, self.policy)
                return self._succeed(await retry(astream, runnable, prompt, limits, options))
            except Exception as error:  # noqa: BLE001 - as in run
                if (message := self._fail(error)) is not None:
                    return message

    @property
    def _droppable(self) -> list[Option]:
        """The options that the next request has, and could do without."""
        options: list[Option] = [*self._settings, *(["streaming"] if _can_stream(self.model) else [])]
        if self.structured_output == "auto":
            options.insert(0, "structured_output")
        return [option for option in options if option not in self._refused]

    @property
    def _settings(self) -> dict[Option, object]:
        """The values of the fields that the model has and the user has not set."""
        wanted: dict[Option, object] = {"temperature": 0, "stream_usage": True}
        free = type(self.model).model_fields.keys() - self.model.model_fields_set
        return {name: value for name, value in wanted.items() if name in free}

    def _runnable(self) -> Runnable[Any, Any]:
        """Return the model with the options bound that it has not refused."""
        fields: dict[str, object] = {name: value for name, value in self._settings.items() if name not in self._refused}
        if "streaming" in self._refused:
            fields["disable_streaming"] = True
        if "stream_chunk_timeout" in type(self.model).model_fields:
            fields["stream_chunk_timeout"] = None  # ChatOpenAI has one of its own for silence, in async calls only
        model = self.model.model_copy(update=fields) if fields else self.model
        method = self.structured_output
        if method == "auto":
            method = "none" if "structured_output" in self._refused else "json_schema"
        return (
            with_schema(model, method, self.schema or partial(answer_schema, self.policy))
            if method != "none"
            else model
        )

    def _options(self, seconds: float) -> dict[str, Any]:
        """Return the timeout of the client, if it takes one for a call and the user has set none."""
        has_timeout = _TIMEOUT_FIELDS & type(self.model).model_fields.keys()
        return {"timeout": seconds} if has_timeout and not _TIMEOUT_FIELDS & self.model.model_fields_set else {}

    def _succeed(self, message: AIMessage) -> AIMessage:
        """Remember what had to be dropped."""
        if self._refused:
            self.refused.add(self.model, self._refused)
        return message

    def _fail(self, error: Exception) -> AIMessage | None:
        """Return what there is of an answer after *error*, or None if the next request may succeed.

        Raises:
            ModelError: If there is no other request.
        """
        if (message := truncated_answer(error)) is not None:
            return self._succeed(message)
        # only the error of the request with all options names the problem
        self._first_error = self._first_error or error
        option = self._refused_by(error)
        if option is None:
            raise _to_model_error(self._first_error, self.policy) from error
        self._refused = frozenset((*self._refused, option))
        return None

    def _refused_by(self, error: Exception) -> Option | None:
        """Return the option that *error* refuses; None if it is another error."""
        options = self._droppable
        if _is_empty_stream(error) and "streaming" in options:
            return "streaming"
        if getattr(error, "status_code", None) not in _REFUSED_STATUSES or not options:
            return None
        text = str(error).lower()
        for option in options:
            if any(word in text for word in _NAMED_BY[option]):
                return option
        return options[0]


def _to_model_error(error: Exception, policy: Policy) -> MemgraphError:
    if isinstance(error, MemgraphError):
        return error
    if isinstance(error, DeadlineError):
        return ModelError(f"the model did not finish its answer within {policy.model_deadline_seconds:g} s")
    if isinstance(error, TimeoutError):
        return ModelError(
            f"the model did not answer within {policy.model_timeout_seconds:g} s, in {policy.model_tries} attempts"
        )
    why = str(error)[:500] or "its server sent nothing that a client of its API can read"
    return ModelError(f"the model did not answer: {type(error).__name__}: {why}")


# -- the answer ---------------------------------------------------------------------------------------

_FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason")  # OpenAI and Google, Anthropic, Ollama
_LENGTH_LIMITS = frozenset({"length", "max_tokens"})


def read_answer(message: AIMessage) -> Answer:
    """Return the answer in the text of *message*, or in its tool calls, as they came: LangChain completes cut ones."""
    streamed = message.tool_call_chunks if isinstance(message, AIMessageChunk) else ()
    calls = [call["args"] or "" for call in streamed] or [json.dumps(call["args"]) for call in message.tool_calls]
    return Answer(
        text=clean(message.text or "\n".join(calls)),
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


def truncated_answer(error: Exception) -> AIMessage | None:
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
