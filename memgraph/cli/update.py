"""memgraph update: learn from a conversation."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption
from memgraph.cli.format import format_scope, pluralize
from memgraph.cli.io import default_thread, display_name, read_input
from memgraph.cli.review import decide_new
from memgraph.cli.update_view import Progress, dump_result, show_result
from memgraph.config import choose_model, make_context
from memgraph.config.providers import HOW_TO_CHOOSE
from memgraph.errors import ConversationError, MemgraphError
from memgraph.importers.conversation import read_conversation
from memgraph.models import Scope, validate_id
from memgraph.settings import Settings

if TYPE_CHECKING:
    from memgraph.context import Context
    from memgraph.langgraph_adapter import MemoryGraph

DISABLED = "Memory is off (enabled: false): nothing was learned."

ThreadOption = Annotated[
    str | None,
    typer.Option("--thread", metavar="THREAD", help="Name of the conversation; default: FILE's name without suffix."),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="Chat model, such as openai:gpt-4.1-mini; or offline."),
]


def update(
    ctx: CommandContext,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Conversation as JSON (a list of {role, content}, or messages dumped by LangChain), JSONL, or text "
            "with User: and Assistant: lines; - is stdin.",
        ),
    ],
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: ThreadOption = None,
    model: ModelOption = None,
    review: Annotated[bool, typer.Option("--review", help="Every change waits for a decision.")] = False,
) -> None:
    """Learn from the conversation in FILE.

    memgraph update talk.json --user ada
    memgraph update talk.json --user ada --model gpt-4.1-mini --review
    echo "User: I live in Lisbon." | memgraph update - --user ada
    """
    from memgraph.graph import build_graph

    scope = Scope(user, agent)
    settings = ctx.settings.model_copy(
        update={**({"model_name": model} if model else {}), **({"review": "always"} if review else {})}
    )
    messages = read_conversation(read_input(file, ConversationError), display_name(file))
    thread = validate_id(default_thread(file) if thread is None else thread, "thread")
    stop_if_disabled(ctx)
    settings = resolve_model(ctx, settings)
    source = f"{display_name(file)} ({pluralize(len(messages), 'message')})"
    ctx.output.line(f"Learning about {format_scope(scope)} from {source}", "bold")
    identity = {"user_id": scope.user_id, "agent_name": scope.agent_name, "thread_id": thread, "review_by": "pending"}
    context = make_context(settings).model_copy(update={"storage": ctx.storage, **identity})

    progress = Progress(ctx.output)
    known = ctx.storage.load(scope)
    final = run_graph(build_graph(), {"messages": messages}, context, progress)
    if not final.get("outcome"):
        raise MemgraphError("the update ended without an outcome")
    location = ctx.storage.location(scope)
    show_result(ctx.output, final, location)
    decide_new(ctx, scope, known)
    ctx.output.result(dump_result(final, context, location, progress.nodes))


def resolve_model(ctx: CommandContext, settings: Settings) -> Settings:
    """Print which model learns, and return *settings* with its name."""
    choice = choose_model(settings)
    if choice.is_fallback:
        ctx.output.notice(f"Using the built-in offline model: {choice.reason}; {HOW_TO_CHOOSE}.")
    elif settings.model_name:
        ctx.output.line(f"Model: {choice.name}")
    else:
        ctx.output.line(f"Model: {choice.name} ({choice.reason})")
    return settings.model_copy(update={"model_name": choice.name})


def stop_if_disabled(ctx: CommandContext) -> None:
    """If memory is off, report it as a line or a document, and end the command."""
    if not ctx.settings.enabled:
        ctx.output.line(DISABLED)
        ctx.output.result({"outcome": None, "message": DISABLED})
        raise typer.Exit


def run_graph(
    graph: MemoryGraph[Any, Context, Any, Any], graph_input: Mapping[str, object], context: Context, progress: Progress
) -> dict[str, Any]:
    """Run the graph to its end, and return its state."""
    final: dict[str, Any] = {}
    events: Iterator[Any] = graph.stream(graph_input, context=context, stream_mode=["tasks", "values"])
    for mode, event in events:
        if mode == "tasks":
            progress.follow(event)
        else:
            final = event
    return final
