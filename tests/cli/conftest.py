"""Fixtures for CLI tests: isolated settings and memories in a temporary folder."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memgraph.cli.app import start


@dataclass(frozen=True)
class Result:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Memgraph = Callable[..., Result]

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()"]
LIMIT_SECONDS = 60
"""Generous: on a busy machine a process takes many seconds to start."""
CTRL_C = "\x03"


class TypedLines(io.TextIOWrapper):
    """Stdin as a terminal at which lines are typed; a line of CTRL_C interrupts."""

    def __init__(self, *lines: str) -> None:
        super().__init__(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))

    def isatty(self) -> bool:
        return True

    def readline(self, *size: Any) -> str:
        line = super().readline(*size)
        if line.startswith(CTRL_C):
            raise KeyboardInterrupt
        return line


class Terminal:
    """A `memgraph` process at a pseudo-terminal."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self.screen = ""
        self._process = subprocess.Popen(
            [*MAIN, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm", **environment},
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def wait_for(self, text: str, times: int = 1) -> None:
        """Read the output until *text* has appeared *times* times."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.screen.count(text) < times:
            assert time.monotonic() < deadline, self.screen
            if select.select([self._ours], [], [], 0.1)[0]:
                self.screen += os.read(self._ours, 65_536).decode(errors="replace")

    def wait(self) -> int:
        """Wait for the process to end, and return its exit code."""
        return self._process.wait(LIMIT_SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@pytest.fixture(autouse=True)
def isolated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove settings of the environment that runs the tests."""
    for name in [name for name in os.environ if name.startswith(("MEMGRAPH_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", str(tmp_path / "memories"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memgraph(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Memgraph:
    """Run a command in this process, with a pipe as its input, or a terminal at which lines are *typed*."""

    def run(*arguments: str, stdin: bytes = b"", typed: Sequence[str] | None = None) -> Result:
        piped = io.TextIOWrapper(io.BytesIO(stdin))
        monkeypatch.setattr(sys, "stdin", piped if typed is None else TypedLines(*typed))
        code = start(arguments)
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def environment() -> dict[str, str]:
    """Environment of a process of its own."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "MEMGRAPH_EMBEDDING": "none"}


@pytest.fixture
def run_process(environment: dict[str, str]) -> Memgraph:
    """Run a command, or other *code* with its arguments, in a process of its own."""

    def run(*arguments: str, stdin: bytes = b"", code: str = MAIN[-1], **variables: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=environment | variables,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Path of ada's memory."""
    return tmp_path / "memories/users/ada/memory.json"


@pytest.fixture
def open_terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start a command at a pseudo-terminal."""
    opened: list[Terminal] = []

    def start_process(*arguments: str, **environment: str) -> Terminal:
        opened.append(Terminal(tmp_path, *arguments, **environment))
        return opened[-1]

    yield start_process
    for terminal in opened:
        terminal.close()
