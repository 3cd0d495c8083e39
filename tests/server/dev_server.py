"""A real server: `langgraph dev` in a temporary folder, on a free local port."""

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
START_SECONDS = 300.0
STOP_SECONDS = 60.0
TOKEN = "a-token-for-tests"  # noqa: S105 - the token of a temporary local server
SETTINGS = {
    "storage_path": "memories",
    "model_name": "offline",
    "outbox": "outbox.db",
    "api_token": TOKEN,
    "api_backups": "backups",
    "allowed_models": ["gpt", "nobody:gpt"],
    "allowed_prompts": {"terse": "terse.txt", "verbose": "verbose.txt"},
    "allowed_storages": {"unknown": "cloud:x", "unreachable": "sqlite:/proc/none/memory.db"},
}
PROMPTS = {
    name: f'Only pets matter. Answer {{"user": {{}}, "history": {{}}, "newFacts": [], "factsToRemove": []}}. Be {name}.'
    for name in ("terse", "verbose")
}


class DevServer:
    """`langgraph dev` with the graphs of langgraph.json, and the update on a scripted model.

    Args:
        folder: Folder of its memories, its state and its log.
        auth: Whether it authenticates users, by `auth_handler.py`; its memories are then in the server's own store.
    """

    def __init__(self, folder: Path, *, auth: bool = False) -> None:
        self.folder = folder
        self.port = _free_port()
        self.token = TOKEN
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "langgraph.json").write_text(json.dumps(_deployment(auth=auth)))
        for name, prompt in PROMPTS.items():
            (folder / f"{name}.txt").write_text(prompt)
        settings = SETTINGS | ({"storage_path": "langgraph:"} if auth else {})
        (folder / "memgraph.yaml").write_text(f"memory: {json.dumps(settings)}\n")

    @property
    def storage(self) -> MemoryStorage:
        """The storage of its memories, without `auth`."""
        return open_storage(f"file:{self.folder / 'memories'}")

    @property
    def log(self) -> str:
        """Its output so far."""
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
        """Terminate it as a service manager would, and kill processes that remain."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # children included: it has a session of its own
        process.wait()

    def _options(self) -> tuple[str, ...]:
        return ("--host", "127.0.0.1", "--port", str(self.port), "--n-jobs-per-worker", "8")

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ok", timeout=60).is_success
        except httpx.HTTPError:
            return False


def _deployment(*, auth: bool) -> dict[str, Any]:
    """Return the langgraph.json of the repository with the test graphs added."""
    deployed = json.loads((ROOT / "langgraph.json").read_text())
    http = {"app": str(ROOT / deployed["http"]["app"])}
    graphs = {name: {**graph, "path": str(ROOT / graph["path"])} for name, graph in deployed["graphs"].items()}
    graphs["scripted"] = {"path": f"{HERE / 'scripted_graph.py'}:graph"}
    deployment = {"dependencies": ["."], "graphs": graphs, "http": http}
    if auth:
        deployment["auth"] = {"path": f"{HERE / 'auth_handler.py'}:auth", "disable_studio_auth": True}
        http["enable_custom_route_auth"] = True
    return deployment


def _environment() -> dict[str, str]:
    """Return the environment without settings of memgraph and of models, with all telemetry off."""
    excluded = ("MEMGRAPH_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "OPENAI_", "COV_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(excluded)}
    return {
        **inherited,
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
