"""DualClient: runs request flows against LangGraph Server, synchronously or asynchronously.

A flow is written once, as a generator of requests, and does not know which kind of client runs it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient, get_sync_client
from langgraph_sdk.errors import APIStatusError

from memgraph.errors import ConfigError, OutboxError

T = TypeVar("T")

Request = Callable[[Any], Any]
"""Calls a method of the SDK's client, which returns a response or an awaitable of it."""

RequestFlow = Generator[Request, Any, T]
"""Yields requests, receives responses or httpx errors, and returns a result."""

TIMEOUT_SECONDS = 30.0
"""Time limit of one request."""


class DualClient:
    """A synchronous and an asynchronous client of the same server.

    Args:
        server: Its URL, or a client of the SDK, which is not closed here and is the model for the other kind.

    Raises:
        ConfigError: If it is neither.
    """

    def __init__(self, server: str | SyncLangGraphClient | LangGraphClient) -> None:
        self._async = server if isinstance(server, LangGraphClient) else None
        self._owns_sync = not isinstance(server, SyncLangGraphClient)
        self._sync = server if isinstance(server, SyncLangGraphClient) else _make_sync_client(server)
        # made once, since loading the certificates would block an event loop for too long
        self._tls = httpx.create_ssl_context(verify=self._sync.http.client.base_url.scheme == "https")
        self._closed = False

    @property
    def name(self) -> str:
        """The server's URL without credentials and query."""
        url = self._sync.http.client.base_url
        return str(url.copy_with(userinfo=b"", query=None)).rstrip("/")

    def run(self, flow: RequestFlow[T]) -> T:
        """Run *flow* on the calling thread and return its result.

        Raises:
            OutboxError: If the server cannot be reached, or rejects a request.
        """
        with self._wrap_errors():
            response, error = None, None
            while True:
                try:
                    request = flow.throw(error) if error else flow.send(response)
                except StopIteration as done:
                    return done.value
                response, error = None, None
                try:
                    response = request(self._sync)
                except httpx.HTTPError as raised:
                    error = raised

    async def arun(self, flow: RequestFlow[T]) -> T:
        """Run *flow* without blocking the event loop, see `run`."""
        with self._wrap_errors():
            if self._async:
                return await _arun(flow, self._async)
            # a new client each time, since pooled connections belong to the event loop that opened them
            async with LangGraphClient(self._make_async_client()) as client:
                return await _arun(flow, client)

    def close(self) -> None:
        """Close the client that was created here."""
        self._closed = True
        if self._owns_sync:
            self._sync.close()

    def _make_async_client(self) -> httpx.AsyncClient:
        sync = self._sync.http.client
        return httpx.AsyncClient(
            base_url=sync.base_url,
            headers=sync.headers,
            auth=sync.auth,
            timeout=sync.timeout,
            transport=httpx.AsyncHTTPTransport(verify=self._tls, retries=1),
        )

    @contextmanager
    def _wrap_errors(self) -> Generator[None]:
        if self._closed:
            raise OutboxError("this ServerInvoker is closed")
        try:
            yield
        except APIStatusError as error:
            raise OutboxError(f"{self.name} refused with status {error.status_code}: {_reason(error)}") from error
        except httpx.HTTPError as error:
            raise OutboxError(f"{self.name} cannot be reached: {str(error) or type(error).__name__}") from error
        except json.JSONDecodeError as error:
            raise OutboxError(f"{self.name} did not answer like a LangGraph Server: {error}") from error


async def _arun(flow: RequestFlow[T], client: LangGraphClient) -> T:
    response, error = None, None
    while True:
        try:
            request = flow.throw(error) if error else flow.send(response)
        except StopIteration as done:
            return done.value
        response, error = None, None
        try:
            response = await request(client)
        except httpx.HTTPError as raised:
            error = raised


def _make_sync_client(server: str | LangGraphClient) -> SyncLangGraphClient:
    if isinstance(server, LangGraphClient):
        client = server.http.client
        return SyncLangGraphClient(
            httpx.Client(base_url=client.base_url, headers=client.headers, auth=client.auth, timeout=client.timeout)
        )
    try:
        url = httpx.URL(server)
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigError(f"{server!r} is not the URL of a LangGraph Server: {error}") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"{server!r} is not the URL of a LangGraph Server, such as http://127.0.0.1:2024")
    return get_sync_client(url=server, timeout=TIMEOUT_SECONDS)


def _reason(error: APIStatusError) -> str:
    """Return the server's explanation, truncated to one line."""
    body: Any = error.body
    detail = body.get("detail") if isinstance(body, dict) else body  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return str(detail or error.message)[:300]  # pyright: ignore[reportUnknownArgumentType]
