"""memgraph update, upkeep and rebuild: learn from a conversation, from what is known, and again from what was said."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_scope, pluralize, show_changes
from memgraph.cli.history import describe
from memgraph.cli.input import default_thread, display_name, read_file_or_stdin
from memgraph.cli.review import decide_new
from memgraph.cli.update_view import OUTCOMES, UPKEEP_OUTCOMES, Progress, dump_result, show_result
from memgraph.config import choose_model, make_context
from memgraph.config.providers import HOW_TO_CHOOSE
from memgraph.errors import ConversationError, EditError, MemgraphError
from memgraph.importers.conversation import read_conversation
from memgraph.models import Scope, validate_id
from memgraph.operations.results import RebuildResponse
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

    from memgraph.context import Context
    from memgraph.langgraph_adapter import MemoryGraph

DISABLED = "Memory is off (enabled: false): nothing was learned."


def update(
    ctx: CommandContext,
    file: str,
    *,
    user: str,
    agent: str | None = None,
    thread: str | None = None,
    model: str | None = None,
    review: bool = False,
) -> object:
    """Learn from the conversation in FILE.

    memgraph update talk.json --user ada
    memgraph update talk.json --user ada --model gpt-4.1-mini --review
    echo "User: I live in Lisbon." | memgraph update - --user ada

    Args:
        file: Conversation as JSON (a list of {role, content}, or messages dumped by LangChain), JSONL, or text with
            User: and Assistant: lines; - is stdin.
        thread: Name of the conversation; default: FILE's name without suffix.
        review: Every change waits for a decision.
    """
    from memgraph.update.graph import build_graph

    scope = Scope(user, agent)
    messages, thread = read_conversation_file(file, thread)
    settings = learning_settings(ctx, model, **({"review": "always"} if review else {}))
    source = f"{display_name(file)} ({pluralize(len(messages), 'message')})"
    ctx.output.line(f"Learning about {format_scope(scope)} from {source}", "bold")
    identity = {"user_id": scope.user_id, "agent_name": scope.agent_name, "thread_id": thread, "review_by": "pending"}
    context = make_context(settings, storage=ctx.storage).model_copy(update=identity)
    return _run(ctx, build_graph(), {"messages": messages}, context, scope, outcomes=OUTCOMES)


def upkeep(
    ctx: CommandContext, *, user: str, agent: str | None = None, model: str | None = None, dry_run: bool = False
) -> object:
    """Merge facts that state the same, and end old ones that no longer hold.

    Without such facts, no model is called and nothing is saved. What is ended stays in the past of the memory.

    memgraph upkeep --user ada
    memgraph upkeep --user ada --dry-run

    Args:
        dry_run: Show the changes, and save nothing.
    """
    from memgraph.update.upkeep import build_upkeep_graph, make_upkeep_context

    scope = Scope(user, agent)
    settings = learning_settings(ctx, model)
    ctx.output.line(f"Upkeep of the memory of {format_scope(scope)}", "bold")
    context = make_upkeep_context(scope, ctx.storage, make_context(settings, storage=ctx.storage), dry_run=dry_run)
    document = _run(ctx, build_upkeep_graph(), {}, context, scope, outcomes=UPKEEP_OUTCOMES, dry_run=dry_run)
    return {**document, "dry_run": dry_run}


def _run(
    ctx: CommandContext,
    graph: MemoryGraph[Any, Context, Any, Any],
    graph_input: Mapping[str, object],
    context: Context,
    scope: Scope,
    *,
    outcomes: Mapping[str, str],
    dry_run: bool = False,
) -> Mapping[str, object]:
    """Run a graph to its end, show it, and return the JSON document."""
    progress, known, location = Progress(ctx.output), ctx.storage.load(scope), ctx.storage.location(scope)
    final: dict[str, Any] = {}
    stream: Any = graph.stream(graph_input, context=context, stream_mode=["tasks", "values"])
    for mode, event in stream:
        if mode == "tasks":
            progress.follow(event)
        else:
            final = event
    if not final.get("outcome"):
        raise MemgraphError("the update ended without an outcome")
    if dry_run:
        final = {**final, "saved": None}
    show_result(ctx.output, final, location, outcomes)
    if dry_run:
        ctx.output.line("Dry run: nothing was saved.")
    else:
        decide_new(ctx, scope, known)
    return dump_result(final, context, location, progress.nodes)


def rebuild(
    ctx: CommandContext,
    *,
    user: str,
    agent: str | None = None,
    model: str | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> object:
    """Learn a memory again from its episodes, show the difference, and replace it, as one change.

    What a person wrote, edited or removed stays so, and so does what no episode can teach again. A rebuild that was
    stopped continues after the last session, and one that has ended replaces the memory without asking the model again.

        memgraph rebuild --user ada --model openai:gpt-4.1 --dry-run
        memgraph rebuild --user ada --model openai:gpt-4.1

    Args:
        dry_run: Show the difference, and replace nothing.
    """
    from memgraph.background.rebuild import Rebuilder

    stop_if_disabled(ctx)
    if not (dry_run or yes or ctx.can_ask):
        raise EditError("rebuild asks for confirmation at a terminal; add --dry-run, or --yes")
    scope = ctx.existing(user, agent).scope
    settings = learning_settings(ctx, model)
    ctx.output.line(f"Rebuild of the memory of {format_scope(scope)}", "bold")
    rebuilder = Rebuilder(ctx.storage, scope, settings)
    ctx.output.line(f"Learning takes at least {pluralize(rebuilder.count_calls(), 'call')} of the model.", "dim")
    learned = rebuilder.learn(lambda done, total: ctx.output.line(f"{done:,} of {total:,} episodes learned.", "dim"))
    source, is_changed = pluralize(learned.episodes, "episode"), learned.changes.has_content
    show_changes(ctx.output, learned.changes)
    if is_changed:
        ctx.output.line(f"Learned from {source}: {describe(learned.changes)}.", "bold")
    else:
        ctx.output.line(f"The same was learned from {source}. Nothing to change.")
    is_replaced = not dry_run and is_changed and (yes or typer.confirm("Replace the memory?"))
    if is_replaced:
        learned = rebuilder.replace()
        ctx.output.line(f"Replaced. The memory is at revision {learned.memory.revision}.")
    elif is_changed:
        ctx.output.line("Nothing was replaced. What was learned is kept for the next rebuild.")
    else:
        rebuilder.discard()
    return RebuildResponse.of(learned, is_replaced=is_replaced)


def read_conversation_file(file: str, thread: str | None) -> tuple[list[AnyMessage], str]:
    """Return the conversation in *file*, and its name.

    Raises:
        ConversationError: If it cannot be read.
        IdentityError: If the name is invalid.
    """
    messages = read_conversation(read_file_or_stdin(file, ConversationError), display_name(file))
    return messages, validate_id(default_thread(file) if thread is None else thread, "thread")


def stop_if_disabled(ctx: CommandContext) -> None:
    """If memory is off, report it as a line or a document, and end the command."""
    if not ctx.settings.enabled:
        ctx.output.line(DISABLED)
        ctx.output.result({"outcome": None, "message": DISABLED})
        raise typer.Exit


def learning_settings(ctx: CommandContext, model: str | None = None, **changed: object) -> Settings:
    """Return the settings with the name of the model that learns, after printing it. Ends if memory is off."""
    stop_if_disabled(ctx)
    settings = ctx.settings.model_copy(update=changed | ({"model_name": model} if model else {}))
    choice = choose_model(settings)
    if choice.is_fallback:
        ctx.output.notice(f"Using the built-in offline model: {choice.reason}; {HOW_TO_CHOOSE}.")
    else:
        ctx.output.line(f"Model: {choice.name}{'' if settings.model_name else f' ({choice.reason})'}")
    return settings.model_copy(update={"model_name": choice.name})
