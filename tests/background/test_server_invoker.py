"""ServerInvoker against a fake transport: errors, and what it sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

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
Handler = Callable[[httpx.Request], httpx.Response]


def _invoker(handler: Handler, settings: Settings | None = None) -> ServerInvoker:
    client = httpx.Client(base_url="http://user:secret@memory.test", transport=httpx.MockTransport(handler))
    return ServerInvoker(SyncLangGraphClient(client), settings=settings)


def test_unreachable_server_is_named_without_secrets() -> None:
    """The caller has to know that the submission was not stored."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    with _invoker(refuse) as invoker, pytest.raises(OutboxError) as caught:
        invoker.submit(HELLO, ADA, "t1")

    assert str(caught.value) == "http://memory.test cannot be reached: connection refused"


def test_rejection_contains_the_server_message() -> None:
    """A missing key must not look like a network problem."""
    with (
        _invoker(lambda _: httpx.Response(403, json={"detail": "no such key"})) as invoker,
        pytest.raises(OutboxError, match=r"refused with status 403: no such key"),
    ):
        invoker.submit(HELLO, ADA, "t1")


def test_response_that_is_not_json_raises() -> None:
    """A wrong URL may return a login page with status 200."""
    with (
        _invoker(lambda _: httpx.Response(200, text="<html>")) as invoker,
        pytest.raises(OutboxError, match="did not answer like a LangGraph Server"),
    ):
        invoker.submit(HELLO, ADA, "t1")


def test_async_errors_are_the_same() -> None:
    """Both clients raise the same error."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    async def submit() -> None:
        client = httpx.AsyncClient(base_url="http://memory.test", transport=httpx.MockTransport(refuse))
        async with LangGraphClient(client) as server, ServerInvoker(server) as invoker:
            await invoker.asubmit(HELLO, ADA, "t1")

    with pytest.raises(OutboxError, match=r"http://memory.test cannot be reached: ReadTimeout"):
        asyncio.run(submit())


def test_failed_rollback_loses_nothing() -> None:
    """The new run contains it; the old one runs too, and finds everything learned."""
    pending = {
        "run_id": "01a20081-1a96-7691-a1cf-79e79325ae7f",
        "status": "pending",
        "created_at": "2026-01-01T00:00:00Z",
        "metadata": {"memgraph": {"user_id": "ada", "submissions": 1, "first_at": 9e9}},
        "kwargs": {"input": {"messages": [{"type": "human", "content": "Earlier.", "id": "m0"}]}},
    }
    created: list[list[str]] = []

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/runs/cancel":
            return httpx.Response(500, json={"detail": "out of order"})
        if request.method == "POST":
            created.append([message["id"] for message in json.loads(request.content)["input"]["messages"]])
            return httpx.Response(200, json=pending)
        return httpx.Response(200, json=pending if request.url.path.endswith(pending["run_id"]) else [pending])

    with _invoker(respond) as invoker:
        invoker.submit(HELLO, ADA, "t1")

        assert created == [["m0", "m1"]]
        assert invoker.stats().submitted == 1


def test_disabled_invoker_sends_nothing() -> None:
    """`enabled: false` does nothing at all."""
    with _invoker(lambda _: pytest.fail("a request was sent"), Settings(enabled=False)) as invoker:
        invoker.submit(HELLO, ADA, "t1")

        assert invoker.flush(0)
        assert (invoker.pending(), invoker.failed(), invoker.retry()) == ([], [], 0)


def test_empty_conversation_sends_nothing() -> None:
    """There is nothing to submit."""
    with _invoker(lambda _: pytest.fail("a request was sent")) as invoker:
        invoker.submit([], ADA, "t1")


def test_invalid_submission_is_rejected_before_any_request() -> None:
    """The caller gets the error, not the server's log."""
    with _invoker(lambda _: pytest.fail("a request was sent")) as invoker:
        with pytest.raises(IdentityError):
            invoker.submit(HELLO, "ada")  # pyright: ignore[reportArgumentType]
        with pytest.raises(IdentityError):
            invoker.submit(HELLO, ADA, "t\x00")
        with pytest.raises(ConversationError):
            invoker.submit([object()], ADA)  # pyright: ignore[reportArgumentType]


def test_closed_invoker_raises() -> None:
    """The error must not say that the server cannot be reached."""
    invoker = ServerInvoker("http://127.0.0.1:9")
    invoker.close()
    invoker.close()

    with pytest.raises(OutboxError, match="closed"):
        invoker.submit(HELLO, ADA)


@pytest.mark.parametrize("url", ["", "memory.test", "ftp://memory.test", "http://", "http://[::1", 7])
def test_invalid_server_url_is_rejected(url: object) -> None:
    """At once, not at the first submission."""
    with pytest.raises(ConfigError, match="LangGraph Server"):
        ServerInvoker(url)  # pyright: ignore[reportArgumentType]


def test_messages_are_preserved_by_the_server() -> None:
    """The graph on the server reads the same messages, chunks of a stream included."""
    messages: list[BaseMessage] = [
        SystemMessage("Be brief.", id="s"),
        HumanMessage("Hello 你好", id="h", name="ada", additional_kwargs={"hide_from_ui": True}),
        AIMessage("", id="c", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "call", "type": "tool_call"}]),
        ToolMessage("seen", tool_call_id="call", id="t"),
        AIMessageChunk("Done.", id="a"),
        HumanMessage([{"type": "text", "text": "This one."}]),
        ChatMessage("Ignored.", role="critic"),
    ]
    sent: list[object] = []

    def respond(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content or "{}")
        sent.extend(body.get("input", {}).get("messages", []))
        return httpx.Response(200, json=[])

    with _invoker(respond) as invoker:
        invoker.submit(messages, ADA, "t1")

    read = to_messages(None, sent)
    assert [(one.id, one.content) for one in read] == [(one.id, one.content) for one in messages[:-1]]
    assert [one.type for one in read] == ["system", "human", "ai", "tool", "ai", "human"]
    assert read[1].additional_kwargs["hide_from_ui"] is True
    assert read[1].name == "ada"
    assert isinstance(read[2], AIMessage)
    assert read[2].tool_calls[0]["args"] == {"at": 1}


class _FixedClock:
    def now(self) -> float:
        return datetime(2024, 5, 1, 10, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (None, "2024-05-01T10:00:00Z"),
        (datetime(2023, 5, 8, 13, 56, tzinfo=UTC), "2023-05-08T13:56:00Z"),
        (datetime(2024, 5, 2, tzinfo=UTC), "2024-05-01T10:00:00Z"),
    ],
)
def test_messages_have_the_time_of_their_submission(at: datetime | None, expected: str) -> None:
    """The server runs the update later; a time in the future is ignored."""
    sent: list[dict[str, Any]] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.extend(json.loads(request.content or "{}").get("input", {}).get("messages", []))
        return httpx.Response(200, json=[])

    client = httpx.Client(base_url="http://memory.test", transport=httpx.MockTransport(respond))
    with ServerInvoker(SyncLangGraphClient(client), clock=_FixedClock()) as invoker:
        invoker.submit(HELLO, ADA, "t1", at=at)

    assert sent[0]["additional_kwargs"] == {"submitted_at": expected}
