"""Streamable HTTP: the token decides whose memory it is, in every request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp_calls import ADMIN, TOKENS, URL, connected, document, resource, running
from starlette.testclient import TestClient

from memgraph import MemoryClient
from memgraph.api import Authenticator
from memgraph.mcp import create_mcp_app

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_history", "arguments": {}}}
ACCEPT = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_each_token_reaches_its_own_users_memory_only(memory: MemoryClient, mode: str) -> None:
    async def talk() -> tuple[Any, Any, Any]:
        async with running(memory) as app:
            async with connected(app, TOKENS["ada"], mode=mode) as ada:
                document(await ada.call_tool("memory_add", {"content": "I live in Lisbon."}))
                own = document(await ada.call_tool("memory_search", {"query": "Lisbon"}))
            async with connected(app, TOKENS["bob"], mode=mode) as bob:
                others = document(await bob.call_tool("memory_search", {"query": "Lisbon"}))
                stored = await resource(bob, "memgraph://memory")
        return own, others, stored

    own, others, stored = asyncio.run(talk())

    assert own["results"]
    assert others["results"] == []
    assert stored["facts"] == []


def test_an_administrator_names_the_user_in_the_url(memory: MemoryClient) -> None:
    memory.remember("Likes tea.", user_id="ada")

    async def talk() -> Any:
        async with running(memory) as app, connected(app, ADMIN, f"{URL}?user_id=ada") as client:
            return await resource(client, "memgraph://memory")

    assert [fact["content"] for fact in asyncio.run(talk())["facts"]] == ["Likes tea."]


@pytest.mark.parametrize(
    ("token", "query", "status", "detail"),
    [
        (None, "", 401, "Authorization: Bearer TOKEN"),
        ("token-of-nobody", "", 401, "Authorization: Bearer TOKEN"),
        (TOKENS["ada"], "?user_id=bob", 403, "memory of 'ada' only"),
        (ADMIN, "", 422, "?user_id="),
        (ADMIN, "?user_id=" + "x" * 300, 422, "256"),
    ],
)
def test_a_request_without_a_memory_of_its_own_is_refused(
    memory: MemoryClient, token: str | None, query: str, status: int, detail: str
) -> None:
    app = create_mcp_app(memory, Authenticator.from_settings(memory.settings))
    headers = ACCEPT | ({"Authorization": f"Bearer {token}"} if token else {})

    with TestClient(app) as client:
        answer = client.post(f"/mcp{query}", json=CALL, headers=headers)

    assert answer.status_code == status
    assert detail in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/page/", "/docs"])
def test_only_the_server_itself_is_public_of_nothing(memory: MemoryClient, path: str) -> None:
    """Paths that are public in the HTTP API do not lead past the token here."""
    with TestClient(create_mcp_app(memory, Authenticator.from_settings(memory.settings))) as client:
        assert client.post(path, json=CALL, headers=ACCEPT).status_code in (401, 404)


def test_a_web_page_of_another_host_is_refused(memory: MemoryClient) -> None:
    app = create_mcp_app(memory, Authenticator(is_open=True), hosts=["localhost"])

    with TestClient(app, base_url="http://localhost") as client:
        assert client.post("/mcp", json=CALL, headers={"Origin": "http://evil.example"}).status_code == 421


def test_a_body_beyond_the_limit_is_refused(memory: MemoryClient) -> None:
    app = create_mcp_app(memory, Authenticator.from_settings(memory.settings))
    headers = ACCEPT | {"Authorization": f"Bearer {TOKENS['ada']}"}

    with TestClient(app) as client:
        answer = client.post("/mcp", content=b"[" * 300_000, headers=headers)

    assert answer.status_code == 413
