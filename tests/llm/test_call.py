"""Model calls: retries, timeouts, parsing of responses, and models by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolCallChunk
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import SecretStr
from streaming_server import Connection, Script, StreamingServer, answer, refuse, serving
from tenacity import RetryCallState, Retrying

from memgraph import ModelError, ModelSetupError, Policy
from memgraph.llm.call import ModelCall, RefusedOptions, is_transient, read_answer, read_usage, retrying, with_schema
from memgraph.llm.models import chat_model
from memgraph.llm.offline import OfflineChatModel
from memgraph.prompts.json_text import answer_schema
from memgraph.prompts.parse import is_incomplete
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

    assert ModelCall(model, FAST_RETRIES).run(HELLO).text == "Hi."
    assert len(model.asked) == 4


def test_fourth_failure_raises_with_its_cause() -> None:
    """Four attempts in all, not four retries."""
    model = ScriptedModel(StatusError(503))

    with pytest.raises(ModelError, match="StatusError: status 503"):
        ModelCall(model, FAST_RETRIES).run(HELLO)

    assert len(model.asked) == 4


@pytest.mark.parametrize("error", [StatusError(401), StatusError(400), ValueError("no such model")])
def test_permanent_error_is_not_retried(error: Exception) -> None:
    """A wrong key does not become valid."""
    model = ScriptedModel(error)

    with pytest.raises(ModelError):
        ModelCall(model, FAST_RETRIES).run(HELLO)

    assert len(model.asked) == 1


def test_async_call_is_retried() -> None:
    """`run_async` has the retries of `run`."""
    model = ScriptedModel(StatusError(429), "Hi.")

    assert asyncio.run(ModelCall(model, FAST_RETRIES).run_async(HELLO)).text == "Hi."


def test_retry_after_of_an_hour_is_not_transient() -> None:
    """A provider that is away for more than ten minutes is down: a run does not wait for it."""
    assert not is_transient(StatusError(429, **{"retry-after": "3600"}))


def _delay(error: Exception, attempt: int) -> float:
    """Return the delay before the next attempt after *error*."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempt
    state.set_exception((type(error), error, None))
    return retrying(Retrying, Policy(retry_wait_seconds=1)).wait(state)


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


# -- responses -----------------------------------------------------------------------------------


def test_a_tool_call_that_is_cut_off_stays_so() -> None:
    """LangChain completes its JSON, and then what is missing is not noticed."""
    arguments = '{"newFacts": [{"content": "Likes tea."}, {"content": "Likes r'
    call = ToolCallChunk(name="update", args=arguments, id="c1", index=0, type="tool_call_chunk")

    answer = read_answer(AIMessageChunk("", tool_call_chunks=[call]))

    assert (answer.text, is_incomplete(answer)) == (arguments, True)


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
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., StreamingServer]]:
    """Start an OpenAI-compatible server, set by environment variables as a user would."""
    with ExitStack() as servers:

        def start(*scripts: Script) -> StreamingServer:
            server = servers.enter_context(serving(*scripts))
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            return server

        yield start


Serve = Callable[..., StreamingServer]


def test_only_memgraph_retries(serve: Serve) -> None:
    """The client's own retries are off, else four attempts would be twelve requests."""
    busy = refuse(429, "busy")
    server = serve(busy, busy, busy, answer("Hi."))

    message = ModelCall(chat_model("openai:m"), FAST_RETRIES).run(HELLO)

    assert (message.text, len(server.requests)) == ("Hi.", 4)
    assert read_usage(message).input_tokens == 11


def test_unreachable_server_raises_a_model_error(monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int) -> None:
    """Its message names the cause."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused_tcp_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    with pytest.raises(ModelError, match="Connection error"):
        ModelCall(chat_model("openai:m"), FAST_RETRIES).run(HELLO)


@pytest.fixture
def unused_tcp_port() -> int:
    """A port that no server listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_silent_server_is_asked_again_and_then_given_up(serve: Serve) -> None:
    """Each time with the connection closed."""
    server = serve(lambda connection: connection.wait_until_closed())
    policy = Policy(retry_wait_seconds=0, model_tries=2, model_timeout_seconds=1)

    with pytest.raises(ModelError, match="did not answer within 1 s, in 2 attempts"):
        ModelCall(chat_model("openai:m"), policy).run(HELLO)

    assert all(server.closed.acquire(timeout=60) for _ in range(2))


