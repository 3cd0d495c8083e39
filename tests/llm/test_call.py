"""Model calls: retries, timeouts, parsing of responses, and models by name."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from pytest_httpserver import HTTPServer
from tenacity import RetryCallState, Retrying
from werkzeug import Request, Response

from memgraph import ModelError, ModelSetupError, Policy
from memgraph._concurrency import run_with_timeout
from memgraph.llm.call import acall, call, is_transient, read_answer, read_usage, retry_options
from memgraph.llm.models import chat_model
from memgraph.testing import ScriptedModel

HELLO = [HumanMessage("Hello.")]
FAST_RETRIES = Policy(retry_wait_seconds=0)


class StatusError(Exception):
    """An error as raised by a provider's client."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = SimpleNamespace(headers=headers)


# -- retries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_transient_error_is_retried(status: int) -> None:
    """The provider is busy; the request is not wrong."""
    model = ScriptedModel(StatusError(status), ConnectionError(), TimeoutError(), "Hi.")

    assert call(model, HELLO, FAST_RETRIES).text == "Hi."
    assert len(model.asked) == 4


def test_fourth_failure_raises_with_its_cause() -> None:
    """Four attempts in all, not four retries."""
    model = ScriptedModel(StatusError(503))

    with pytest.raises(ModelError, match="StatusError: status 503"):
        call(model, HELLO, FAST_RETRIES)

    assert len(model.asked) == 4


@pytest.mark.parametrize("error", [StatusError(401), StatusError(400), ValueError("no such model")])
def test_permanent_error_is_not_retried(error: Exception) -> None:
    """A wrong key does not become valid."""
    model = ScriptedModel(error)

    with pytest.raises(ModelError):
        call(model, HELLO, FAST_RETRIES)

    assert len(model.asked) == 1


def test_async_call_is_retried() -> None:
    """`acall` has the retries of `call`."""
    model = ScriptedModel(StatusError(429), "Hi.")

    assert asyncio.run(acall(model, HELLO, FAST_RETRIES)).text == "Hi."


def test_retry_after_of_an_hour_is_not_transient() -> None:
    """A provider that is away for more than ten minutes is down: a run does not wait for it."""
    assert not is_transient(StatusError(429, **{"retry-after": "3600"}))


def _delay(error: Exception, attempt: int) -> float:
    """Return the delay before the next attempt after *error*."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempt
    state.set_exception((type(error), error, None))
    return retry_options(Policy(retry_wait_seconds=1))["wait"](state)


@pytest.mark.parametrize(("attempt", "low", "high"), [(1, 0.5, 1.5), (2, 1, 3), (3, 2, 6)])
def test_backoff_grows_with_jitter(attempt: int, low: float, high: float) -> None:
    """Runs that failed together must not return together."""
    delays = {_delay(ConnectionError(), attempt) for _ in range(50)}

    assert low <= min(delays) < max(delays) <= high


@pytest.mark.parametrize("after", ["30", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_retry_after_is_respected_as_seconds_and_as_date(after: str) -> None:
    """RFC 9110 allows both forms."""
    assert _delay(StatusError(429, **{"retry-after": after}), 1) >= 30


@pytest.mark.parametrize("after", ["", "soon", "nan-ish"])
def test_invalid_retry_after_is_ignored(after: str) -> None:
    """It must not fail the run."""
    assert _delay(StatusError(429, **{"retry-after": after}), 1) <= 1.5


def test_hanging_call_times_out_on_a_daemon_thread() -> None:
    """Nothing waits for its thread, not even interpreter exit."""
    forever = threading.Event()

    with pytest.raises(TimeoutError):
        run_with_timeout(0.01, forever.wait, "memgraph-model-call")

    (hanging,) = [thread for thread in threading.enumerate() if thread.name == "memgraph-model-call"]
    assert hanging.daemon
    forever.set()
    hanging.join()


# -- responses -----------------------------------------------------------------------------------


def test_answer_is_read_from_a_tool_call() -> None:
    """With structured output by function calling the text is empty."""
    call = {"name": "memory_update", "args": {"newFacts": []}, "id": "c1", "type": "tool_call"}

    assert read_answer(AIMessage("", tool_calls=[call])).text == '{"newFacts": []}'


@pytest.mark.parametrize(
    ("message", "cut_off", "refused"),
    [
        (AIMessage("x", response_metadata={"finish_reason": "length"}), True, False),
        (AIMessage("x", response_metadata={"finish_reason": "MAX_TOKENS"}), True, False),
        (AIMessage("x", response_metadata={"stop_reason": "max_tokens"}), True, False),
        (AIMessage("x", response_metadata={"done_reason": "length"}), True, False),
        (AIMessage("x", additional_kwargs={"refusal": "No."}), False, True),
        (AIMessage("x", response_metadata={"finish_reason": "stop"}), False, False),
    ],
)
def test_answer_keeps_truncation_and_refusal(message: AIMessage, cut_off: bool, refused: bool) -> None:  # noqa: FBT001
    """A truncated answer raises no error in any client."""
    answer = read_answer(message)

    assert (answer.cut_off, answer.refused) == (cut_off, refused)


def test_call_without_token_usage_is_counted() -> None:
    """Its tokens count as 0."""
    assert read_usage(AIMessage("x")).model_dump() == {"calls": 1, "input_tokens": 0, "output_tokens": 0}


# -- over HTTP -----------------------------------------------------------------------------------


@pytest.fixture
def server(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """An OpenAI-compatible server, set by environment variables as a user would."""
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    yield httpserver
    httpserver.clear()


def _completion(text: str, finish_reason: str = "stop") -> dict[str, Any]:
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }  # fmt: skip


def test_only_memgraph_retries(server: HTTPServer) -> None:
    """The client's own retries are off, else four attempts would be twelve requests."""
    calls: list[int] = []

    def serve(_: Request) -> Response:
        calls.append(len(calls))
        return Response(status=429) if len(calls) < 4 else Response(json.dumps(_completion("Hi.")))

    server.expect_request("/v1/chat/completions").respond_with_handler(serve)

    message = call(chat_model("openai:m"), HELLO, FAST_RETRIES)

    assert (message.text, len(calls)) == ("Hi.", 4)
    assert read_usage(message).input_tokens == 11


