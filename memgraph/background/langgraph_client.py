"""ServerClient: requests to LangGraph Server by the SDK, synchronous or asynchronous."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient, get_sync_client
from langgraph_sdk.errors import APIStatusError, NotFoundError

from memgraph.errors import ConfigError, OutboxClosedError, OutboxError

Send = Callable[..., Any]
"""See `ServerClient.send`."""

TIMEOUT_SECONDS = 30.0
"""Time limit of one request."""


class NotOnServerError(OutboxError):
    """The server has no such thread, run or assistant."""


class ServerClient:
    """A client of a server. Thread-safe.

    Args:
        server: Its URL, or a client of the SDK, which is not closed here.

    Raises:
        ConfigError: If it is neither.
    """

    def __init__(self, server: str | SyncLangGraphClient | LangGraphClient) -> None:
        self._async = server if isinstance(server, LangGraphClient) else None
        self._owns_sync = not isinstance(server, SyncLangGraphClient)
        self._sync = server if isinstance(server, SyncLangGraphClient) else _make_sync_client(server)
        self._closed = False

    @property
    def name(self) -> str:
        """The server's URL without credentials and query."""
        url = self._sync.http.client.base_url
        return str(url.copy_with(userinfo=b"", query=None)).rstrip("/")

    def send(self, method: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - each has a response of its own
        """Send a request by a *method* of the SDK's client, such as `runs.list`, and return the response.

        Raises:
            OutboxError: If the server cannot be reached, or rejects the request.
        """
        with self._wrap_errors():
            return attrgetter(method)(self._sync)(*arguments, **options)

    def sender(self, loop: asyncio.AbstractEventLoop) -> Send:
        """Return `send` for another thread than that of *loop*, on which an asynchronous client has to run."""
        client = self._async
        if client is None:
            return self.send

        def send(method: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - as above
            with self._wrap_errors():
                response = attrgetter(method)(client)(*arguments, **options)
                return asyncio.run_coroutine_threadsafe(response, loop).result()

        return send

    def close(self) -> None:
        """Close the client that was created here."""
        self._closed = True
        if self._owns_sync:
            self._sync.close()

    @contextmanager
    def _wrap_errors(self) -> Generator[None]:
        if self._closed:
            raise OutboxClosedError("this ServerInvoker is closed")
        try:
            yield
        except APIStatusError as error:
            kind = NotOnServerError if isinstance(error, NotFoundError) else OutboxError
            raise kind(f"{self.name} refused with status {error.status_code}: {_reason(error)}") from error
        except httpx.HTTPError as error:
            raise OutboxError(f"{self.name} cannot be reached: {str(error) or type(error).__name__}") from error
        except json.JSONDecodeError as error:
            raise OutboxError(f"{self.name} did not answer like a LangGraph Server: {error}") from error


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
