"""The API in this process, with a token for each of two users and one for the administrator."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

sys.path.append(str(Path(__file__).parent))

from api_tokens import ADA, ADMIN, BOB, ApiCall  # importable since the line above

from memgraph import MemoryStorage, Scope, Settings, open_storage
from memgraph.api import create_app
from memgraph.editing import add_fact, update_memory

LIMIT = 20_000
"""Maximum bytes of a request body."""


@pytest.fixture
def storage() -> MemoryStorage:
    """The storage of the app."""
    return open_storage("memory:")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with which nothing is learned during a test unless it flushes."""
    return Settings(
        model_name="offline",
        outbox="memory:",
        debounce_seconds=3_600,
        max_wait_seconds=3_600,
        api_token=ADMIN,  # pyright: ignore[reportArgumentType] - pydantic wraps it
        api_tokens={"ada": ADA, "bob": BOB},  # pyright: ignore[reportArgumentType]
        api_backups=str(tmp_path / "backups"),
        api_max_body_bytes=LIMIT,
    )


@pytest.fixture
def client(settings: Settings, storage: MemoryStorage) -> Iterator[TestClient]:
    """A client without a token."""
    with TestClient(create_app(settings, storage=storage), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def call(client: TestClient) -> ApiCall:
    """Sends a request below /memory, by default with the administrator's token."""

    def call(
        method: str,
        path: str,
        *,
        token: str = ADMIN,
        if_match: str | None = None,
        if_none_match: str | None = None,
        json: Any = None,
        content: bytes | None = None,
        **query: str | int,
    ) -> httpx.Response:
        optional = {"Authorization": f"Bearer {token}", "If-Match": if_match, "If-None-Match": if_none_match}
        content_type = {"Content-Type": "application/json"} if content is not None else {}
        headers = {name: value for name, value in optional.items() if value is not None} | content_type
        body = {"json": json} if json is not None else {"content": content}
        url = httpx.URL(f"/memory/{path}").copy_merge_params(query)
        return client.request(method, str(url), headers=headers, **body)

    return call


@pytest.fixture
def tea(storage: MemoryStorage) -> str:
    """The id of the fact that Ada likes tea."""
    return update_memory(storage, Scope("ada"), lambda memory: add_fact(memory, "Likes tea.")).facts[0].id
