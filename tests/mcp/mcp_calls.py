"""Calls of the MCP server under test by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, TextResourceContents

from memgraph import MemoryClient, Scope
from memgraph.api import Authenticator
from memgraph.mcp import create_mcp_app, create_server

ADMIN = "administrator-token"
TOKENS = {"ada": "token-of-ada-alone", "bob": "token-of-bob-alone"}
URL = "http://testserver/mcp"

T = TypeVar("T")


def ask(memory: MemoryClient, talk: Callable[[Client], Awaitable[T]], user: str = "ada", mode: str = "auto") -> T:
    """Return what *talk* returns, connected in memory as *user*."""

    async def run() -> T:
        async with Client(create_server(memory, lambda _: Scope(user)), mode=mode) as client:  # pyright: ignore[reportArgumentType]
            return await talk(client)

    return asyncio.run(run())


def call(memory: MemoryClient, tool: str, user: str = "ada", **arguments: Any) -> CallToolResult:
    """Call one tool as *user*."""
    return ask(memory, lambda client: client.call_tool(tool, arguments), user)


@asynccontextmanager
async def running(memory: MemoryClient) -> AsyncGenerator[object]:
    """Run the app of *memory* with its lifespan, as an ASGI server does."""
    app = create_mcp_app(memory, Authenticator.from_settings(memory.settings))
    received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    sent: asyncio.Queue[object] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, received.get, sent.put))  # type: ignore[arg-type]
    await received.put({"type": "lifespan.startup"})
    await sent.get()
    try:
        yield app
    finally:
        await received.put({"type": "lifespan.shutdown"})
        await task


@asynccontextmanager
async def connected(app: Any, token: str, url: str = URL, mode: str = "auto") -> AsyncGenerator[Client]:
    """A client that talks HTTP to *app* with a bearer token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,  # pyright: ignore[reportArgumentType]
    ):
        yield client


def text(result: CallToolResult) -> str:
    """The text of an answer."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def document(result: CallToolResult) -> Any:
    """The structured content of an answer, which its text repeats."""
    assert not result.is_error, text(result)
    assert json.loads(text(result)) == result.structured_content
    return result.structured_content


async def resource(client: Client, uri: str) -> Any:
    """The JSON of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return json.loads(content.text)
