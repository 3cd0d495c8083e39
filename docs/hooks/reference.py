"""Fills the reference pages from the code when the site is built, so that none of them can grow old.

A page has a marker such as `{{ settings }}`, on a line by itself, where the generated Markdown goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memgraph.fields import FieldSpec


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of a page; called by MkDocs."""
    for marker, render in GENERATED.items():
        if marker in markdown:
            markdown = markdown.replace(marker, "\n".join(render()))
    return markdown


# -- settings --


def render_settings() -> Iterator[str]:
    """Yield one section for each key: its meaning, its type or range, and its default."""
    from memgraph.settings import Settings

    for spec in Settings.field_specs():
        yield from (
            f"### `{spec.name}`",
            "",
            _escape(spec.help),
            "",
            f"{_describe_type(spec)}. {_describe_default(spec)}.",
            "",
        )
        yield from (f"- `{choice.value}`: {_escape(choice.summary)}" for choice in spec.choices if choice.summary)
        yield ""


def _describe_type(spec: FieldSpec) -> str:
    name = spec.type.capitalize()
    if spec.choices:
        return f"{name}, one of {', '.join(f'`{choice.value}`' for choice in spec.choices)}"
    if spec.minimum is not None and spec.maximum is not None:
        return f"{name} from {spec.minimum:,} to {spec.maximum:,}"
    return name


def _describe_default(spec: FieldSpec) -> str:
    if spec.default in (None, [], {}):
        return "Default: none"
    value = str(spec.default).lower() if isinstance(spec.default, bool) else spec.default
    return f"Default: `{value}`"


# -- the command line --


def render_commands() -> Iterator[str]:
    """Yield one section for each command, under the headings of `memgraph --help`."""
    import typer

    from memgraph.cli.app import COMMANDS, app

    group: Any = typer.main.get_command(app)
    for title in COMMANDS:
        yield from (f"## {title}", "")
        for name, command in group.commands.items():
            if command.rich_help_panel == title and not command.hidden:
                yield from _render_command(f"memgraph {name}", command)


def _render_command(path: str, command: Any) -> Iterator[str]:
    """Yield the section of a command, or of each command of a group."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _render_command(f"{path} {name}", inner)
        return
    context = command.context_class(command, info_name=path)
    arguments = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    records = [parameter.get_help_record(context) for parameter in command.params]
    yield from (f"### `{' '.join([path, *arguments])}`", "", *_render_help(command.help or ""))
    yield from ("| option | meaning |", "|---|---|")
    yield from (f"| `{_escape_cell(name)}` | {_escape_cell(_escape(text))} |" for name, text in filter(None, records))
    yield ""


def _render_help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; examples, which a backspace starts, become a block."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines = [line.strip() for line in paragraph.splitlines()[2:]]
            yield from ("```console", *(f"$ {line}" for line in lines), "```", "")
        else:
            yield from (_escape(paragraph), "")


# -- HTTP --


def render_routes() -> Iterator[str]:
    """Yield one section for each route of the OpenAPI document, under its tag."""
    from memgraph import Settings, create_app

    document = create_app(Settings()).openapi()
    routes = [
        (method.upper(), path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    tags = dict.fromkeys(tag for _, _, operation in routes for tag in operation.get("tags", ["other"]))
    for tag in tags:
        yield from (f"## {tag.capitalize()}", "")
        for method, path, operation in routes:
            if tag in operation.get("tags", ["other"]):
                yield from _render_route(method, path, operation)


def _render_route(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"### `{method} {path}`", "", _escape(operation.get("description") or operation["summary"]), "")
    parameters = operation.get("parameters", [])
    if parameters:
        yield from ("| parameter | in | meaning |", "|---|---|---|")
        for parameter in parameters:
            required = "Required. " if parameter.get("required") else ""
            meaning = _escape_cell(_escape(parameter.get("description", "")))
            yield f"| `{parameter['name']}` | {parameter['in']} | {required}{meaning} |"
        yield ""


def _escape(text: str) -> str:
    """Escape what Markdown would take for a tag."""
    return text.replace("<", "&lt;")


def _escape_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


GENERATED: Mapping[str, Callable[[], Iterator[str]]] = {
    "{{ settings }}": render_settings,
    "{{ commands }}": render_commands,
    "{{ routes }}": render_routes,
}