def test_unreachable_server_raises_a_model_error(monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int) -> None:
    """Its message names the cause."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused_tcp_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    with pytest.raises(ModelError, match="Connection error"):
        call(chat_model("openai:m"), HELLO, FAST_RETRIES)


@pytest.fixture
def unused_tcp_port() -> int:
    """A port that no server listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("structured_output", ["json_schema", "function_calling"])
def test_structured_output_is_requested_but_parsed_by_memgraph(server: HTTPServer, structured_output: Any) -> None:
    """An answer that violates the schema is returned too: the client's parser must not discard it."""
    requests: list[dict[str, Any]] = []

    def serve(request: Request) -> Response:
        requests.append(request.get_json())
        return Response(json.dumps(_completion("Not JSON at all", "length")))

    server.expect_request("/v1/chat/completions").respond_with_handler(serve)

    answer = read_answer(call(chat_model("openai:m"), HELLO, FAST_RETRIES, structured_output))

    assert (answer.text, answer.cut_off) == ("Not JSON at all", True)
    assert ("response_format" in requests[0]) is (structured_output == "json_schema")
    assert ("tools" in requests[0]) is (structured_output == "function_calling")


# -- models ---------------------------------------------------------------------------------------


def test_missing_key_error_names_the_variable() -> None:
    """The user has to know which one to set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ModelSetupError, match="OPENAI_API_KEY"):
            chat_model("openai:gpt-4.1-mini")


@pytest.mark.parametrize("name", ["openai", "openai:", "my-model", ""])
def test_incomplete_model_name_is_rejected(name: str) -> None:
    """The error shows a complete one."""
    with pytest.raises(ModelSetupError, match=r"openai:gpt-4\.1-mini"):
        chat_model(name)


@pytest.mark.parametrize(
    ("name", "client"),
    [("gpt-4.1-mini", "ChatOpenAI"), ("claude-haiku-4-5", "ChatAnthropic"), ("o3-mini", "ChatOpenAI")],
)
def test_a_well_known_model_needs_no_provider(monkeypatch: pytest.MonkeyPatch, name: str, client: str) -> None:
    """As people write it."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")

    assert type(chat_model(name)).__name__ == client


def test_openai_client_does_not_retry(server: HTTPServer) -> None:
    """Retries are memgraph's, see `call`."""
    model = chat_model("openai:m")

    assert isinstance(model, ChatOpenAI)
    assert model.max_retries == 0


def test_compatible_server_needs_no_key(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ollama and vLLM have none, but the client does not start without one."""
    monkeypatch.delenv("OPENAI_API_KEY")
    server.expect_request("/v1/chat/completions").respond_with_json(_completion("Hi."))

    assert call(chat_model("openai:m"), HELLO, FAST_RETRIES).text == "Hi."
