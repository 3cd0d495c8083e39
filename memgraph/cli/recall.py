"""memgraph recall: what an agent would be told."""

from __future__ import annotations

from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, recall)


def recall(
    ctx: CommandContext,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What the agent is asked.")],
    *,
    user: UserOption,
    agent: AgentOption = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", min=1, help="Tokens the answer may take; default: max_injection_tokens."),
    ] = None,
) -> None:
    """Print what an agent would be told."""
    from memgraph.models import Memory, Scope
    from memgraph.retrieval.recall import make_recall_pipeline
    from memgraph.text.tokens import count_tokens

    scope = Scope(user, agent)
    is_on = ctx.settings.enabled and ctx.settings.injection_enabled
    recaller = make_recall_pipeline(ctx.settings, max_tokens=budget)
    text = recaller(ctx.storage.load(scope) if is_on else Memory(), [question])
    for line in text.splitlines():
        ctx.output.line(line)
    if not is_on:
        ctx.output.notice("An agent would be told nothing: enabled or injection_enabled is false.")
    elif not text:
        ctx.output.notice(f"Nothing is remembered of {scope} that fits {recaller.max_tokens:,} tokens.")
    ctx.output.result({"question": question, "text": text, "tokens": count_tokens(text), "budget": recaller.max_tokens})
