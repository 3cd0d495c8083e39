"""memgraph recall: print the memory that a question injects into the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, AsOfOption, CommandContext, UserOption
from memgraph.cli.format import format_scope
from memgraph.retrieval.results import RecallResult, ScoredEpisode, ScoredFact, ScoredPastFact
from memgraph.text.normalize import single_line


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
    as_of: AsOfOption = None,
    why: Annotated[
        bool, typer.Option("--why", help="Also print the score, similarity and matching words of each line.")
    ] = False,
) -> None:
    """Print the memory that is injected for QUESTION.

    memgraph recall "Where does she live?" --user ada
    memgraph recall "Plan dinner." --user ada --budget 500
    memgraph recall "Where does she live?" --user ada --as-of 2026-03
    """
    is_enabled = ctx.settings.enabled and ctx.settings.injection_enabled
    operations = ctx.existing(user, agent) if is_enabled else ctx.operations(user, agent)
    limit = ctx.settings.max_injection_tokens if budget is None else budget
    recalled = operations.recall([question], max_tokens=limit, as_of=as_of)
    for line in recalled.text.splitlines():
        ctx.output.line(line)
    if not is_enabled:
        ctx.output.notice("Recall is off: enabled or injection_enabled is false.")
    elif not recalled.text and operations.get().is_empty and not operations.episodes():
        ctx.output.notice(f"Nothing is known about {format_scope(operations.scope)}.")
    elif recalled.note:
        ctx.output.notice(f"Nothing found in the memory of {operations.scope} within {limit:,} tokens.")
    for line in format_reasons(recalled) if why else ():
        ctx.output.line(line, "dim")
    ctx.output.result({"question": question, **recalled.model_dump(mode="json"), "budget": limit})


def format_reasons(recalled: RecallResult) -> Iterator[str]:
    """Yield a line for each fact and episode that was recalled, the best first: why it was."""
    for entry in recalled.facts:
        yield _format_reason(entry, entry.fact.content)
    for entry in recalled.past:
        yield _format_reason(entry, entry.fact.content)
    for entry in recalled.episodes:
        yield _format_reason(entry, f'"{entry.episode.text}"')


def _format_reason(entry: ScoredFact | ScoredPastFact | ScoredEpisode, text: str) -> str:

    words = ", ".join(entry.matched) or "no matching word"
    return single_line(f"{entry.score:.2f} (similarity {entry.similarity:.2f}; {words}): {text}")