def test_an_endless_answer_is_not_asked_for_again(serve: Serve) -> None:
    """The next one would be as long."""

    def endless(connection: Connection) -> None:
        connection.send("x")
        while not connection.wait_until_closed(0.05):
            connection.send("x")

    server = serve(endless)

    with pytest.raises(ModelError, match="did not finish its answer within 1 s"):
        ModelCall(chat_model("openai:m"), Policy(model_deadline_seconds=1)).run(HELLO)

    assert (len(server.requests), server.closed.acquire(timeout=60)) == (1, True)


def ask(model: BaseChatModel, refused: RefusedOptions, **options: Any) -> AIMessage:
    """Call a model as an update does."""
    return ModelCall(model, FAST_RETRIES, options.get("structured_output", "auto"), refused or RefusedOptions()).run(
        HELLO
    )


@pytest.mark.parametrize("structured_output", ["auto", "json_schema", "function_calling", "none"])
def test_structured_output_is_requested_but_parsed_by_memgraph(serve: Serve, structured_output: Any) -> None:
    """An answer that violates the schema is returned too: the client's parser must not discard it."""
    server = serve(answer("Not JSON ", "at all"))

    message = ask(chat_model("openai:m"), RefusedOptions(), structured_output=structured_output)

    assert message.text == "Not JSON at all"
    (request,) = server.requests
    assert ("response_format" in request) is (structured_output in {"auto", "json_schema"})
    assert ("tools" in request) is (structured_output == "function_calling")


def test_an_answer_that_was_cut_off_is_returned_as_far_as_it_came(serve: Serve) -> None:
    """With a schema, the client raises an error instead."""
    serve(answer('{"newFacts": [', '{"content"', reason="length"))

    found = read_answer(ask(chat_model("openai:m"), RefusedOptions()))

    assert (found.text, found.cut_off) == ('{"newFacts": [{"content"', True)


@pytest.mark.parametrize(("url", "strict"), [("https://api.openai.com/v1", True), ("http://127.0.0.1:9/v1", False)])
def test_the_schema_is_strict_at_openai_only(url: str, strict: bool) -> None:  # noqa: FBT001
    """Compatible servers would have to fill in every optional field."""
    model = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"))

    bound: Any = with_schema(model, "json_schema", partial(answer_schema, Policy()))
    schema = bound.kwargs["response_format"]["json_schema"]

    assert schema["strict"] is strict
    fact = schema["schema"]["properties"]["newFacts"]["items"]
    assert (set(fact["required"]) == set(fact["properties"])) is strict


@pytest.mark.parametrize(
    ("option", "status", "message"),
    [
        ("response_format", 400, "response_format of type json_schema is not supported"),
        ("response_format", 501, "not implemented"),
        ("temperature", 400, "Unsupported value: 'temperature' does not support 0 with this model."),
        ("stream_options", 422, "stream_options: extra fields not permitted"),
        ("stream", 400, "this server cannot stream"),
    ],
)
def test_a_refused_option_is_dropped_and_not_asked_for_again(
    serve: Serve, option: str, status: int, message: str
) -> None:
    """Neither in this call nor in the next one with this model, but with another."""

    def script(connection: Connection) -> None:
        if option in connection.request and connection.request[option] is not False:
            connection.refuse(status, message)
        elif connection.request.get("stream"):
            answer("Hi.")(connection)
        else:
            connection.answer_whole("Hi.")

    server = serve(script)
    model, refused = chat_model("openai:m"), RefusedOptions()

    assert [ask(model, refused).text for _ in range(2)] == ["Hi.", "Hi."]
    assert [
        bool(request.get(option) is not None and request.get(option) is not False) for request in server.requests
    ] == [True, False, False]
    options = {"response_format", "temperature", "stream_options", "stream"} - {option}
    if option != "stream":
        assert all(options <= request.keys() for request in server.requests)
    assert ask(chat_model("openai:m"), refused).text == "Hi."
    assert len(server.requests) == 5


def test_a_server_that_answers_a_stream_as_a_whole_is_read(serve: Serve) -> None:
    """It ignores what it does not know."""
    server = serve(lambda connection: connection.answer_whole("Hi."))
    model, refused = chat_model("openai:m"), RefusedOptions()

    assert [ask(model, refused).text for _ in range(2)] == ["Hi.", "Hi."]
    assert [request.get("stream", False) for request in server.requests] == [True, False, False]


