"""The model is asked with patience, over the wire as well."""

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
from memgraph.llm.call import acall, call, read_answer, read_usage
from memgraph.llm.models import chat_model
from memgraph.llm.retry import is_transient, retry_options
from memgraph.testing import ScriptedModel

HELLO = [HumanMessage("Hello.")]
HASTY = Policy(retry_wait_seconds=0)


class StatusError(Exception):
    """What a provider's client raises."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = SimpleNamespace(headers=headers)


# -- trying again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    """The provider is busy, not wrong."""
    model = ScriptedModel(StatusError(status), ConnectionError(), TimeoutError(), "Hi.")

    assert call(model, HELLO, HASTY).text == "Hi."
    assert len(model.asked) == 4


def test_after_four_tries_it_is_an_error_that_says_what_failed() -> None:
    """Four in all, not four more."""
    model = ScriptedModel(StatusError(503))

    with pytest.raises(ModelError, match="StatusError: status 503"):
        call(model, HELLO, HASTY)

    assert len(model.asked) == 4


@pytest.mark.parametrize("error", [StatusError(401), StatusError(400), ValueError("no such model")])
def test_a_lasting_failure_is_not_tried_again(error: Exception) -> None:
    """A wrong key does not get better."""
    model = ScriptedModel(error)

    with pytest.raises(ModelError):
        call(model, HELLO, HASTY)

    assert len(model.asked) == 1


def test_the_same_patience_in_an_event_loop() -> None:
    """The twin is a twin."""
    model = ScriptedModel(StatusError(429), "Hi.")

    assert asyncio.run(acall(model, HELLO, HASTY)).text == "Hi."


def test_a_provider_that_asks_for_more_than_ten_minutes_is_down() -> None:
    """A run does not wait for an hour."""
    assert not is_transient(StatusError(429, **{"retry-after": "3600"}))


def _wait(error: Exception, attempt: int) -> float:
    """The wait before the next try, after this failure."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempt
    state.set_exception((type(error), error, None))
    return retry_options(Policy(retry_wait_seconds=1))["wait"](state)


@pytest.mark.parametrize(("attempt", "low", "high"), [(1, 0.5, 1.5), (2, 1, 3), (3, 2, 6)])
def test_waits_grow_and_are_jittered(attempt: int, low: float, high: float) -> None:
    """So that many runs do not come back at once."""
    waits = {_wait(ConnectionError(), attempt) for _ in range(50)}

    assert low <= min(waits) < max(waits) <= high


