"""Fills the reference pages from the code when the site is built, so that none of them can grow old.

A page has a marker such as `{{ settings }}`, on a line by itself, where the generated Markdown goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from memgraph.fields import FieldSpec, describe_fields


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of a page; called by MkDocs."""
    for marker, render in GENERATED.items():
        if marker in markdown:
            markdown = markdown.replace(marker, "\n".join(render()))
    return markdown


# -- settings --


def render_settings() -> Iterator[str]:
    """Yield one section for each key: its meaning, its type or range, and its default."""
    from memgraph.policy import Policy
    from memgraph.settings import Settings

    specs = Settings.field_specs()
    yield from ("## Limits of an update", "", "A run on LangGraph Server may set these, too, by its context.", "")
    yield from (line for spec in specs if spec.name in Policy.model_fields for line in _render_setting(spec))
    yield from ("## Everything else", "")
    yield from (line for spec in specs if spec.name not in Policy.model_fields for line in _render_setting(spec))


def _render_setting(spec: FieldSpec) -> Iterator[str]:
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
    if spec.choices and spec.type != "object":
        return f"{name}, one of {', '.join(f'`{choice.value}`' for choice in spec.choices)}"
    if spec.minimum is not None and spec.maximum is not None and spec.type != "object":
        return f"{name} from {spec.minimum:,} to {spec.maximum:,}"
    return name


def _describe_default(spec: FieldSpec) -> str:
    if spec.default in (None, [], {}):
        return "Default: none"
    return f"Default: `{spec.default if isinstance(spec.default, str) else json.dumps(spec.default)}`"


# -- the command line --


def render_commands() -> Iterator[str]:
    """Yield the options of all commands, then a section for each command, under the headings of `memgraph --help`."""
    import typer

    from memgraph.cli.app import COMMANDS, app

    group: Any = typer.main.get_command(app)
    commands = {
        path: command for name, each in group.commands.items() for path, command in _leaves(f"memgraph {name}", each)
    }
    common = set.intersection(*({parameter.name for parameter in each.params} for each in commands.values()))
    first = next(iter(commands.values()))
    yield from ("Every command has these options:", "")
    yield from _option_table(first, [parameter for parameter in first.params if parameter.name in common])
    for title in COMMANDS:
        yield from (f"## {title}", "")
        names = {name for name, each in group.commands.items() if each.rich_help_panel == title and not each.hidden}
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
        yield from _table("option | meaning", ((f"`{name}`", _escape(text)) for name, text in rows))


def _render_help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; examples, which a backspace starts, become a block."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines = [line.strip() for line in paragraph.splitlines()[2:]]
            yield from ("```console", *(f"$ {line}" for line in lines), "```", "")
        else:
            yield from (_escape(paragraph), "")


# -- HTTP --

Schema = Mapping[str, Any]


def render_routes() -> Iterator[str]:
    """Yield a section for each route of the OpenAPI document, under its tag, then one for each object."""
    from memgraph import Settings, create_app
    from memgraph.api.openapi import COMMON_PROBLEMS, PREFIX

    document = json.loads(json.dumps(create_app(Settings()).openapi()).replace(f"/schemas/{PREFIX}", "/schemas/"))
    common = {str(status) for status in COMMON_PROBLEMS}
    routes = [
        (method.upper(), path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    for tag in dict.fromkeys(operation["tags"][0] for _, _, operation in routes):
        yield from (f"## {tag.capitalize()}", "")
        for method, path, operation in routes:
            if operation["tags"][0] == tag:
                yield from (f"### `{method} {path}`", "", *_render_operation(operation, common))
    yield from ("## Objects", "")
    models = {model.__name__: model for model in _subclasses(BaseModel)}
    for full_name, schema in sorted(document["components"]["schemas"].items()):
        name = full_name.removeprefix(PREFIX)
        yield from (f"### `{name}` {{#{_anchor(name)}}}", "", _escape(schema.get("description", "")), "")
        yield from _field_table(schema, _field_docstrings(models[name]) if name in models else {})


def _render_operation(operation: Schema, common: Collection[str]) -> Iterator[str]:
    yield from (_escape(operation.get("description") or operation["summary"]), "")
    if parameters := operation.get("parameters", ()):
        rows = (
            (f"`{each['name']}`", each["in"], _describe_schema(each["schema"]), _escape(each.get("description", "")))
            for each in parameters
        )
        yield from _table("parameter | in | type | meaning", rows)
    if body := operation.get("requestBody"):
        kinds = dict.fromkeys(_describe_schema(content["schema"]) for content in body["content"].values())
        yield from (f"**Body:** {' or '.join(kinds)}. {_escape(body.get('description', ''))}".strip(), "")
    responses = operation["responses"].items()
    yield from (
        ", ".join(_describe_response(*each) for each in responses if each[0] not in common).join(
            ["**Returns:** ", "."]
        ),
        "",
    )


def _describe_response(status: str, response: Schema) -> str:
    kinds = [
        _describe_schema(content["schema"]) for content in response.get("content", {}).values() if "schema" in content
    ]
    is_success = status.startswith("2")
    return (
        f"{status} {' or '.join(dict.fromkeys(kinds))}".strip()
        if is_success
        else f"{status} ({response['description'].rstrip('.')})"
    )


def _field_table(schema: Schema, docstrings: Mapping[str, str]) -> Iterator[str]:
    required = schema.get("required", ())
    rows = (
        (f"`{name}`", _describe_schema(field), f"{'Required. ' if name in required else ''}{_escape(meaning)}")
        for name, field in schema.get("properties", {}).items()
        for meaning in [field.get("description") or docstrings.get(name, "")]
    )
    yield from _table("field | type | meaning", rows)


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models of the package; no two have the same name."""
    for each in model.__subclasses__():
        if each.__module__.startswith("memgraph."):
            yield each
        yield from _subclasses(each)


def _field_docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstring below each field, by its name in JSON."""
    fields = model.model_fields
    return {fields[spec.name].serialization_alias or spec.name: spec.help for spec in describe_fields(model)}


def _describe_schema(schema: Schema) -> str:
    """Describe a JSON schema in a few words, with links to the objects in it."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{_anchor(name)})"
    if members := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(filter(None, map(_describe_schema, members))))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {_describe_schema(schema.get('items', {})) or 'any'}"
    low, high = schema.get("minimum"), schema.get("maximum")
    limits = f" from {_number(low)} to {_number(high)}" if low is not None and high is not None else ""
    return "" if kind == "null" else f"{kind}{limits}"


def _number(value: float) -> str:
    return f"{int(value) if value == int(value) else value:,}"


def _anchor(name: str) -> str:
    return f"object-{name.lower()}"


# -- Markdown --


def _table(heading: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table with the columns of *heading*, which are separated by bars."""
    yield from (f"| {heading} |", "|".join(["", *("---" for _ in heading.split("|")), ""]))
    for row in rows:
        yield f"| {' | '.join(' '.join(cell.split()) for cell in row)} |"
    yield ""


def _escape(text: str) -> str:
    """Escape what Markdown would take for a tag or the end of a cell."""
    return text.replace("<", "&lt;").replace("|", "\\|")


GENERATED: Mapping[str, Callable[[], Iterator[str]]] = {
    "{{ settings }}": render_settings,
    "{{ commands }}": render_commands,
    "{{ routes }}": render_routes,
}
