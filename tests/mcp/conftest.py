"""The MCP server in this process, with the SDK's own client: one user, or the users of two tokens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

sys.path.append(str(Path(__file__).parent))

from mcp_calls import ADMIN, TOKENS  # importable since the line above

from memgraph import MemoryClient, Settings


@pytest.fixture
def settings() -> Settings:
    """Settings that call no model."""
    return Settings(
        model_name="offline",
        outbox="memory:",
        api_token=SecretStr(ADMIN),
        api_tokens={user: SecretStr(token) for user, token in TOKENS.items()},
        api_max_body_bytes=200_000,
    )


@pytest.fixture
def memory(settings: Settings) -> Iterator[MemoryClient]:
    """The client that the server uses."""
    with MemoryClient("memory:", settings=settings) as client:
        yield client
