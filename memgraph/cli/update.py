"""memgraph update: learn from a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command
from memgraph.cli.io import default_thread, name_of, read_input

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

    from memgraph.context import Context
    from memgraph.models import Scope
    from memgraph.settings import Settings

NO_PROVIDER = (
    "Using the built-in offline model, since no provider is configured "
    "(set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own)."
)
ThreadOption = Annotated[
    str | None,
    typer.Option(
        "--thread", metavar="THREAD", help="Which conversation it is; default: FILE's name without its ending."
    ),
]
ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="Such as openai:gpt-4.1-mini, or offline.")
]
OFF = "Memory is off (enabled: false), so nothing was learned."


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, update)


def update(
    ctx: CommandContext,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The conversation: JSON (a list of {role, content}, or LangChain's dumped messages), JSONL, "
            "or text with User: and Assistant: lines; - is stdin.",
        ),
    ],
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: ThreadOption = None,
    model: ModelOption = None,
    review: Annotated[
        bool, typer.Option("--review", help="Show what would change, and ask about each of it before it is saved.")
    ] = False,
) -> None:
    """Learn from the conversation in FILE."""
    from memgraph.cli.conversation import read_conversation
    from memgraph.cli.format import pluralize
    from memgraph.errors import ConversationError
    from memgraph.models import Scope, validate_id

    scope = Scope(user, agent)
    settings = ctx.settings.model_copy(
        update={**({"model_name": model} if model else {}), **({"review": "always"} if review else {})}
    )
    messages = read_conversation(read_input(file, ConversationError), name_of(file))
    thread = validate_id(default_thread(file) if thread is None else thread, "thread")
    if not settings.enabled:
        say_off(ctx)
        return
    _check_reviewer(ctx, settings)
    say_model(ctx, settings)
    ctx.output.line(
        f"Learning about {scope.user_id} from {name_of(file)} ({pluralize(len(messages), 'message')})", "bold"
    )
    given = {"user_id": scope.user_id, "agent_name": scope.agent_name, "thread_id": thread}
    _learn(ctx, scope, messages, _context(ctx, settings).model_copy(update=given))


def _learn(ctx: CommandContext, scope: Scope, messages: list[AnyMessage], context: Context) -> None:
    from memgraph.cli.run_update import run_update
    from memgraph.cli.update_view import Progress, result_document, show_result
    from memgraph.errors import MemgraphError

    progress = Progress(ctx.output)
    final = run_update(ctx.output, messages, context, progress)
    if final is None:
        return
    if not final.get("outcome"):
        raise MemgraphError("the update ended before it came to anything")
    place = ctx.storage.location(scope)
    show_result(ctx.output, final, place)
    ctx.output.result(result_document(final, context, place, progress.nodes))


def _check_reviewer(ctx: CommandContext, settings: Settings) -> None:
    """Refuse before a model is paid where somebody has to be asked, and nobody is there."""
    from memgraph.cli.review_view import can_ask
    from memgraph.errors import EditError

    if settings.review != "never" and not can_ask(ctx.output):
        raise EditError(
            f"this update asks before it saves (review: {settings.review}), and there is nobody to ask: run it at a "
            "terminal, with the conversation in a file and without --json; what is learned in the background waits "
            "for `memgraph review`"
        )


def _context(ctx: CommandContext, settings: Settings) -> Context:
    from memgraph.config import make_context

    return make_context(settings).model_copy(update={"storage": ctx.storage})


def say_model(ctx: CommandContext, settings: Settings) -> None:
    """Say which model is asked."""
    from memgraph.config import default_model, has_explicit_model

    if not has_explicit_model(settings):
        ctx.output.notice(NO_PROVIDER)
    else:
        ctx.output.line(f"Model: {default_model(settings)}")


def say_off(ctx: CommandContext) -> None:
    """Say that nothing is learned, since memory is switched off."""
    ctx.output.line(OFF)
    ctx.output.result({"outcome": None, "message": OFF})
