"""What all commands share: the options, the settings they lead to, and how a failure ends."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph.cli.errors import handle_errors
from memgraph.cli.output import Output

if TYPE_CHECKING:
    from memgraph.config import LoadedSettings
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage

UserOption = Annotated[str, typer.Option("--user", "-u", metavar="USER", help="Whose memory.")]
AgentOption = Annotated[
    str | None, typer.Option("--agent", metavar="AGENT", help="The memory that this agent has of USER.")
]
StorageOption = Annotated[
    str | None, typer.Option("--storage", metavar="URL", help="Where memories are: a folder, file:DIR, sqlite:FILE.")
]
ConfigOption = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Settings; default: $MEMGRAPH_CONFIG, else memgraph.yaml."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, for machines.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


class CommandContext:
    """One run of a command: what its common options lead to, opened when asked for."""

    def __init__(self, *, config: str | None, storage: str | None, as_json: bool) -> None:
        self._config = config
        self._overrides = {"storage_path": storage, "storage_class": None} if storage else {}
        self.output = Output(as_json=as_json)

    @cached_property
    def loaded(self) -> LoadedSettings:
        """The settings in force, and where each was said."""
        from memgraph.config import read_settings

        return read_settings(self._config, **self._overrides)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    @cached_property
    def storage(self) -> MemoryStorage:
        """The storage of the settings."""
        from memgraph.config import make_storage

        return make_storage(self.settings)


def _common(
    *,
    storage: StorageOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Only a table: the options of every command."""


def add_command(app: typer.Typer, function: Callable[..., None], *, name: str | None = None) -> None:
    """Make *function*, whose first parameter is a Run, a command of *app* that also takes the common options."""

    @functools.wraps(function)
    def call(
        *,
        storage: str | None,
        config: str | None,
        as_json: bool,
        debug: bool,
        **given: Any,  # noqa: ANN401
    ) -> None:
        ctx = CommandContext(config=config, storage=storage, as_json=as_json)
        with handle_errors(ctx.output, debug=debug):
            function(ctx, **given)

    # typer reads the signature; what a name in an annotation stands for is found out here
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    common = list(inspect.signature(_common, eval_str=True).parameters.values())
    call.__signature__ = inspect.Signature([*own, *common])  # pyright: ignore[reportAttributeAccessIssue]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *common)}
    app.command(name)(call)
