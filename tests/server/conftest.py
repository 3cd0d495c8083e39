"""One real server for all tests of this folder, and a conversation for each test."""

from __future__ import annotations

import importlib.util
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import waiting
from langchain_core.messages import HumanMessage
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from memgraph import MemoryStorage, Scope
from memgraph.background.schedule import Clock
from memgraph.background.server_invoker import ServerInvoker
from memgraph.settings import Settings


def _load(name: str) -> ModuleType:
    """Import a module of this folder, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def new_server(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Make a server that has not been started."""
    pytest.importorskip("langgraph_cli", reason="langgraph-cli[inmem] is not installed")
    pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] is not installed")
    return lambda **options: _load("dev_server").DevServer(tmp_path_factory.mktemp("server"), **options)


@pytest.fixture(scope="session")
def server(new_server: Callable[[], Any]) -> Iterator[Any]:
    """The server, shared by all tests."""
    server = new_server()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def auth_server(new_server: Callable[..., Any]) -> Iterator[Any]:
    """A server with authentication, shared by all tests."""
    server = new_server(auth=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def client(server: Any) -> Iterator[SyncLangGraphClient]:
    """A client of the server."""
    with get_sync_client(url=server.url) as client:
        yield client


@dataclass
class ServerConversation:
    """A user and a conversation for one test; turn N says `item-NAME-N`, which the scripted model learns."""

    server: Any
    name: str = field(default_factory=lambda: f"c{uuid.uuid4().hex[:8]}")

    @property
    def scope(self) -> Scope:
        return Scope(f"user-{self.name}")

    @property
    def storage(self) -> MemoryStorage:
        return self.server.storage

    def invoker(
        self, url: str | None = None, assistant: str = "scripted", clock: Clock | None = None, **settings: Any
    ) -> ServerInvoker:
        chosen = Settings(**{"debounce_seconds": 1, **settings})
        return ServerInvoker(url or self.server.url, assistant, settings=chosen, storage=self.storage, clock=clock)

    def turn(self, number: int) -> HumanMessage:
        return HumanMessage(f"Please note item-{self.name}-{number}", id=f"m{number}")

    def control_model(self, state: str, *, on: bool) -> None:
        """Block the model (`hold`), or make it fail (`down`)."""
        file = self.server.folder / f"{self.name}.{state}"
        file.touch() if on else file.unlink(missing_ok=True)

    @property
    def model_calls(self) -> list[list[int]]:
        """The turns in the prompt of each call."""
        file = self.server.folder / f"{self.name}.calls"
        lines = file.read_text().splitlines() if file.exists() else []
        return [[int(item.rsplit("-", 1)[1]) for item in line.split()] for line in lines]

    def learned(self, scope: Scope | None = None) -> list[int]:
        """The turns in memory, in order."""
        facts = self.storage.load(scope or self.scope).facts
        return sorted(int(fact.content.rstrip(".").rsplit("-", 1)[1]) for fact in facts)


@pytest.fixture
def new_conversation() -> Callable[[Any], ServerConversation]:
    """Make a conversation on another server."""
    return ServerConversation


@pytest.fixture
def conversation(server: Any) -> Iterator[ServerConversation]:
    conversation = ServerConversation(server)
    yield conversation
    conversation.control_model("hold", on=False)
    conversation.control_model("down", on=False)


@pytest.fixture
def wait_until() -> Callable[[Callable[[], object]], None]:
    """Wait until a condition is true."""
    return partial(waiting.wait_until, pause=0.05)
