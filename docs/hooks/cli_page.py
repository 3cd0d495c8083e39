"""Describes every command on its page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import typer
from markdown_table import escape, table

from memgraph.cli.app import COMMANDS, app


def render_commands() -> Iterator[str]:
    """Yield the options of all commands, then a section for each command, under the headings of `memgraph --help`."""
    group: Any = typer.main.get_command(app)
    commands = {
        path: command for name, each in group.commands.items() for path, command in _leaves(f"memgraph {name}", each)
    }
    common = set.intersection(*({parameter.name for parameter in each.params} for each in commands.values()))
    first = next(iter(commands.values()))
    yield from ("Every command has these options:", "")
    yield from _option_table(first, [parameter for parameter in first.params if parameter.name in common])
    for title, names in COMMANDS.items():
        yield from (f"## {title}", "")
        for path, command in commands.items():
            if path.split()[1] in names:
                yield from _render_command(path, command, common)


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield a command, or each command of a group, with its path."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, inner in command.commands.items():
        yield from _leaves(f"{path} {name}", inner)


def _render_command(path: str, command: Any, common: Collection[str]) -> Iterator[str]:
    arguments = [_argument(parameter) for parameter in command.params if parameter.param_type_name == "argument"]
    yield from (f"### `{' '.join([path, *arguments])}`", "", *_render_help(command.help or ""))
    yield from _option_table(command, [parameter for parameter in command.params if parameter.name not in common])


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).strip("[]{}").upper()
    return name if parameter.required else f"[{name}]"


def _option_table(command: Any, parameters: Iterable[Any]) -> Iterator[str]:
    context = command.context_class(command)
    records = [(parameter, parameter.get_help_record(context)) for parameter in parameters if not parameter.hidden]
    rows = [
        (_argument(parameter) if parameter.param_type_name == "argument" else record[0], record[1])
        for parameter, record in records
        if record
    ]
    if rows:
        yield from table("option | meaning", ((f"`{name}`", escape(text)) for name, text in rows))


def _render_help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; examples, which a backspace starts, become a block."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines = [line.strip() for line in paragraph.splitlines()[2:]]
            yield from ("```console", *(f"$ {line}" for line in lines), "```", "")
        else:
            yield from (escape(paragraph), "")
