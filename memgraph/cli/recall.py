"""memgraph recall: what an agent would be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, Run, UserOption, add_command

if TYPE_CHECKING:
    from memgraph.models import Memory, SectionName

FIRST: Sequence[SectionName] = ("top_of_mind", "work_context")
"""The summaries that get room before the others."""


def add_to(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, recall)


def recall(
    run: Run,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What the agent is asked.")],
    *,
    user: UserOption,
    agent: AgentOption = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", min=1, help="Tokens the answer may take; default: max_injection_tokens."),
    ] = None,
) -> None:
    """Print what an agent would be told.

    For now the surest facts come first, whatever the question is.
    """
    from memgraph.models import Scope
    from memgraph.text.tokens import count_tokens

    scope = Scope(user, agent)
    limit = budget or run.settings.max_injection_tokens
    is_on = run.settings.enabled and run.settings.injection_enabled
    text = by_confidence(run.storage.load(scope), limit) if is_on else ""
    for line in text.splitlines():
        run.screen.line(line)
    if not is_on:
        run.screen.notice("An agent would be told nothing: enabled or injection_enabled is false.")
    elif not text:
        run.screen.notice(f"Nothing is remembered of {scope} that fits {limit:,} tokens.")
    run.screen.result({"question": question, "text": text, "tokens": count_tokens(text), "budget": limit})


def by_confidence(memory: Memory, max_tokens: int) -> str:
    """The summaries, in at most half of *max_tokens*, then facts, the surest first; a long one blocks no other."""
    from memgraph.cli.wording import fact_line
    from memgraph.text.tokens import count_tokens

    text = _fitting("", _summaries(memory), max_tokens // 2)
    surest = sorted(memory.facts, key=lambda fact: fact.confidence, reverse=True)
    for fact in surest:
        longer = _joined(text, f"- {fact_line(fact)}", heading="Facts:")
        if count_tokens(longer) <= max_tokens:
            text = longer
    return text


def _fitting(text: str, parts: Iterator[tuple[str, str]], max_tokens: int) -> str:
    from memgraph.text.sentences import cut_at_sentence
    from memgraph.text.tokens import count_tokens

    for title, summary in parts:
        room = max_tokens - count_tokens(_joined(text, f"{title}: "))
        short = cut_at_sentence(summary, room, count_tokens) if room > 0 else ""
        longer = _joined(text, f"{title}: {short}")
        if short and count_tokens(longer) <= max_tokens:
            text = longer
    return text


def _summaries(memory: Memory) -> Iterator[tuple[str, str]]:
    from memgraph.cli.safe import one_line
    from memgraph.cli.wording import TITLES

    rest: list[SectionName] = [name for name, _ in memory.sections() if name not in FIRST]
    order: list[SectionName] = [*FIRST, *rest]
    for name in order:
        summary = one_line(memory.section(name).summary)
        if summary:
            yield TITLES[name], summary


def _joined(text: str, line: str, *, heading: str = "") -> str:
    parts = [text] if text else []
    if heading and heading not in text.split("\n"):
        parts.append(heading)
    return "\n".join([*parts, line])
