"""`memgraph mcp` as the separate process that an assistant starts."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_calls import document, resource

from memgraph.cli.app import start


def test_an_assistant_uses_the_memory_over_stdio(tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memgraph", "mcp", "--user", "ada"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "MEMGRAPH_STORAGE_PATH": str(tmp_path / "memories"),
            "MEMGRAPH_OUTBOX": str(tmp_path / "outbox.db"),
            "MEMGRAPH_MODEL_NAME": "offline",
        },
        cwd=tmp_path,
    )

    async def talk() -> tuple[Any, Any]:
        async with Client(server) as client:
            added = document(await client.call_tool("memory_add", {"content": "I live in Lisbon."}))
            return added, await resource(client, "memgraph://memory")

    added, stored = asyncio.run(talk())

    assert [fact["id"] for fact in added["added"]] == [fact["id"] for fact in stored["facts"]]
    assert "Lisbon" in str(stored["facts"])


def test_without_the_extra_the_error_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name == "mcp" or name.startswith(("mcp.", "memgraph.mcp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)

    code = start(["mcp", "--user", "ada", "--storage", str(tmp_path)])

    assert code == 2
    assert "pip install 'langgraph-memgraph[mcp]'" in capsys.readouterr().err


def test_over_stdio_the_user_must_be_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMGRAPH_USER", raising=False)

    code = start(["mcp"])

    assert code == 2
    assert "MEMGRAPH_USER" in capsys.readouterr().err
