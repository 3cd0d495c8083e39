"""Fixtures for CLI tests: isolated settings and memories in a temporary folder."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
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


@pytest.fixture(autouse=True)
def isolated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove settings of the environment that runs the tests."""
    for name in [name for name in os.environ if name.startswith(("MEMGRAPH_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", str(tmp_path / "memories"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memgraph(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Memgraph:
    """Run a command in this process."""

    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = start(arguments)
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Path of ada's memory."""
    return tmp_path / "memories/users/ada/memory.json"
