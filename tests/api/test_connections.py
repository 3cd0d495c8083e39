"""Limits of connections, with a fake clock instead of an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn.server import ServerState

from memgraph.api.auth import Principal, mark_authenticated
from memgraph.api.connections import (
    ANONYMOUS_SHARE,
    BODY_SECONDS,
    HEADER_SECONDS,
    KEEP_ALIVE_SECONDS,
    BoundedConnection,
)

LIMIT = 20
ANONYMOUS = int(LIMIT * ANONYMOUS_SHARE)
HEADERS = b"POST /memory/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"


class Timer:
    """A scheduled call."""

    def __init__(self, due: float, call: Callable[[], None]) -> None:
        self.due, self.call = due, call

    def cancel(self) -> None:
        self.due = float("inf")


class FakeLoop:
    """Runs timers when the clock is advanced, and no tasks."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, call))
        return self.timers[-1]

    def create_task(self, task: Coroutine[Any, Any, None], **_: Any) -> Any:
        task.close()
        return Task()

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for timer in [timer for timer in self.timers if timer.due <= self.now]:
            timer.cancel()
            timer.call()


class Task:
    """A task that never ends."""

    def add_done_callback(self, _: object) -> None:
        pass


class FakeTransport:
    """A connection that records whether it is closed."""

    closed = False

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, _: str) -> None:
        return None

    def write(self, _: bytes) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass


class Server:
    """Opens connections."""

    def __init__(self) -> None:
        self.loop = FakeLoop()
        self.state = ServerState()
        self.config = uvicorn.Config(_app, limit_concurrency=LIMIT, timeout_keep_alive=KEEP_ALIVE_SECONDS)
        self.config.load()

    def connect(self) -> tuple[BoundedConnection, FakeTransport]:
        transport: Any = FakeTransport()
        connection = BoundedConnection(self.config, self.state, {}, self.loop)
        self.loop.advance(2**-10)
        connection.connection_made(transport)
        return connection, transport

    def connect_authenticated(self) -> tuple[BoundedConnection, FakeTransport]:
        """Open a connection whose headers are complete and authenticated."""
        connection, transport = self.connect()
        connection.data_received(HEADERS)
        mark_authenticated(connection.scope, Principal("ada"))
        return connection, transport


async def _app(scope: object, receive: object, send: object) -> None:
    raise AssertionError("no task runs here")


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.mark.parametrize("sent", [b"", HEADERS[:30]], ids=["nothing", "half a header"])
def test_a_connection_without_a_whole_header_is_closed(server: Server, sent: bytes) -> None:
    connection, transport = server.connect()
    if sent:
        connection.data_received(sent)
    server.loop.advance(HEADER_SECONDS - 1)
    assert not transport.closed

    server.loop.advance(1)

    assert transport.closed


def test_a_header_that_drips_is_closed_at_the_same_time(server: Server) -> None:
    """Each byte does not buy more time."""
    connection, transport = server.connect()

    for byte in HEADERS[:HEADER_SECONDS]:
        connection.data_received(bytes([byte]))
        server.loop.advance(1)

    assert transport.closed


def test_a_body_has_one_time_limit_however_it_arrives(server: Server) -> None:
    """Each byte does not buy more time."""
    connection, transport = server.connect_authenticated()
    for byte in b"abc":
        server.loop.advance(BODY_SECONDS / 4)
        connection.data_received(bytes([byte]))
    assert not transport.closed

    server.loop.advance(BODY_SECONDS / 4)

    assert transport.closed


def test_a_complete_request_may_be_answered_at_any_time(server: Server) -> None:
    """A model call takes long; only the client's part is timed."""
    connection, transport = server.connect()
    connection.data_received(HEADERS + b"abcd")

    server.loop.advance(100 * BODY_SECONDS)

    assert not transport.closed


def test_a_second_request_has_to_arrive_too(server: Server) -> None:
    """The time after a response is uvicorn's own; then a header may not stay half-sent."""
    connection, transport = server.connect()
    connection.data_received(HEADERS + b"abcd")
    connection.conn.send(_response())
    connection.conn.send(_end())
    connection.on_response_complete()
    connection.data_received(HEADERS[:30])
    server.loop.advance(HEADER_SECONDS - 1)
    assert not transport.closed

    server.loop.advance(1)

    assert transport.closed


def test_an_idle_connection_is_closed_after_a_response(server: Server) -> None:
    connection, transport = server.connect()
    connection.data_received(HEADERS + b"abcd")
    connection.conn.send(_response())
    connection.conn.send(_end())
    connection.on_response_complete()

    server.loop.advance(KEEP_ALIVE_SECONDS)

    assert transport.closed


def test_a_connection_above_the_limit_is_closed(server: Server) -> None:
    transports = [server.connect_authenticated()[1] for _ in range(LIMIT + 1)]

    assert [transport.closed for transport in transports] == [False] * LIMIT + [True]


@pytest.mark.parametrize("sent", [b"", HEADERS[:30], HEADERS + b"a"], ids=["nothing", "half a header", "half a body"])
def test_slow_anonymous_clients_replace_each_other(server: Server, sent: bytes) -> None:
    """However many there are, a client that authenticates is served, and those that did keep their places."""
    users = [server.connect_authenticated()[1] for _ in range(3)]
    slow = []
    for _ in range(50 * LIMIT):
        connection, transport = server.connect()
        if sent:
            connection.data_received(sent)
        slow.append((connection, transport))
        for closed, _ in (each for each in slow if each[1].closed):
            server.state.connections.discard(closed)

    new = server.connect_authenticated()[1]

    assert [transport.closed for _, transport in slow].count(False) == ANONYMOUS - 1
    assert not any(transport.closed for transport in (*users, new))


def test_a_complete_anonymous_request_is_answered(server: Server) -> None:
    """Only clients that keep the server waiting give way."""
    connection, transport = server.connect()
    connection.data_received(HEADERS + b"abcd")

    for _ in range(LIMIT // 2):
        server.connect()

    assert not transport.closed


def _response() -> Any:
    return h11.Response(status_code=204, headers=[])


def _end() -> Any:
    return h11.EndOfMessage()
