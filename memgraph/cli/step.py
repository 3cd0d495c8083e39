"""memgraph step: watch an update node by node, and change what it does before anything is saved."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, Run, UserOption, add_command
from memgraph.cli.inputs import STDIN, name_of, read_input, stem_of
from memgraph.cli.update import NO_PROVIDER, OFF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import AnyMessage

    from memgraph.cli.stepping import Session
    from memgraph.models import Scope
    from memgraph.settings import Settings
    from memgraph.stepper import Stepper

PROMPT = "step> "


def add_to(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, step)


def step(
    run: Run,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The conversation, as for `memgraph update`; stdin is for the commands."),
    ],
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: Annotated[
        str | None,
        typer.Option(metavar="THREAD", help="Which conversation it is; default: FILE's name without its ending."),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="Such as openai:gpt-4.1-mini, or offline.")] = None,
) -> None:
    """Learn from the conversation in FILE node by node.

    Each stage is shown before and after, and can be edited; nothing is saved before the last node runs. Commands are
    read from stdin, typed or piped; h lists them.
    """
    from memgraph.cli.conversation import read_conversation
    from memgraph.cli.stepping import Session
    from memgraph.cli.wording import counted, owner
    from memgraph.errors import ConversationError
    from memgraph.models import Scope, checked_id

    if file == STDIN:
        raise ConversationError("the commands come from stdin, so the conversation cannot: give a file")
    scope = Scope(user, agent)
    settings = run.settings.model_copy(update={"model_name": model} if model else {})
    messages = read_conversation(read_input(file, ConversationError), name_of(file))
    thread = checked_id(stem_of(file) if thread is None else thread, "thread")
    if not settings.enabled:
        run.screen.line(OFF)
        run.screen.result({"outcome": None, "message": OFF})
        return
    _say_model(run, settings)
    run.screen.line(f"Learning about {owner(scope)} from {file} ({counted(len(messages), 'message')})", "bold")
    is_typed = sys.stdin.isatty() and sys.stdout.isatty() and not run.screen.as_json
    session = Session(
        run.screen, _stepper(run, settings, messages, scope, thread), run.storage.where(scope), is_typed=is_typed
    )
    _obey(session, PROMPT if is_typed else "")
    run.screen.result(session.document)


def _stepper(run: Run, settings: Settings, messages: list[AnyMessage], scope: Scope, thread: str) -> Stepper:
    from memgraph.config import context_of
    from memgraph.context import Context
    from memgraph.graph import assemble
    from memgraph.state import Result
    from memgraph.stepper import Stepper

    graph = assemble(context_of(settings).model_copy(update={"storage": run.storage}), Result)
    context = Context(user_id=scope.user_id, agent_name=scope.agent_name, thread_id=thread)
    return Stepper(graph, messages, context)


def _obey(session: Session, prompt: str) -> None:
    session.begin()
    try:
        for line in _lines(prompt):
            session.obey(line)
            if session.is_over:
                break
    finally:  # also after Ctrl-C
        session.end()


def _lines(prompt: str) -> Iterator[str]:
    """What is typed, or piped in, line by line."""
    if prompt:
        with suppress(ImportError):  # arrow keys and earlier lines, where the platform has them
            import readline as _  # noqa: F401
    with suppress(EOFError):
        while True:
            yield input(prompt).strip()


def _say_model(run: Run, settings: Settings) -> None:
    from memgraph.config import default_model, is_model_configured

    if is_model_configured(settings):
        run.screen.line(f"Model: {default_model(settings)}")
    else:
        run.screen.notice(NO_PROVIDER)