@pytest.mark.parametrize("after", ["30", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_retry_after_is_respected_in_both_its_forms(after: str) -> None:
    """The provider knows best when it is ready."""
    assert _wait(StatusError(429, **{"retry-after": after}), 1) >= 30


@pytest.mark.parametrize("after", ["", "soon", "nan-ish"])
def test_a_senseless_retry_after_is_as_none(after: str) -> None:
    """It must not cost the run."""
    assert _wait(StatusError(429, **{"retry-after": after}), 1) <= 1.5


def test_a_call_that_hangs_is_given_up_and_left_behind() -> None:
    """Its thread is a daemon, which nothing waits for."""
    forever = threading.Event()

    with pytest.raises(TimeoutError):
        run_with_timeout(0.01, forever.wait, "memgraph-model-call")

    (left,) = [thread for thread in threading.enumerate() if thread.name == "memgraph-model-call"]
    assert left.daemon
    forever.set()
    left.join()


# -- what it said ---------------------------------------------------------------------------------


def test_a_tool_call_is_an_answer() -> None:
    """Models held to a shape by function calling say nothing else."""
    call = {"name": "memory_update", "args": {"newFacts": []}, "id": "c1", "type": "tool_call"}

    assert read_answer(AIMessage("", tool_calls=[call])).text == '{"newFacts": []}'


@pytest.mark.parametrize(
    ("message", "cut_off", "refused"),
    [
        (AIMessage("x", response_metadata={"finish_reason": "length"}), True, False),
        (AIMessage("x", additional_kwargs={"refusal": "No."}), False, True),
        (AIMessage("x", response_metadata={"finish_reason": "stop"}), False, False),
    ],
)
def test_how_an_answer_ended_is_kept(message: AIMessage, cut_off: bool, refused: bool) -> None:  # noqa: FBT001
    """A truncated answer raises nothing in any client."""
    answer = read_answer(message)

    assert (answer.cut_off, answer.refused) == (cut_off, refused)


def test_a_model_that_counts_no_tokens_costs_none() -> None:
    """The call is counted all the same."""
    assert read_usage(AIMessage("x")).model_dump() == {"calls": 1, "input_tokens": 0, "output_tokens": 0}


# -- over the wire --------------------------------------------------------------------------------


@pytest.fixture
def wire(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """A server that speaks as OpenAI does, named by the environment as a user would."""
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


def test_a_busy_server_is_asked_again_by_us_and_by_nobody_else(wire: HTTPServer) -> None:
    """The client's own retries are off, else four tries would be twelve calls."""
    calls: list[int] = []

    def serve(_: Request) -> Response:
        calls.append(len(calls))
        return Response(status=429) if len(calls) < 4 else Response(json.dumps(_completion("Hi.")))

    wire.expect_request("/v1/chat/completions").respond_with_handler(serve)

    message = call(chat_model("openai:m"), HELLO, HASTY)

    assert (message.text, len(calls)) == ("Hi.", 4)
    assert read_usage(message).input_tokens == 11


def test_a_server_that_is_not_there_is_an_error_in_one_line(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    """What was tried, and what happened."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused_tcp_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    with pytest.raises(ModelError, match="Connection error"):
        call(chat_model("openai:m"), HELLO, HASTY)


@pytest.fixture
def unused_tcp_port() -> int:
    """A port on which nothing listens."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("shape", ["json_schema", "function_calling"])
def test_a_shape_is_asked_for_and_the_words_are_read_by_us(wire: HTTPServer, shape: Any) -> None:
    """Also where they break the shape: a client's parser must not decide what is lost."""
    seen: list[dict[str, Any]] = []

    def serve(request: Request) -> Response:
        seen.append(request.get_json())
        return Response(json.dumps(_completion("Not JSON at all", "length")))

    wire.expect_request("/v1/chat/completions").respond_with_handler(serve)

    answer = read_answer(call(chat_model("openai:m"), HELLO, HASTY, shape))

    assert (answer.text, answer.cut_off) == ("Not JSON at all", True)
    assert ("response_format" in seen[0]) is (shape == "json_schema")
    assert ("tools" in seen[0]) is (shape == "function_calling")


# -- by name --------------------------------------------------------------------------------------


def test_a_missing_key_is_named() -> None:
    """One line that tells which variable to set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ModelSetupError, match="OPENAI_API_KEY"):
            chat_model("openai:gpt-4.1-mini")


@pytest.mark.parametrize("name", ["openai", "openai:", "gpt-4", ""])
def test_half_a_name_is_no_model(name: str) -> None:
    """The error shows a whole one."""
    with pytest.raises(ModelSetupError, match=r"openai:gpt-4\.1-mini"):
        chat_model(name)


def test_an_openai_model_does_not_retry_by_itself(wire: HTTPServer) -> None:
    """We do."""
    model = chat_model("openai:m")

    assert isinstance(model, ChatOpenAI)
    assert model.max_retries == 0


def test_a_server_of_ones_own_needs_no_key(wire: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ollama and vLLM; the client would not start without one."""
    monkeypatch.delenv("OPENAI_API_KEY")
    wire.expect_request("/v1/chat/completions").respond_with_json(_completion("Hi."))

    assert call(chat_model("openai:m"), HELLO, HASTY).text == "Hi."
