"""The real server: `langgraph dev` in a folder of its own, on a free port of the loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from memgraph import MemoryStorage, open_storage

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
START_SECONDS = 120.0
STOP_SECONDS = 20.0
TOKEN = "a-token-for-tests"  # noqa: S105 - of a server on the loopback, in a folder of its own
SETTINGS = {
    "storage_path": "memories",
    "model_name": "offline",
    "outbox": "outbox.db",
    "api_token": TOKEN,
    "api_backups": "backups",
}


class DevServer:
    """`langgraph dev` with what langgraph.json names, and with the update on a scripted model, reviewed and not.

    Args:
        folder: Where it keeps all it has: memories, its own state, its log.
        auth: Whether it knows who is calling, by `auth_handler.py`.
    """

    def __init__(self, folder: Path, *, auth: bool = False) -> None:
        self.folder = folder
        self.port = _free_port()
        self.token = TOKEN
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "langgraph.json").write_text(json.dumps(_deployment(auth=auth)))
        (folder / "memgraph.yaml").write_text(f"memory: {json.dumps(SETTINGS)}\n")

    @property
    def storage(self) -> MemoryStorage:
        """Where it keeps the memories."""
        return open_storage(f"file:{self.folder / 'memories'}")

    @property
    def log(self) -> str:
        """What it said so far."""
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        """Start it and wait until it is ready."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", *self._options()],
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError(f"langgraph dev did not start:\n{self.log[-4_000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it as a service manager would, and kill what is left of it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its children too: it leads a session of its own
        process.wait()

    def _options(self) -> tuple[str, ...]:
        return ("--host", "127.0.0.1", "--port", str(self.port), "--n-jobs-per-worker", "8")

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ok", timeout=5).is_success
        except httpx.HTTPError:
            return False


def _deployment(*, auth: bool) -> dict[str, Any]:
    """What our own langgraph.json says, and the graphs that only tests need."""
    ours = json.loads((ROOT / "langgraph.json").read_text())
    http = {"app": str(ROOT / ours["http"]["app"])}
    graphs = {name: {**graph, "path": str(ROOT / graph["path"])} for name, graph in ours["graphs"].items()}
    for name, graph in (("scripted", "graph"), ("reviewed", "reviewed")):
        graphs[name] = {"path": f"{HERE / 'scripted_graph.py'}:{graph}"}
    deployment = {"dependencies": ["."], "graphs": graphs, "http": http}
    if auth:
        deployment["auth"] = {"path": f"{HERE / 'auth_handler.py'}:auth", "disable_studio_auth": True}
        http["enable_custom_route_auth"] = True
    return deployment


def _environment() -> dict[str, str]:
    """That of the tests, less what configures memgraph or finds a model; nothing is sent anywhere."""
    foreign = ("MEMGRAPH_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "OPENAI_", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {
        **kept,
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "PYTHONPATH": str(ROOT),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
