"""The help texts: commands by use, an example for each, and completion in the shell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from memgraph.cli.app import COMMANDS, app


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each command, those of groups included."""
    children = getattr(command, "commands", None)
    if children is None:
        yield path
        return
    for name, child in children.items():
        yield from leaves(child, (*path, name))


PATHS = list(leaves(typer.main.get_command(app)))


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_has_an_example_of_its_command(memgraph: Any, path: tuple[str, ...]) -> None:
    """One that can be copied, on a line of its own."""
    result = memgraph(*path, "--help")

    assert result.code == 0
    assert "\n  Examples:\n    " in result.out
    assert f"    memgraph {' '.join(path)}" in result.out


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_the_options_of_every_example_exist(memgraph: Any, path: tuple[str, ...]) -> None:
    """Examples are the first thing that is copied."""
    out = memgraph(*path, "--help").out
    examples, _, rest = out.partition("Examples:")[2].partition("\n\n")

    options = [word for line in examples.splitlines() for word in line.split() if word.startswith("--")]

    assert [option for option in options if option not in rest] == []


def test_the_help_lists_every_command_once_under_a_heading(memgraph: Any) -> None:
    out = memgraph("--help").out

    headings = [line.rstrip(":") for line in out.splitlines() if line.rstrip(":") in COMMANDS]
    listed = [line.split()[0] for line in out.partition(f"{headings[0]}:")[2].splitlines() if line.startswith("  ")]
    assert headings == list(COMMANDS)
    assert sorted(listed) == sorted({path[0] for path in PATHS})


def test_the_summary_of_every_command_begins_its_help(memgraph: Any) -> None:
    """The list is printed without an import of the commands."""
    summaries = [(name, text) for commands in COMMANDS.values() for name, (_, text) in commands.items()]

    assert [name for name, text in summaries if text[:-1] not in " ".join(memgraph(name, "--help").out.split())] == []


def test_the_shell_completes_commands_and_options(run_process: Any) -> None:
    """After `memgraph --install-completion`, in bash."""

    def complete(words: str) -> list[str]:
        """Complete the last of *words*."""
        code = "import sys; sys.argv = ['memgraph']; from memgraph.cli import main; main()"
        last = str(words.count(" "))
        return run_process(code=code, _MEMGRAPH_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=last).out.split()

    assert complete("memgraph sh") == ["show"]
    assert complete("memgraph worker --he") == ["--health", "--help"]