def test_an_answer_that_is_no_completion_is_a_problem_of_the_server(serve: Serve) -> None:
    """The client's own error is an assertion without a text."""
    serve(refuse(200, "the model is being loaded"))

    with pytest.raises(ModelError, match="its server sent nothing that a client of its API can read"):
        ask(chat_model("openai:m"), RefusedOptions())


def test_a_schema_that_was_asked_for_is_not_dropped(serve: Serve) -> None:
    """Only `auto` does without."""
    serve(refuse(400, "response_format is not supported"))

    with pytest.raises(ModelError, match="response_format is not supported"):
        ask(chat_model("openai:m"), RefusedOptions(), structured_output="json_schema")


def test_the_first_error_is_reported_if_no_option_is_to_blame(serve: Serve) -> None:
    """And nothing is remembered of it."""
    server = serve(refuse(400, "the context is too long"), refuse(400, "still too long"))
    model, refused = chat_model("openai:m"), RefusedOptions()

    with pytest.raises(ModelError, match="the context is too long"):
        ask(model, refused)

    assert refused.of(model) == frozenset()
    assert len(server.requests) == 5


def test_temperature_and_parameters_are_sent(serve: Serve) -> None:
    """0 unless the parameters have another."""
    server = serve(answer("Hi."))

    for params in ({}, {"temperature": 0.3, "max_tokens": 50}):
        ask(chat_model("openai:m", params), RefusedOptions())

    assert [request["temperature"] for request in server.requests] == [0, 0.3]
    assert server.requests[1]["max_completion_tokens"] == 50


def test_a_model_of_ones_own_keeps_its_temperature(serve: Serve) -> None:
    """It was set on purpose."""
    server = serve(answer("Hi."))

    ask(ChatOpenAI(model="m", temperature=0.9), RefusedOptions())

    assert server.requests[0]["temperature"] == 0.9


def test_refused_options_are_bounded() -> None:
    """A graph may see any number of model objects."""
    refused = RefusedOptions(max_models=2)
    models = [ScriptedModel("Hi.") for _ in range(3)]
    for model in models:
        refused.add(model, frozenset({"temperature"}))
    refused.add(models[2], frozenset({"streaming"}))

    assert [refused.of(model) for model in models] == [set(), {"temperature"}, {"temperature", "streaming"}]


def test_the_tokens_stay_out_of_the_stream_of_the_agent_around_it() -> None:
    """LangGraph leaves out calls with this tag."""

    def remember(state: MessagesState) -> dict[str, object]:
        ModelCall(FakeListChatModel(responses=["Secret."]), FAST_RETRIES).run(state["messages"])
        return {}

    def reply(state: MessagesState) -> dict[str, object]:
        return {"messages": [FakeListChatModel(responses=["Hi."]).invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_sequence([remember, reply])
    graph.add_edge(START, "remember")

    chunks = [chunk.text for chunk, _ in graph.compile().stream({"messages": HELLO}, stream_mode="messages")]

    assert "".join(chunks) == "Hi."


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


def test_openai_client_does_not_retry(serve: Serve) -> None:
    """Retries are memgraph's, see `call`."""
    serve(answer("Hi."))

    model = chat_model("openai:m")

    assert isinstance(model, ChatOpenAI)
    assert model.max_retries == 0


def test_compatible_server_needs_no_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ollama and vLLM have none, but the client does not start without one."""
    serve(answer("Hi."))
    monkeypatch.delenv("OPENAI_API_KEY")

    assert ModelCall(chat_model("openai:m"), FAST_RETRIES).run(HELLO).text == "Hi."


def test_parameters_that_a_model_does_not_have_are_an_error(serve: Serve) -> None:
    """At once, not at the first update."""
    serve(answer("Hi."))

    with pytest.raises(ModelSetupError, match="model_params are not valid for 'openai:m'"):
        chat_model("openai:m", {"temperature": "warm"})


def test_the_offline_model_has_no_parameters() -> None:
    """Those of the settings are for another model."""
    assert isinstance(chat_model("offline", {"temperature": 1}), OfflineChatModel)
