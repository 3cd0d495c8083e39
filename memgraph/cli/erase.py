"""memgraph forget and erase: delete a memory, or everything that is kept of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from memgraph.cli.command import CommandContext, load_existing
from memgraph.cli.format import format_scope, pluralize, shown_line
from memgraph.cli.output import FAILURE

if TYPE_CHECKING:
    from memgraph.erasure import ErasedPlace


def forget(
    ctx: CommandContext, *, user: str, agent: str | None = None, yes: bool = False, outbox: str | None = None
) -> object:
    """Delete a memory permanently, with its backups.

    Its pending conversations are discarded by the processes that submitted them.

    Without --agent, deletes the memory that all agents of USER share.

        memgraph forget --user ada
        memgraph forget --user ada --agent coder --yes
    """
    operations = ctx.operations(user, agent, outbox=outbox)
    scope, facts = operations.scope, pluralize(len(operations.facts()), "fact")
    question = f"Delete the memory of {shown_line(format_scope(scope))} ({facts}) in {shown_line(ctx.storage.name)}?"
    hint = "forget asks for confirmation at a terminal; add --yes to delete without asking"
    if not yes and not ctx.confirm(question, hint):
        ctx.output.line("Nothing was deleted.")
        return None
    backups = len(operations.backups())
    try:
        load_existing(ctx.storage, scope)
    finally:  # of a user who is not known, too: a conversation of theirs may wait
        deleted = operations.forget()
    copies = f", and {pluralize(backups, 'backup')}" if backups else ""
    ctx.output.line(f"Deleted the memory of {format_scope(scope)} in {ctx.storage.location(scope)}{copies}.")
    if deleted.agents:
        ctx.output.line(f"Memories of these agents remain: {', '.join(deleted.agents)}. Delete each with --agent.")
    revision, agents = deleted.memory.revision, list(deleted.agents)
    return {"forgotten": True, "revision": revision, "backups": backups, "agents_left": agents}


def erase(ctx: CommandContext, *, user: str, yes: bool = False, outbox: str | None = None) -> None:
    """Erase everything that is kept of a user, in all places, and print a receipt.

    That is every memory of USER, also those of agents, with episodes, history and vectors; pending, failed and
    reviewed conversations; backups; and items of attachable memories. Then the stored bytes are searched for the
    erased texts. The receipt names what is out of reach. It cannot be undone.

        memgraph erase --user ada
        memgraph erase --user ada --yes --json > receipt.json
    """
    line = ctx.output.line
    question = f"Erase everything that is kept of user {shown_line(user)}? It cannot be undone."
    hint = "erase asks for confirmation at a terminal; add --yes to erase without asking"
    if not yes and not ctx.confirm(question, hint):
        line("Nothing was erased.")
        return
    receipt = ctx.operations(user, outbox=outbox).erase()
    line(f"Erased user {shown_line(receipt.user_id)}: {pluralize(receipt.removed, 'entry')}.", "bold")
    for place in receipt.places:
        line(_format_place(place), "red" if place.error or place.remaining else "", indent=2)
    line(f"The bytes were searched for {pluralize(receipt.searched_texts, 'erased text')}.")
    line(f"Kept: {receipt.kept}.", "dim")
    line("Out of reach:", "dim")
    for each in receipt.out_of_reach:
        line(each, "dim", indent=2)
    ctx.output.result(receipt)
    if not receipt.is_complete:
        ctx.output.notice("Not everything was erased. The places above have the reason; then run the command again.")
        raise typer.Exit(FAILURE)


def _format_place(place: ErasedPlace) -> str:
    """Format a place on one line: `sqlite:/data/memory.db: facts 12, episodes 40; erased texts left: 0`."""
    removed = ", ".join(f"{kind} {count:,}" for kind, count in place.removed.items()) or "nothing"
    left = "not searched" if place.remaining is None else f"erased texts left: {place.remaining:,}"
    others = f", {place.of_others:,} of them in entries of others" if place.of_others else ""
    error = f"; {shown_line(place.error)}" if place.error else ""
    return f"{shown_line(place.name)}: {removed}; {left}{others}{error}"
