"""Commands that are operations: their arguments, types, defaults and help texts are those of the table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_origin

import typer
from annotated_types import Ge
from pydantic.fields import FieldInfo
from typer.models import OptionInfo

from memgraph.cli.command import AgentOption, Command, CommandContext, UserOption
from memgraph.operations import OPERATIONS
from memgraph.operations.session import hints_of

OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "thread_id": ("--thread",),
        "source_error": ("--avoid",),
        "partial": ("--yes", "-y"),
    }
)
"""Options with another name than their arguments."""
METAVARS: Mapping[str, str] = MappingProxyType(
    {"fact_id": "ID", "thread_id": "ID", "source_error": "TEXT", "since": "DATE", "as_of": "DATE"}
)


def from_operation(name: str, *, existing: bool = False) -> Callable[[Any], Command]:
    """Return a decorator that makes a command of a view, with the arguments of an operation.

    The view shows the result, and returns the JSON document. It takes the context, the session and the result, then
    options of its own. One that has the name of an argument receives its value, and declares it if it is annotated.

    Args:
        name: The operation.
        existing: Whether a user without a memory is an error.
    """
    function = OPERATIONS[name].function
    known = inspect.signature(function).parameters

    def decorate(view: Any) -> Command:  # noqa: ANN401 - takes what it declares
        own = [*inspect.signature(view, eval_str=True).parameters.values()][3:]
        declared = {each.name: each for each in own if get_origin(each.annotation) is Annotated}
        fields = OPERATIONS[name].fields(declared)

        def whose(*, user: UserOption, agent: AgentOption = None) -> None:
            """Declares the options of the session; never called."""

        @functools.wraps(view)
        def command(ctx: CommandContext, *, user: str, agent: str | None, **given: Any) -> object:  # noqa: ANN401
            session = (ctx.existing if existing else ctx.operations)(user, agent)
            result = function(session, **{key: value for key, value in given.items() if key in known})
            return view(ctx, session, result, **{each.name: given[each.name] for each in own})

        parameters = {
            **inspect.signature(whose, eval_str=True).parameters,
            **{key: _parameter(function, key, info) for key, (_, info) in fields.items()},
            **declared,
        }
        parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters.values()]
        parameters.sort(key=lambda each: isinstance(get_args(each.annotation)[1], OptionInfo))
        signature = inspect.Signature([Parameter("ctx", Parameter.POSITIONAL_ONLY), *parameters])
        command.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue]
        return command

    return decorate


def _parameter(function: Callable[..., Any], name: str, info: FieldInfo) -> Parameter:
    """Return an argument of *function* as a parameter that typer reads; what can be passed by position is no option."""
    kind = hints_of(function, [name])[name]
    nested = [each for part in get_args(info.annotation) for each in getattr(part, "__metadata__", ())]
    infos = [each for each in (info, *nested) if isinstance(each, FieldInfo)]
    minima = [rule.ge for each in infos for rule in each.metadata if isinstance(rule, Ge)]
    texts: dict[str, Any] = {
        "help": next((each.description for each in infos if each.description), None),
        "min": next(iter(minima), None) if kind in (int, int | None) else None,
        "metavar": METAVARS.get(name),
    }
    is_option = inspect.signature(function).parameters[name].kind is Parameter.KEYWORD_ONLY
    declared = OPTIONS.get(name, (f"--{name.replace('_', '-')}",))
    described = typer.Option(*declared, **texts) if is_option else typer.Argument(**texts)
    default = Parameter.empty if info.is_required() else info.default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, described])
