"""The command as a process: imports, signals, pipes and encodings."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment of every process."""
    root = str(Path(__file__).parents[2])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "OPENAI_"))}
    settings = {"MEMGRAPH_EMBEDDING": "none", "MEMGRAPH_STORAGE_PATH": str(tmp_path / "memories")}
    return inherited | settings | {"PYTHONPATH": root}


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        *((["--help"], module) for module in ("langgraph", "openai", "pydantic")),
        *(([command, "--help"], "langgraph") for command in ("update", "chat", "step", "serve", "worker", "erase")),
        *((["show", "-u=ada"], module) for module in ("langchain_core", "langgraph", "tiktoken", "sklearn", "openai")),
    ],
)
def test_heavy_packages_are_not_imported(environment: dict[str, str], arguments: list[str], module: str) -> None:
    """A command that only reads does not wait for LangGraph to be imported."""
    code = "import sys; from memgraph.cli.app import start; start(sys.argv[2:]); sys.exit(sys.argv[1] in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code, module, *arguments], env=environment, capture_output=True, check=False
    )

    assert done.returncode == 0


def test_an_update_by_the_offline_model_does_not_import_numpy(environment: dict[str, str]) -> None:
    """It takes a tenth of the CPU of an update."""
    code = "import sys; from memgraph.cli.app import start; start(sys.argv[1:]); sys.exit('numpy' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code, "update", "-", "--user", "ada", "--model", "offline"],
        env=environment,
        input="User: I live in Lisbon.",
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Lives in Lisbon." in done.stdout
    assert done.returncode == 0


def test_a_closed_stdout_is_quiet(environment: dict[str, str]) -> None:
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
        [*MAIN, "update", "-", "-u", "ada"], env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        _wait_for_reader(process.stdin.fileno())

        process.send_signal(signal.SIGINT)

        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


def test_unencodable_characters_are_escaped(environment: dict[str, str]) -> None:
    ascii_only = environment | {"PYTHONIOENCODING": "ascii"}

    done = subprocess.run(
        [*MAIN, "fact", "add", "喜欢茶", "-u", "ada"], env=ascii_only, capture_output=True, text=True, check=True
    )

    assert "\\u559c" in done.stdout


def test_output_to_a_pipe_has_no_colours(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*MAIN, "update", "-", "-u", "ada"],
        env=environment,
        input=b"User: I live in Paris.",
        capture_output=True,
        check=True,
    )

    assert b"\x1b" not in done.stdout + done.stderr


def _wait_for_reader(pipe: int) -> None:
    """Fill *pipe*, then wait until its reader takes something out: by then the command reads its input."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe, b"x" * 65_536)
    assert select.select([], [pipe], [], 60)[1], "the command did not read its input within 60 seconds"
