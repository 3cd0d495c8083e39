"""memgraph update: learn from a conversation."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command
from memgraph.cli.io import default_thread, display_name, read_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from langchain_core.runnables import RunnableConfig

    from memgraph.cli.output import Output
    from memgraph.cli.review_view import Answer
    from memgraph.cli.update_view import Progress
    from memgraph.context import Context
    from memgraph.langgraph_adapter import MemoryGraph
    from memgraph.settings import Settings

DISABLED = "Memory is off (enabled: false): nothing was learned."
_INTERRUPT = "__interrupt__"

ThreadOption = Annotated[
    str | None,
    typer.Option("--thread", metavar="THREAD", help="Name of the conversation; default: FILE's name without suffix."),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="Chat model, such as openai:gpt-4.1-mini; or offline."),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, update)


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
    review: Annotated[bool, typer.Option("--review", help="Ask about each change before it is saved.")] = False,
) -> None:
    """Learn from the conversation in FILE.

    memgraph update talk.json --user ada
    memgraph update talk.json --user ada --model gpt-4.1-mini --review
    echo "User: I live in Lisbon." | memgraph update - --user ada
    """
    from memgraph.cli.format import format_scope, pluralize
    from memgraph.cli.update_view import Progress, dump_result, show_result
    from memgraph.config import make_context
    from memgraph.errors import ConversationError, MemgraphError
    from memgraph.graph import build_graph
    from memgraph.importers.conversation import read_conversation
    from memgraph.models import Scope, validate_id

    scope = Scope(user, agent)
    settings = ctx.settings.model_copy(
        update={**({"model_name": model} if model else {}), **({"review": "always"} if review else {})}
    )
    messages = read_conversation(read_input(file, ConversationError), display_name(file))
    thread = validate_id(default_thread(file) if thread is None else thread, "thread")
    if not settings.enabled:
        print_disabled(ctx)
        return
    check_can_review(ctx, settings)
    settings = resolve_model(ctx, settings)
    source = f"{display_name(file)} ({pluralize(len(messages), 'message')})"
    ctx.output.line(f"Learning about {format_scope(scope)} from {source}", "bold")
    identity = {"user_id": scope.user_id, "agent_name": scope.agent_name, "thread_id": thread}
    context = make_context(settings).model_copy(update={"storage": ctx.storage, **identity})

    progress = Progress(ctx.output)
    final = run_with_review(ctx.output, build_graph, {"messages": messages}, context, progress)
    if final is None:
        return
    if not final.get("outcome"):
        raise MemgraphError("the update ended without an outcome")
    location = ctx.storage.location(scope)
    show_result(ctx.output, final, location)
    ctx.output.result(dump_result(final, context, location, progress.nodes))


def resolve_model(ctx: CommandContext, settings: Settings) -> Settings:
    """Print which model learns, and return *settings* with its name."""
    from memgraph.config import choose_model
    from memgraph.config.providers import HOW_TO_CHOOSE

    choice = choose_model(settings)
    if choice.is_fallback:
        ctx.output.notice(f"Using the built-in offline model: {choice.reason}; {HOW_TO_CHOOSE}.")
    elif settings.model_name:
        ctx.output.line(f"Model: {choice.name}")
    else:
        ctx.output.line(f"Model: {choice.name} ({choice.reason})")
    return settings.model_copy(update={"model_name": choice.name})


def print_disabled(ctx: CommandContext) -> None:
    """Report that memory is off, as a line or a document."""
    ctx.output.line(DISABLED)
    ctx.output.result({"outcome": None, "message": DISABLED})


def check_can_review(ctx: CommandContext, settings: Settings) -> None:
    """Fail before a model is paid for if changes need a review and there is no terminal to ask at."""
    from memgraph.cli.review_view import can_ask
    from memgraph.errors import EditError

    if settings.review != "never" and not can_ask(ctx.output):
        raise EditError(
            f"this update asks for a review (review: {settings.review}), which needs a terminal: pass the conversation "
            "as a file and omit --json, or submit it in the background and decide with `memgraph review`"
        )


def run_with_review(
    output: Output,
    build: Callable[..., MemoryGraph[Any, Context, Any, Any]],
    graph_input: Mapping[str, object],
    context: Context,
    progress: Progress,
) -> dict[str, Any] | None:
    """Run the graph that *build* makes, with a review at the terminal if configured; None if the user quits it."""
    from langgraph.types import Command

    from memgraph.graph import in_memory_saver

    review = context.review or "never"
    graph = build(review=review, checkpointer=in_memory_saver() if review != "never" else None)
    final = _stream(graph, graph_input, context, progress)
    while _INTERRUPT in final:
        answer = _ask(output, final, progress)
        if answer is None:
            return None
        final = _stream(graph, Command(resume=answer), context, progress)
    return final


def _stream(
    graph: MemoryGraph[Any, Context, Any, Any],
    graph_input: Any,  # noqa: ANN401
    context: Context,
    progress: Progress,
) -> dict[str, Any]:
    """Run the graph until it ends or interrupts, and return its state."""
    config: RunnableConfig = {"configurable": {"thread_id": "update"}}
    final: dict[str, Any] = {}
    events: Iterator[Any] = graph.stream(graph_input, config, context=context, stream_mode=["tasks", "values"])
    for mode, event in events:
        if mode == "tasks":
            progress.follow(event)
        else:
            final = event
    return final


def _ask(output: Output, final: dict[str, Any], progress: Progress) -> Answer | None:
    from memgraph.cli.review_view import ask_user
    from memgraph.review import Proposal

    (question,) = final[_INTERRUPT]
    output.end_line()
    proposal = Proposal.model_validate(question.value)
    answer: Answer | None = None
    try:
        if proposal.problem:
            output.notice(f"Invalid answer: {proposal.problem}")
        answer = ask_user(output, proposal)
        output.line()
    finally:  # also after Ctrl-C
        if answer is None:
            _report_unsaved(output, progress)
    return answer


def _report_unsaved(output: Output, progress: Progress) -> None:
    if any(node["node"] == "save_memory" for node in progress.nodes):
        output.notice("Earlier decisions were saved; run the command again to learn from the rest.")
    else:
        output.notice("Nothing was saved; run the command again to learn from this conversation.")
