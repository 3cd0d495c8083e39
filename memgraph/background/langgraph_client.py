"""The line to LangGraph Server: what is to be asked is written once, and asked with or without an event loop."""

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
"""A call of the SDK's client: of the one that answers, or of the one whose answer is awaited."""

RequestFlow = Generator[Request, Any, T]
"""Yields questions, is sent the answers, has the server's refusals thrown in, and returns what came of it."""

SECONDS = 30.0
"""How long the server may take for one answer."""


class DualClient:
    """Both clients of one server.

    Args:
        server: Its URL, or a client of the SDK. A client that is given stays open; of it, the other kind is made.

    Raises:
        ConfigError: If it is neither.
    """

    def __init__(self, server: str | SyncLangGraphClient | LangGraphClient) -> None:
        self._asynchronous = server if isinstance(server, LangGraphClient) else None
        self._is_own = not isinstance(server, SyncLangGraphClient)
        self._sync = server if isinstance(server, SyncLangGraphClient) else _sync_client(server)
        # made once, since reading the certificates takes longer than an event loop may be held up
        self._tls = httpx.create_ssl_context(verify=self._sync.http.client.base_url.scheme == "https")
        self._closed = False

    @property
    def name(self) -> str:
        """The server's URL, without what may be a secret."""
        url = self._sync.http.client.base_url
        return str(url.copy_with(userinfo=b"", query=None)).rstrip("/")

    def run(self, steps: RequestFlow[T]) -> T:
        """Ask all that *steps* ask, in this thread.

        Raises:
            OutboxError: If the server cannot be reached, or refuses.
        """
        with self._explained():
            answer, refusal = None, None
            while True:
                try:
                    question = steps.throw(refusal) if refusal else steps.send(answer)
                except StopIteration as done:
                    return done.value
                answer, refusal = None, None
                try:
                    answer = question(self._sync)
                except httpx.HTTPError as error:
                    refusal = error

    async def ask_async(self, steps: RequestFlow[T]) -> T:
        """As `ask`, without blocking the event loop."""
        with self._explained():
            if self._asynchronous:
                return await _ask_async(steps, self._asynchronous)
            # one a submission, since connections that are kept belong to the event loop they were made in
            async with LangGraphClient(self._async_client()) as client:
                return await _ask_async(steps, client)

    def close(self) -> None:
        """Close what was opened here."""
        self._closed = True
        if self._is_own:
            self._sync.close()

    def _async_client(self) -> httpx.AsyncClient:
        like = self._sync.http.client
        return httpx.AsyncClient(
            base_url=like.base_url,
            headers=like.headers,
            auth=like.auth,
            timeout=like.timeout,
            transport=httpx.AsyncHTTPTransport(verify=self._tls, retries=1),
        )

    @contextmanager
    def _explained(self) -> Generator[None]:
        if self._closed:
            raise OutboxError("this ServerInvoker is closed")
        try:
            yield
        except APIStatusError as error:
            raise OutboxError(f"{self.name} refused with status {error.status_code}: {_reason(error)}") from error
        except httpx.HTTPError as error:
            raise OutboxError(f"{self.name} cannot be reached: {str(error) or type(error).__name__}") from error
        except json.JSONDecodeError as error:
            raise OutboxError(f"what {self.name} answers is no LangGraph Server's: {error}") from error


async def _ask_async(steps: RequestFlow[T], client: LangGraphClient) -> T:
    answer, refusal = None, None
    while True:
        try:
            question = steps.throw(refusal) if refusal else steps.send(answer)
        except StopIteration as done:
            return done.value
        answer, refusal = None, None
        try:
            answer = await question(client)
        except httpx.HTTPError as error:
            refusal = error


def _sync_client(server: str | LangGraphClient) -> SyncLangGraphClient:
    if isinstance(server, LangGraphClient):
        like = server.http.client
        return SyncLangGraphClient(
            httpx.Client(base_url=like.base_url, headers=like.headers, auth=like.auth, timeout=like.timeout)
        )
    try:
        url = httpx.URL(server)
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigError(f"{server!r} is no URL of a LangGraph Server: {error}") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"{server!r} is no URL of a LangGraph Server; one is http://127.0.0.1:2024")
    return get_sync_client(url=server, timeout=SECONDS)


def _reason(error: APIStatusError) -> str:
    """What the server says, as far as a line holds it."""
    body: Any = error.body
    said = body.get("detail") if isinstance(body, dict) else body  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return str(said or error.message)[:300]  # pyright: ignore[reportUnknownArgumentType]
