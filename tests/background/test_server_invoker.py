"""ServerInvoker where there is no server, or another one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import httpx
import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from memgraph import ConfigError, ConversationError, IdentityError, Scope
from memgraph.background.server_invoker import ServerInvoker
from memgraph.errors import OutboxError
from memgraph.settings import Settings
from memgraph.state import to_messages

ADA = Scope("ada")
HELLO = [HumanMessage("Hello.", id="m1")]
Answer = Callable[[httpx.Request], httpx.Response]


def _invoker(answer: Answer, settings: Settings | None = None) -> ServerInvoker:
    client = httpx.Client(base_url="http://user:secret@memory.test", transport=httpx.MockTransport(answer))
    return ServerInvoker(SyncLangGraphClient(client), settings=settings)


def test_a_server_that_cannot_be_reached_is_an_error_that_names_it_without_secrets() -> None:
    """Somebody has to know that this was not kept."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    with _invoker(refuse) as invoker, pytest.raises(OutboxError) as caught:
        invoker.submit(HELLO, ADA, "t1")

    assert str(caught.value) == "http://memory.test cannot be reached: connection refused"


def test_a_refusal_is_an_error_with_what_the_server_said() -> None:
    """A missing key is told from a missing network."""
    with (
        _invoker(lambda _: httpx.Response(403, json={"detail": "no such key"})) as invoker,
        pytest.raises(OutboxError, match=r"refused with status 403: no such key"),
    ):
        invoker.submit(HELLO, ADA, "t1")


def test_an_answer_that_is_no_json_is_an_error_that_doubts_the_url() -> None:
    """A login page has status 200."""
    with (
        _invoker(lambda _: httpx.Response(200, text="<html>")) as invoker,
        pytest.raises(OutboxError, match="did not answer like a LangGraph Server"),
    ):
        invoker.submit(HELLO, ADA, "t1")


def test_an_async_client_is_told_of_as_plainly() -> None:
    """The same sentence, whichever client asked."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    async def submit() -> None:
        client = httpx.AsyncClient(base_url="http://memory.test", transport=httpx.MockTransport(refuse))
        async with LangGraphClient(client) as line, ServerInvoker(line) as invoker:
            await invoker.asubmit(HELLO, ADA, "t1")

    with pytest.raises(OutboxError, match=r"http://memory.test cannot be reached: ReadTimeout"):
        asyncio.run(submit())


def test_what_was_merged_is_safe_although_it_could_not_be_rolled_back() -> None:
    """The new run has it; the old one runs too, and finds all of it learned."""
    waiting = {
        "run_id": "01a20081-1a96-7691-a1cf-79e79325ae7f",
        "status": "pending",
        "created_at": "2026-01-01T00:00:00Z",
        "metadata": {"memgraph": {"user_id": "ada", "submissions": 1, "first_at": 9e9}},
        "kwargs": {"input": {"messages": [{"type": "human", "content": "Earlier.", "id": "m0"}]}},
    }
    created: list[list[str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/runs/cancel":
            return httpx.Response(500, json={"detail": "out of order"})
        if request.method == "POST":
            created.append([message["id"] for message in json.loads(request.content)["input"]["messages"]])
            return httpx.Response(200, json=waiting)
        return httpx.Response(200, json=waiting if request.url.path.endswith(waiting["run_id"]) else [waiting])

    with _invoker(answer) as invoker:
        invoker.submit(HELLO, ADA, "t1")

        assert created == [["m0", "m1"]]
        assert invoker.stats().submitted == 1


def test_nothing_is_asked_where_memory_is_off() -> None:
    """`enabled: false` does nothing at all."""
    with _invoker(lambda _: pytest.fail("it asked"), Settings(enabled=False)) as invoker:
        invoker.submit(HELLO, ADA, "t1")

        assert invoker.flush(0)
        assert (invoker.pending(), invoker.failed(), invoker.retry()) == ([], [], 0)


def test_nothing_is_asked_where_nothing_was_said() -> None:
    """An empty conversation is no submission."""
    with _invoker(lambda _: pytest.fail("it asked")) as invoker:
        invoker.submit([], ADA, "t1")


def test_what_cannot_be_learned_from_is_refused_before_the_server_is_asked() -> None:
    """Where it is said, not in a log of the server."""
    with _invoker(lambda _: pytest.fail("it asked")) as invoker:
        with pytest.raises(IdentityError):
            invoker.submit(HELLO, "ada")  # pyright: ignore[reportArgumentType]
        with pytest.raises(IdentityError):
            invoker.submit(HELLO, ADA, "t\x00")
        with pytest.raises(ConversationError):
            invoker.submit([object()], ADA)  # pyright: ignore[reportArgumentType]


def test_a_closed_invoker_says_so() -> None:
    """Rather than that the server cannot be reached."""
    invoker = ServerInvoker("http://127.0.0.1:9")
    invoker.close()
    invoker.close()

    with pytest.raises(OutboxError, match="closed"):
        invoker.submit(HELLO, ADA)


@pytest.mark.parametrize("url", ["", "memory.test", "ftp://memory.test", "http://", "http://[::1", 7])
def test_what_is_no_url_of_a_server_is_refused_at_once(url: object) -> None:
    """Not at the first submission, which may be at night."""
    with pytest.raises(ConfigError, match="LangGraph Server"):
        ServerInvoker(url)  # pyright: ignore[reportArgumentType]


def test_messages_are_the_same_after_they_went_through_the_server() -> None:
    """The graph reads on the server what is written here, also what came from a stream."""
    said: list[BaseMessage] = [
        SystemMessage("Be brief.", id="s"),
        HumanMessage("Hello 你好", id="h", name="ada", additional_kwargs={"hide_from_ui": True}),
        AIMessage("", id="c", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "call", "type": "tool_call"}]),
        ToolMessage("seen", tool_call_id="call", id="t"),
        AIMessageChunk("Done.", id="a"),
        HumanMessage([{"type": "text", "text": "This one."}]),
        ChatMessage("Unheard.", role="critic"),
    ]
    sent: list[object] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content or "{}")
        sent.extend(body.get("input", {}).get("messages", []))
        return httpx.Response(200, json=[])

    with _invoker(answer) as invoker:
        invoker.submit(said, ADA, "t1")

    read = to_messages(None, sent)
    assert [(one.id, one.content) for one in read] == [(one.id, one.content) for one in said[:-1]]
    assert [one.type for one in read] == ["system", "human", "ai", "tool", "ai", "human"]
    assert read[1].additional_kwargs["hide_from_ui"] is True
    assert read[1].name == "ada"
    assert isinstance(read[2], AIMessage)
    assert read[2].tool_calls[0]["args"] == {"at": 1}
