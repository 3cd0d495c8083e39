"""The command as a process: imports, signals, pipes and encodings."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()"]
Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        *((["--help"], module) for module in ("langgraph", "openai", "pydantic")),
        *(([command, "--help"], "langgraph") for command in ("update", "chat", "step", "serve", "worker", "erase")),
        *((["show", "-u=ada"], module) for module in ("langchain_core", "langgraph", "tiktoken", "sklearn", "openai")),
    ],
)
def test_heavy_packages_are_not_imported(run_process: Run, arguments: list[str], module: str) -> None:
    """A command that only reads does not wait for LangGraph to be imported."""
    code = "import sys; from memgraph.cli.app import start; start(sys.argv[2:]); sys.exit(sys.argv[1] in sys.modules)"

    assert run_process(module, *arguments, code=code).code == 0


def test_an_update_by_the_offline_model_does_not_import_numpy(run_process: Run) -> None:
    """It takes a tenth of the CPU of an update."""
    code = "import sys; from memgraph.cli.app import start; start(sys.argv[1:]); sys.exit('numpy' in sys.modules)"

    command = ("update", "-", "--user", "ada", "--model", "offline")
    done = run_process(*command, code=code, stdin=b"User: I live in Lisbon.")

    assert "Lives in Lisbon." in done.out
    assert done.code == 0


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


def test_unencodable_characters_are_escaped(run_process: Run) -> None:
    done = run_process("fact", "add", "喜欢茶", "-u", "ada", PYTHONIOENCODING="ascii")

    assert (done.code, "\\u559c" in done.out) == (0, True)


def test_output_to_a_pipe_has_no_colours(run_process: Run) -> None:
    done = run_process("update", "-", "-u", "ada", stdin=b"User: I live in Paris.")

    assert (done.code, "\x1b" in done.out + done.err) == (0, False)


def _wait_for_reader(pipe: int) -> None:
    """Fill *pipe*, then wait until its reader takes something out: by then the command reads its input."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe, b"x" * 65_536)
    assert select.select([], [pipe], [], 60)[1], "the command did not read its input within 60 seconds"
