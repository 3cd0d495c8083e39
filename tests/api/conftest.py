"""The API in this process: two users, each with a token, and one token for everybody."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

sys.path.append(str(Path(__file__).parent))

from api_tokens import ADA, ALL, BOB, Ask  # the folder is on the path by now

from memgraph import MemoryStorage, Scope, Settings, open_storage
from memgraph.api import create_app
from memgraph.editing import add_fact, update_memory

LIMIT = 20_000
"""Bytes of a request."""


@pytest.fixture
def storage() -> MemoryStorage:
    """Where the memories are."""
    return open_storage("memory:")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Nothing is learned within a test unless it asks for it."""
    return Settings(
        model_name="offline",
        outbox="memory:",
        debounce_seconds=3_600,
        max_wait_seconds=3_600,
        api_token=ALL,  # pyright: ignore[reportArgumentType] - pydantic wraps it
        api_tokens={"ada": ADA, "bob": BOB},  # pyright: ignore[reportArgumentType]
        api_backups=str(tmp_path / "backups"),
        api_max_body_bytes=LIMIT,
    )


@pytest.fixture
def client(settings: Settings, storage: MemoryStorage) -> Iterator[TestClient]:
    """A client that shows no token."""
    with TestClient(create_app(settings, storage=storage), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def ask(client: TestClient) -> Ask:
    """Ask below /memory, for everybody unless a token is given: `ask("GET", "facts", user_id="ada")`."""

    def ask(
        method: str,
        path: str,
        *,
        token: str = ALL,
        if_match: str | None = None,
        if_none_match: str | None = None,
        json: Any = None,
        content: bytes | None = None,
        **query: str | int,
    ) -> httpx.Response:
        given = {"Authorization": f"Bearer {token}", "If-Match": if_match, "If-None-Match": if_none_match}
        kind = {"Content-Type": "application/json"} if content is not None else {}
        headers = {name: value for name, value in given.items() if value is not None} | kind
        body = {"json": json} if json is not None else {"content": content}
        where = httpx.URL(f"/memory/{path}").copy_merge_params(query)
        return client.request(method, str(where), headers=headers, **body)

    return ask


@pytest.fixture
def tea(storage: MemoryStorage) -> str:
    """Ada likes tea; the id of that."""
    return update_memory(storage, Scope("ada"), lambda memory: add_fact(memory, "Likes tea.")).facts[0].id
