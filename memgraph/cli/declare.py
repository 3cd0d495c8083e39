"""Commands as typer reads them: functions with help texts in their docstrings, and views of operations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from inspect import Parameter
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from memgraph._validation import hints_of, least_of
from memgraph.cli.command import CommandContext
from memgraph.cli.output import handle_errors
from memgraph.operations import OPERATIONS

OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "user": ("--user", "-u"),
        **dict.fromkeys(("yes", "partial"), ("--yes", "-y")),
        "as_json": ("--json",),
        "thread_id": ("--thread",),
        "source_error": ("--avoid",),
        "max_tokens": ("--budget",),
        "system": ("--from",),
        "everything": ("--all",),
        "file_format": ("--format",),
        "target": ("--output", "-o"),
    }
)
"""Options with another name than their parameters."""
METAVARS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("fact_id", "thread_id", "of", "change"), "ID"),
        **dict.fromkeys(("config", "health", "target"), "FILE"),
        **dict.fromkeys(("storage", "outbox"), "URL"),
        **dict.fromkeys(("since", "as_of"), "DATE"),
        "source_error": "TEXT",
        "messages": "QUESTION",
        "max_tokens": "TOKENS",
        "to": "FOLDER",
        "parts": "[PART]...",
    }
)
"""What the help shows as the value, if it is not the name of the parameter."""
TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "user": "User whose memory is used.",
        "agent": "Use the memory of this agent; default: the shared one.",
        "model": "Chat model, such as openai:gpt-4.1-mini; or offline.",
        "outbox": "Outbox of pending conversations: a file, sqlite:FILE.",
        "yes": "Do not ask for confirmation.",
    }
)
"""Help texts of what several commands have; the docstring of a command may have another one."""


Command = Callable[..., object]
"""A function whose first parameter is the context; typer sees the others. It returns the document for --json."""


class CommandGroup(NamedTuple):
    """Commands with a common first word."""

    help: str
    commands: tuple[Command, ...]


def make_command(function: Command | CommandGroup) -> Any:  # noqa: ANN401 - typer does not export the class
    """Return the typer command that calls *function*, or that has the commands of a group."""
    is_group = isinstance(function, CommandGroup)
    app = typer.Typer(help=function.help if is_group else None, add_completion=False, rich_markup_mode=None)
    for command in function.commands if is_group else (function,):
        _add_command(app, command)
    return typer.main.get_command(app)


def _add_command(app: typer.Typer, function: Command) -> None:
    """Register *function* as a command of *app*, adding the common options.

    Its docstring has the help text, and in the section Args those of its parameters.
    """

    def call(
        *,
        storage: str | None = None,
        config: str | None = None,
        as_json: bool = False,
        debug: bool = False,
        **arguments: Any,  # noqa: ANN401
    ) -> None:
        """Run the command.

        Args:
            storage: Memory storage: a folder, file:DIR, sqlite:FILE.
            config: Settings file; default: $MEMGRAPH_CONFIG, else memgraph.yaml.
            as_json: Print one JSON document.
            debug: Show the traceback of an error.
        """
        ctx = CommandContext(config=config, storage=storage, as_json=as_json)
        with handle_errors(ctx.output, debug=debug), ctx:
            document = function(ctx, **arguments)
            if document is not None:
                ctx.output.result(document)

    parameters: dict[str, Parameter] = {}
    for described in (function, call):  # without the context, and without **arguments
        _, texts = _read_docstring(described)
        for parameter in inspect.signature(described, eval_str=True).parameters.values():
            if parameter.name not in {"ctx", "arguments"}:
                parameters[parameter.name] = _declare(parameter, texts.get(parameter.name))
    call.__signature__ = inspect.Signature([*parameters.values()])  # pyright: ignore[reportFunctionMemberAccess]
    call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    app.command(function.__name__.rstrip("_"), help=_format_help(_read_docstring(function)[0]))(call)


def _read_docstring(function: Command) -> tuple[str, dict[str, str]]:
    """Return the docstring of a function, and the texts of its section Args."""
    text, _, arguments = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
    parts = re.split(r"^ {4}(\w+): ", arguments, flags=re.MULTILINE)[1:]
    return text, {name: " ".join(part.split()) for name, part in zip(parts[::2], parts[1::2], strict=True)}


def _declare(parameter: Parameter, text: str | None) -> Parameter:
    """Return a parameter as typer reads it: an option if it is keyword-only, else an argument."""
    name, annotation = parameter.name, parameter.annotation
    kind, *declared = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    is_option = parameter.kind is Parameter.KEYWORD_ONLY
    described: Any = declared[0] if declared else typer.Option() if is_option else typer.Argument()
    described.help = described.help or text or TEXTS.get(name)
    is_plain = {*(get_args(kind) or (kind,))} <= {str, int, float, Path, NoneType}
    described.metavar = METAVARS.get(name, name.upper() if is_plain else None)
    if is_option:
        described.param_decls = OPTIONS.get(name, (f"--{name.replace('_', '-')}",))
    return parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=Annotated[kind, described])


def _format_help(text: str) -> str:
    """Return a docstring as help text, with examples that are not wrapped.

    Examples are the paragraphs of command lines. Their indentation is not a sign of them: Python removes it if
    nothing else follows the first line.
    """
    return "\n\n".join(
        "\n".join(("\b", "Examples:", *(f"  {line.strip()}" for line in paragraph.splitlines())))
        if all(map(_EXAMPLE.match, paragraph.splitlines()))
        else paragraph
        for paragraph in text.split("\n\n")
    )


_EXAMPLE = re.compile(r"\s*(?:echo .* \| )?memgraph \S")


# -- operations ---------------------------------------------------------------------------------------


def from_operation(name: str) -> Callable[[Any], Command]:
    """Return a decorator that makes a command of a view, with the arguments of an operation.

    The view shows the result, and returns the JSON document. It takes the context, the session and the result, then
    options of its own, which replace arguments of the same name. A keyword-only parameter without a default receives
    the argument of its name.

    Args:
        name: The operation. A user without a memory is an error, unless it is one that may be the first.
    """
    function, for_new_user = OPERATIONS[name].function, OPERATIONS[name].for_new_user
    known = inspect.signature(function).parameters

    def decorate(view: Any) -> Command:  # noqa: ANN401 - takes what it declares
        own = [*inspect.signature(view, eval_str=True).parameters.values()][3:]
        passed = {each.name for each in own if each.kind is Parameter.KEYWORD_ONLY and each.default is Parameter.empty}
        declared = {each.name: each for each in own if each.name not in passed}
        fields = OPERATIONS[name].fields(declared)

        def command(ctx: CommandContext, *, user: str, agent: str | None = None, **given: Any) -> object:  # noqa: ANN401
            session = (ctx.operations if for_new_user else ctx.existing)(user, agent)
            result = function(session, **{key: value for key, value in given.items() if key in known})
            return view(ctx, session, result, **{each.name: given[each.name] for each in own})

        *whose, _ = inspect.signature(command, eval_str=True).parameters.values()
        described = [_describe(function, known[key], info) for key, (_, info) in fields.items()]
        parameters = sorted([*whose, *described, *declared.values()], key=lambda each: each.kind)
        command.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
        command.__name__, command.__doc__ = view.__name__, view.__doc__
        return command

    return decorate


def _describe(function: Callable[..., Any], parameter: Parameter, info: FieldInfo) -> Parameter:
    """Return a parameter of *function* with its help text and its minimum."""
    kind = hints_of(function, [parameter.name], include_extras=False)[parameter.name]
    nested = [each for part in get_args(info.annotation) for each in getattr(part, "__metadata__", ())]
    infos = [each for each in (info, *nested) if isinstance(each, FieldInfo)]
    least = least_of(Annotated[info.annotation, info]) if kind in (int, int | None) else None
    text = next((each.description for each in infos if each.description), None)
    make: Any = typer.Option if parameter.kind is Parameter.KEYWORD_ONLY else typer.Argument
    described = make(help=text, min=None if least is None else int(least))
    return parameter.replace(annotation=Annotated[kind, described])
