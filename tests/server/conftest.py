"""One real server for all tests here, and what a test says and finds there."""

from __future__ import annotations

import importlib.util
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from memgraph import MemoryStorage, Scope
from memgraph.background.server_invoker import ServerInvoker
from memgraph.settings import Settings

WAIT_SECONDS = 60.0


def _load(name: str) -> ModuleType:
    """Test modules are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def new_server(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Make a server that is not started."""
    pytest.importorskip("langgraph_cli", reason="langgraph-cli[inmem] is not installed")
    pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] is not installed")
    return lambda **options: _load("dev_server").DevServer(tmp_path_factory.mktemp("server"), **options)


@pytest.fixture(scope="session")
def server(new_server: Callable[[], Any]) -> Iterator[Any]:
    """The server, started once."""
    server = new_server()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def guarded(new_server: Callable[..., Any]) -> Iterator[Any]:
    """A server that knows who is calling, started once."""
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
class Talk:
    """A test's own words: what it says is `item-NAME-N`, which only the scripted model understands."""

    server: Any
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    @property
    def scope(self) -> Scope:
        return Scope(f"user-{self.name}")

    @property
    def storage(self) -> MemoryStorage:
        return self.server.storage

    def invoker(self, url: str | None = None, assistant: str = "scripted", **settings: Any) -> ServerInvoker:
        quiet = Settings(**{"debounce_seconds": 1, **settings})
        return ServerInvoker(url or self.server.url, assistant, settings=quiet, storage=self.storage)

    def turn(self, number: int) -> HumanMessage:
        return HumanMessage(f"Please note item-{self.name}-{number}", id=f"m{number}")

    def flag(self, what: str, *, on: bool) -> None:
        """Hold the model up (`hold`), or break it (`down`)."""
        file = self.server.folder / f"{self.name}.{what}"
        file.touch() if on else file.unlink(missing_ok=True)

    @property
    def asked(self) -> list[list[int]]:
        """Which turns the model was shown, a list a call."""
        file = self.server.folder / f"{self.name}.asked"
        lines = file.read_text().splitlines() if file.exists() else []
        return [[int(item.rsplit("-", 1)[1]) for item in line.split()] for line in lines]

    def learned(self, scope: Scope | None = None) -> list[int]:
        """Which turns are in memory, in order."""
        facts = self.storage.load(scope or self.scope).facts
        return sorted(int(fact.content.rstrip(".").rsplit("-", 1)[1]) for fact in facts)


@pytest.fixture
def new_talk() -> Callable[[Any], Talk]:
    """Talk with a server of one's own."""
    return Talk


@pytest.fixture
def talk(server: Any) -> Iterator[Talk]:
    talk = Talk(server)
    yield talk
    talk.flag("hold", on=False)
    talk.flag("down", on=False)


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait until something is so."""

    def wait(is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.05)

    return wait
