"""memgraph recall: print the memory that a question injects into the prompt."""

from __future__ import annotations

from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, recall)


def recall(
    ctx: CommandContext,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question to the agent.")],
    *,
    user: UserOption,
    agent: AgentOption = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", min=1, help="Maximum tokens; default: max_injection_tokens."),
    ] = None,
) -> None:
    """Print the memory that is injected for QUESTION.

    memgraph recall "Where does she live?" --user ada
    memgraph recall "Plan dinner." --user ada --budget 500
    """
    from memgraph.models import Memory, Scope
    from memgraph.retrieval.recall import make_recall_pipeline
    from memgraph.text.tokens import count_tokens

    scope = Scope(user, agent)
    is_enabled = ctx.settings.enabled and ctx.settings.injection_enabled
    pipeline = make_recall_pipeline(ctx.settings, max_tokens=budget)
    memory = ctx.storage.load(scope) if is_enabled else Memory()
    text = pipeline(memory, [question])
    for line in text.splitlines():
        ctx.output.line(line)
    if not is_enabled:
        ctx.output.notice("Recall is off: enabled or injection_enabled is false.")
    elif memory.is_empty:
        ctx.output.notice(f"No memory for user {scope}.")
    elif not text:
        ctx.output.notice(f"Nothing in the memory of {scope} fits into {pipeline.max_tokens:,} tokens.")
    ctx.output.result({"question": question, "text": text, "tokens": count_tokens(text), "budget": pipeline.max_tokens})
