"""The part of memgraph review that lists and decides changes in quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_fact, format_scope, pluralize
from memgraph.cli.output import one_line
from memgraph.cli.prompts import prompt_line

if TYPE_CHECKING:
    from memgraph.models import MemoryDocument, Quarantined, Scope

_PROMPT = "accept, reject, quit? [a/r/q] "
_CHOICES = {"a": "accept", "accept": "accept", "r": "reject", "reject": "reject", "q": "quit", "quit": "quit"}


def held_changes(ctx: CommandContext, user: str | None, agent: str | None) -> list[tuple[Scope, Quarantined]]:
    """Return the changes in quarantine with their memories, of all users or of one, with an agent or without."""
    from memgraph.errors import StorageError

    held: list[tuple[Scope, Quarantined]] = []
    for scope in _scopes(ctx, user, agent):
        try:
            held += [(scope, item) for item in ctx.storage.load(scope).quarantine]
        except StorageError as error:  # the changes of others can be decided
            ctx.output.notice(f"The quarantine of {format_scope(scope)} cannot be read: {one_line(str(error))}")
    return held


def _scopes(ctx: CommandContext, user: str | None, agent: str | None) -> Iterator[Scope]:
    for scope in ctx.storage.scopes():
        if user in (None, scope.user_id) and (not agent or agent.lower() == scope.agent_name):
            yield scope


def decide_held(
    ctx: CommandContext, held: Sequence[tuple[Scope, Quarantined]], verdict: str | None
) -> list[tuple[Scope, Quarantined]]:
    """Apply *verdict* to all changes, or ask about each; return the undecided ones."""
    for index, (scope, item) in enumerate(held):
        show_held(ctx, scope, item)
        answer = verdict or _ask(ctx)
        if answer == "quit":
            return list(held[index:])
        _apply(ctx, scope, item, answer)
    return []


def show_held(ctx: CommandContext, scope: Scope, item: Quarantined) -> None:
    """Show a change in quarantine: what it would add, remove and rewrite."""
    line = ctx.output.line
    line()
    line(f"{item.id} in quarantine for {format_scope(scope)}: {one_line(item.reason)}", "bold")
    for fact in item.facts:
        line(f"+ {format_fact(fact)}", "green", indent=2)
    memory = ctx.storage.load(scope)
    for fact_id in (*item.removes, *(old for fact in item.facts for old in fact.replaces)):
        line(f"- {one_line(_content_of(memory, fact_id))}", "red", indent=2)
    for name, summary in item.summaries.items():
        line(f"~ {one_line(name)}: {one_line(summary)}", "cyan", indent=2)


def _content_of(memory: MemoryDocument, fact_id: str) -> str:
    fact = memory.fact(fact_id)
    return fact.content if fact else fact_id


def _ask(ctx: CommandContext) -> str:
    """Ask until the answer is valid; the end of input quits."""
    while True:
        line = prompt_line(_PROMPT)
        choice = "quit" if line is None else _CHOICES.get(line.strip().lower())
        if choice:
            return choice
        ctx.output.line("a: accept, r: reject, q: quit without deciding", "dim")


def _apply(ctx: CommandContext, scope: Scope, item: Quarantined, verdict: str) -> None:
    from memgraph.editing import accept_quarantined, reject_quarantined, update_memory
    from memgraph.errors import EditError
    from memgraph.models import ChangeOrigin, PersonDecision

    origin = ChangeOrigin(decisions=(PersonDecision(item=item.id, verdict=verdict),))
    decide = accept_quarantined if verdict == "accept" else reject_quarantined
    try:
        update_memory(
            ctx.storage, scope, lambda memory: decide(memory, item.id), origin=origin, policy=ctx.settings.policy
        )
    except EditError:
        ctx.output.notice("This change was decided in the meantime; your answer was not applied.")
        return
    added = f": {pluralize(len(item.facts), 'fact')}" if item.facts and verdict == "accept" else ""
    ctx.output.line(f"{verdict.capitalize()}ed{added}.")


def dump_held(scope: Scope, item: Quarantined) -> dict[str, Any]:
    """Return a change in quarantine as JSON."""
    return {
        "user": scope.user_id,
        "agent": scope.agent_name,
        "change": item.model_dump(mode="json", by_alias=True),
    }
