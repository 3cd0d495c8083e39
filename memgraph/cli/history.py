"""memgraph history, diff, undo, why and revert: what changed in a memory, and how to reverse it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memgraph.cli.command import CommandContext
from memgraph.cli.declare import from_operation
from memgraph.cli.format import format_dates, format_fact, pluralize, show_changes, shown_line
from memgraph.cli.output import Output
from memgraph.history.diff import EntryConflict
from memgraph.history.revert import Revert
from memgraph.history.undo import FactHistory, Undo
from memgraph.models import AsSaid, MemoryChanges, PersonDecision, Revision
from memgraph.operations import Operations
from memgraph.operations.results import FactHistoryResponse, RevertResponse, UndoResponse

_MAKE_ROOM = frozenset({"update", "tool", "import"})
"""Authors that remove a pending change only to make room for another one."""


@from_operation("history")
def history(ctx: CommandContext, _: Operations, revisions: Sequence[Revision]) -> object:
    """List the changes of a memory: when, by whom, in which thread, and what changed.

    memgraph history --user ada
    memgraph history --user ada --limit 100 --json
    """
    for entry in revisions:
        ctx.output.line(format_revision(entry))
    if not revisions:
        ctx.output.line("There is no history.")
    return {"revisions": revisions}


@from_operation("diff")
def diff(ctx: CommandContext, _: Operations, changes: MemoryChanges) -> object:
    """Show what differs between two revisions.

    memgraph diff 12 15 --user ada
    """
    show_changes(ctx.output, changes)
    if not changes.has_content:
        ctx.output.line("No differences.")
    return changes


@from_operation("undo")
def undo(ctx: CommandContext, operations: Operations, done: Undo, *, relearn: bool, partial: bool) -> object:
    """Undo one change, also if later ones exist. It is a change itself, so it can be undone too.

    Without REVISION, it is the latest change. The turns of an undone update stay learned, unless --relearn is given.

        memgraph undo --user ada
        memgraph undo 12 --user ada --relearn
    """
    if done.outcome == "conflicts" and not partial:
        show_conflicts(ctx.output, done.conflicts)
        hint = "undo has conflicts and asks for confirmation at a terminal; add --yes to undo the rest"
        ctx.confirm("Undo the rest?", hint, otherwise="Nothing was changed.")
        done = operations.undo(done.revision.revision, relearn=relearn, partial=True)
    show_undo(ctx.output, done)
    return {"undone": done.revision.revision, **UndoResponse.model_validate(done).model_dump()}


@from_operation("why")
def why(ctx: CommandContext, _: Operations, found: FactHistory) -> object:
    """Show why a fact is known: the user's words, what it superseded, and every change of it.

    memgraph why fact_1a2b3c4d --user ada
    """
    show_fact_history(ctx.output, found, ctx.settings.timezone)
    return FactHistoryResponse.model_validate(found)


@from_operation("revert")
def revert(ctx: CommandContext, _: Operations, done: Revert) -> object:
    """Take back all that rests only on one conversation, or on the time since a date. Give one of the two.

    A fact with other evidence stays, with less of it; so does what a person wrote, and what was said word for word. It
    is one change, so `memgraph undo` brings everything back.

        memgraph revert --user ada --thread t1
        memgraph revert --user ada --since 2026-05-03
    """
    if done.changes.has_content:
        show_changes(ctx.output, done.changes)
        ctx.output.line(f"Reverted: {describe(done.changes)}. The memory is at revision {done.memory.revision}.")
    else:
        ctx.output.line("Nothing rests on that alone. Nothing was changed.")
    if done.conflicts:
        show_conflicts(ctx.output, done.conflicts, "This may still rest on it, and stays as it is:")
    return RevertResponse.model_validate(done)


# -- formatting -----------------------------------------------------------------------------------


def format_revision(entry: Revision) -> str:
    """Format a revision on one line: `12  2026-05-03T09:00:00Z  update in thread t1: 2 facts added`."""
    thread = f" in thread {shown_line(entry.thread)}" if entry.thread else ""
    undone = f" of {entry.undoes}" if entry.undoes else ""
    decided = f" (a person: {describe_decisions(entry.decisions)})" if entry.decisions else ""
    left = sum(item.after is None for item in entry.changes.quarantine) if entry.by in _MAKE_ROOM else 0
    dropped = f" ({left} dropped from the full list of pending changes)" if left else ""
    author = f"{shown_line(entry.by)}{undone}{thread}"
    return f"{entry.revision}  {shown_line(entry.at)}  {author}: {describe(entry.changes)}{decided}{dropped}"


def describe_decisions(decisions: Sequence[PersonDecision]) -> str:
    """Format what a person decided: `accept 2, reject 1: "Likes tea."`."""
    verdicts = Counter(decision.verdict for decision in decisions)
    counts = ", ".join(f"{shown_line(verdict)} {count}" for verdict, count in verdicts.items())
    rejected = [shown_line(f'"{each.text}"') for each in decisions if each.verdict == "reject" and each.text]
    return f"{counts}: {', '.join(rejected)}" if rejected else counts


def describe(changes: MemoryChanges) -> str:
    """Format the numbers of changes: `2 facts added, 1 removed`."""
    counts = list[str]()
    lists = (("fact", changes.facts), ("past fact", changes.past), ("as-said claim", changes.as_said))
    for noun, entries in lists:
        kinds = ["added" if not each.before else "changed" if each.after else "removed" for each in entries]
        counts += [f"{pluralize(kinds.count(kind), noun)} {kind}" for kind in sorted({*kinds})]
    others = (
        *(("summary", changes.sections), ("pending change", changes.quarantine)),
        *(("store item", changes.store_items), ("other key", changes.keys)),
    )
    counts += [f"{pluralize(len(items), noun)} changed" for noun, items in others if items]
    return ", ".join(counts) or "nothing but what was learned from"


def show_conflicts(
    output: Output, conflicts: Sequence[EntryConflict], title: str = "This cannot be undone and would stay as it is:"
) -> None:
    """Show what stays as it is, and why."""
    output.line(title, "bold")
    for conflict in conflicts:
        output.line(f"{conflict.kind} {shown_line(conflict.key)}: {shown_line(conflict.reason)}", indent=2)


def show_undo(output: Output, done: Undo) -> None:
    """Show what an undo did."""
    number = done.revision.revision
    if done.outcome == "nothing":
        output.line(f"Revision {number} has nothing left to undo.")
    elif done.outcome == "conflicts":
        output.line(f"Nothing of revision {number} can be undone any more.")
    else:
        rest = "" if done.outcome == "undone" else ", except for the conflicts"
        output.line(f"Undid revision {number} ({describe(done.revision.changes)}){rest}.")
        output.line(f"The memory is at revision {done.memory.revision}.", "dim")


def show_fact_history(output: Output, found: FactHistory, timezone: str) -> None:
    """Show a fact, its evidence, what it superseded and its revisions."""
    fact, notes = found.fact, "" if found.state == "current" else f" ({found.state})"
    output.line(f"{fact.id}  {format_fact(fact)}{notes} {format_dates(fact, timezone)}".rstrip(), "bold")
    if fact.is_manual:
        output.line("A person wrote it.", indent=2)
    elif fact.source:
        output.line(f"Learned in thread {shown_line(fact.source)}.", indent=2)
    for evidence in fact.evidence:
        output.line(f'"{shown_line(evidence.quote)}"', indent=2)
    if fact.confirmations:
        output.line(f"Confirmed {fact.confirmations} times, last {shown_line(fact.last_confirmed_at)}.", indent=2)
    if isinstance(fact, AsSaid):
        output.line(f"Kept as said, no plain fact: {shown_line(fact.reason)}", indent=2)
    for item in found.superseded:
        output.line(
            f"Superseded {item.id}: {shown_line(item.content)} ({shown_line(item.why or item.reason)})", indent=2
        )
    for entry in found.revisions:
        output.line(format_revision(entry), "dim", indent=2)
