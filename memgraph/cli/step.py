"""memgraph step: run an update node by node, inspect and edit its stages before anything is saved."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from langchain_core.messages import AnyMessage

from memgraph.cli.command import AgentOption, CommandContext, UserOption
from memgraph.cli.format import format_scope, pluralize
from memgraph.cli.io import STDIN
from memgraph.cli.prompts import read_lines
from memgraph.cli.update import ModelOption, ThreadOption, learning_settings, read_messages
from memgraph.config import make_context
from memgraph.errors import ConversationError
from memgraph.models import Scope
from memgraph.settings import Settings

if TYPE_CHECKING:
    from memgraph.cli.step_session import StepSession
    from memgraph.stepper import Stepper

PROMPT = "step> "


def step(
    ctx: CommandContext,
    file: Annotated[str, typer.Argument(help="Conversation, as for `memgraph update`, but not stdin.")],
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: ThreadOption = None,
    model: ModelOption = None,
) -> None:
    """Run an update node by node.

    Shows each stage of learning from FILE before and after, and lets you edit it; nothing is saved before the last
    node runs. Commands are read from stdin, typed or piped; h lists them.

        memgraph step talk.json --user ada
    """
    from memgraph.cli.step_session import StepSession

    if file == STDIN:
        raise ConversationError("stdin is used for commands: pass the conversation as a file")
    scope = Scope(user, agent)
    messages, thread = read_messages(file, thread)
    settings = learning_settings(ctx, model)
    ctx.output.line(f"Learning about {format_scope(scope)} from {file} ({pluralize(len(messages), 'message')})", "bold")
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and not ctx.output.as_json
    session = StepSession(
        ctx.output,
        _make_stepper(ctx, settings, messages, scope, thread),
        ctx.storage.location(scope),
        is_interactive=is_interactive,
    )
    _read_commands(session, PROMPT if is_interactive else "")
    ctx.output.result(session.document)


def _make_stepper(
    ctx: CommandContext, settings: Settings, messages: list[AnyMessage], scope: Scope, thread: str
) -> Stepper:
    from memgraph.context import Context
    from memgraph.graph import build_graph
    from memgraph.stepper import Stepper

    graph = build_graph(defaults=make_context(settings), storage=ctx.storage)
    context = Context(user_id=scope.user_id, agent_name=scope.agent_name, thread_id=thread)
    return Stepper(graph, messages, context)


def _read_commands(session: StepSession, prompt: str) -> None:
    session.begin()
    try:
        for line in read_lines(prompt):
            session.handle(line)
            if session.is_over:
                break
    finally:  # also after Ctrl-C
        session.end()
