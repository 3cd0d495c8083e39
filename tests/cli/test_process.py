"""The command as a process: what only a real one shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What every process is started with."""
    root = str(Path(__file__).parents[2])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "OPENAI_"))}
    return kept | {"PYTHONPATH": root, "MEMGRAPH_STORAGE_PATH": str(tmp_path / "memories")}


@pytest.mark.parametrize("module", ["langchain_core", "langgraph", "tiktoken", "sklearn", "openai"])
@pytest.mark.parametrize("arguments", [["--help"], ["show", "-u", "ada"]])
def test_what_is_heavy_is_not_imported(environment: dict[str, str], arguments: list[str], module: str) -> None:
    """A command that only looks should not wait for a graph to be imported."""
    code = "import sys; from memgraph.cli.app import start; start(sys.argv[2:]); sys.exit(sys.argv[1] in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code, module, *arguments], env=environment, capture_output=True, check=False
    )

    assert done.returncode == 0


def test_a_reader_that_went_away_is_no_fuss(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [*MAIN, "config"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""

    assert process.returncode == 1


def test_an_interrupt_is_quiet(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [*MAIN, "update", "-", "-u", "ada"], env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (130, "")


def test_a_terminal_that_lacks_characters_gets_their_numbers(environment: dict[str, str]) -> None:
    ascii_only = environment | {"PYTHONIOENCODING": "ascii"}

    done = subprocess.run(
        [*MAIN, "fact", "add", "喜欢茶", "-u", "ada"], env=ascii_only, capture_output=True, text=True, check=True
    )

    assert "\\u559c" in done.stdout


def test_colours_are_for_terminals(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*MAIN, "update", "-", "-u", "ada"],
        env=environment,
        input=b"User: I live in Paris.",
        capture_output=True,
        check=True,
    )

    assert b"\x1b" not in done.stdout + done.stderr
