"""memgraph show, recall, episodes, users, agents, fact, forget and erase: read memories, correct and delete them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph.analysis.dates import local_date, shown_date
from memgraph.analysis.normalize import single_line
from memgraph.cli.command import CommandContext, UnknownUserError, load_existing
from memgraph.cli.declare import CommandGroup, from_operation
from memgraph.cli.format import format_dates, format_fact, format_scope, pluralize, shown_line, title_of
from memgraph.cli.output import FAILURE
from memgraph.editing.users import MemorySummary
from memgraph.models import AsSaid, Episode, Fact, MemoryDocument, PastFact
from memgraph.operations import Operations
from memgraph.operations.facts import RemovedWithWords
from memgraph.operations.results import MemoryInfo
from memgraph.profile import render_value
from memgraph.retrieval.results import RecallResult, ScoredEpisode

if TYPE_CHECKING:
    from memgraph.erasure import ErasedPlace


@from_operation("get")
def show(
    ctx: CommandContext,
    operations: Operations,
    memory: MemoryDocument,
    *,
    as_of: str | None,
    everything: bool = False,
    past: bool = False,
) -> object:
    """Show the memory of USER.

    memgraph show --user ada
    memgraph show --user ada --json
    memgraph show --user ada --as-of 2026-03
    memgraph show --user ada --past
    memgraph show --user ada --all
    memgraph show --user ada --revision 12

    Args:
        everything: Also list claims kept as said, with the words of the user.
        past: Also list past facts, with when and why they ended.
    """
    line, scope = ctx.output.line, operations.scope
    said, ended = pluralize(len(memory.as_said), "claim"), pluralize(len(memory.past), "past fact")
    if memory.is_empty and not memory.pending and not memory.past:
        line(f"Nothing is known about {format_scope(scope)} in {ctx.storage.location(scope)}.")
    else:
        changed = memory.last_updated or "unknown"
        line(f"Memory of {format_scope(scope)}, revision {memory.revision}, last changed {changed}", "bold")
        line(f"in {ctx.storage.location(scope)}", "dim")
        if as_of is not None:
            line(f"as it held on {as_of}", "dim")
        if memory.pending:
            count = pluralize(len(memory.pending), "change")
            line(f"{count} pending; decide with: memgraph review --user {scope.user_id}", "dim")
        if memory.as_said and not everything:
            line(f"{said} kept as said; list with: --all", "dim")
        if memory.past and not past:
            line(f"{ended}; list with: --past", "dim")
        _show_summaries(ctx, memory)
        if memory.facts:
            _show_facts(ctx, pluralize(len(memory.facts), "fact"), memory.facts)
    if everything and memory.as_said:
        _show_facts(ctx, f"{said} kept as said", memory.as_said)
    if past:
        _show_facts(ctx, ended, memory.past)
    return memory


def _show_summaries(ctx: CommandContext, memory: MemoryDocument) -> None:
    """Show the profile and the summaries."""
    profile = "\n".join(shown_line(f"{field}: {render_value(value)}") for field, value in memory.profile.values.items())
    summaries = [(title_of(name), section.summary) for name, section in memory.sections()]
    for title, text in [("Profile", profile), *summaries]:
        if text:
            ctx.output.line()
            ctx.output.line(title, "cyan")
            ctx.output.line(text, indent=2)


def _show_facts(ctx: CommandContext, title: str, facts: Sequence[Fact]) -> None:
    ctx.output.line()
    ctx.output.line(title, "cyan")
    for fact in facts:
        notes = " ".join(filter(None, _notes(fact, ctx.settings.timezone)))
        ctx.output.line(f"{fact.id}  {format_fact(fact)} {notes}".rstrip(), indent=2)


def _notes(fact: Fact, timezone: str) -> Iterator[str]:
    """Yield when a fact was said and is true, and what else is special about it."""
    if isinstance(fact, AsSaid):
        yield f"(said {shown_date(fact.said_last, timezone)}; {shown_line(fact.reason)})"
        return
    yield format_dates(fact, timezone)
    if isinstance(fact, PastFact):
        followed = f", followed by {shown_line(fact.ended_by)}" if fact.ended_by else ""
        why = f": {shown_line(fact.why)}" if fact.why else ""
        yield f"({shown_line(fact.reason)} {shown_date(fact.ended_at, timezone)}{followed}{why})"
    elif fact.is_manual:
        yield "(manual)"


@from_operation("recall")
def recall(
    ctx: CommandContext,
    operations: Operations,
    recalled: RecallResult,
    messages: str,
    *,
    max_tokens: Annotated[int | None, typer.Option(min=1)] = None,
    why: bool = False,
) -> object:
    """Print the memory that is injected for QUESTION.

    memgraph recall "Where does she live?" --user ada
    memgraph recall "Plan dinner." --user ada --budget 500
    memgraph recall "Where does she live?" --user ada --as-of 2026-03

    Args:
        messages: A question to the agent.
        max_tokens: Maximum tokens; default: max_injection_tokens.
        why: Also print the score, similarity and matching words of each line.
    """
    limit = ctx.settings.max_injection_tokens if max_tokens is None else max_tokens
    is_enabled = ctx.settings.enabled and ctx.settings.injection_enabled
    if is_enabled:
        load_existing(ctx.storage, operations.scope)
    for line in recalled.text.splitlines():
        ctx.output.line(line)
    if not is_enabled:
        ctx.output.notice("Recall is off: enabled or injection_enabled is false.")
    elif not recalled.text and operations.get().is_empty and not operations.episodes():
        ctx.output.notice(f"Nothing is known about {format_scope(operations.scope)}.")
    elif recalled.note:
        ctx.output.notice(f"Nothing found in the memory of {operations.scope} within {pluralize(limit, 'token')}.")
    for entry in (*recalled.facts, *recalled.past, *recalled.episodes) if why else ():
        text = f'"{entry.episode.text}"' if isinstance(entry, ScoredEpisode) else entry.fact.shown
        words = ", ".join(entry.matched) or "no matching word"
        reason = f"{entry.score:.2f} (similarity {entry.similarity:.2f}; {words}): {text}"
        ctx.output.line(single_line(reason), "dim")
    return {"question": messages, **recalled.model_dump(mode="json"), "budget": limit}


@from_operation("episodes")
def episodes(ctx: CommandContext, operations: Operations, selected: Sequence[Episode]) -> object:
    """List what USER said, word for word, by day.

    These are the episodes that the memory keeps; memgraph config shows which and for how long.

        memgraph episodes --user ada
        memgraph episodes --user ada --since 2026-05
    """
    stored, scope = operations.episodes(), operations.scope
    if selected:
        ctx.output.line(pluralize(len(selected), "episode"), "bold")
    else:
        ctx.output.line(f"No episodes of user {scope}{' match' if stored else ''} in {ctx.storage.location(scope)}.")
    for day, said in groupby(selected, lambda episode: local_date(episode.at, ctx.settings.timezone)):
        ctx.output.line(day or "unknown day", "cyan")
        for episode in said:
            author = "assistant: " if episode.author == "assistant" else ""
            ctx.output.line(f"{shown_line(episode.thread_id)}  {author}{shown_line(episode.text)}", indent=2)
    return {"total": len(stored), "episodes": selected}


def users(ctx: CommandContext) -> object:
    """List the users with a memory, the agents that have a separate memory of them, its size and last change.

    memgraph users
    memgraph users --storage sqlite:memory.db --json
    """
    rows: list[dict[str, Any]] = []
    for user, memories in ctx.operations(None).memories().items():
        names = [memory.scope.agent_name for memory in memories if memory.scope.agent_name]
        others = f" (agents: {', '.join(names)})" if names else ""
        ctx.output.line(f"{shown_line(user)}{others}: {_describe_size(memories)}")
        rows.append({"user_id": user, "agents": names, "memories": _size_infos(memories)})
    if not rows:
        ctx.output.line(f"No memories in {ctx.storage.name}.")
    return {"storage": ctx.storage.name, "users": rows}


def agents(ctx: CommandContext, *, user: str) -> object:
    """List the memories of a user: the one that all agents share, and those of agents.

    memgraph agents --user ada
    """
    operations = ctx.operations(user)
    known = operations.users()
    if user not in known:
        raise UnknownUserError(operations.scope, known)
    memories = operations.memories(limit=1, offset=known.index(user))[user]
    for memory in memories:
        ctx.output.line(f"{memory.scope.agent_name or 'shared by all agents'}: {_describe_size([memory])}")
    return {"user_id": user, "memories": _size_infos(memories)}


def _size_infos(memories: Sequence[MemorySummary]) -> list[MemoryInfo]:
    return [*map(MemoryInfo.model_validate, memories)]


def _describe_size(memories: Sequence[MemorySummary]) -> str:
    """Format sizes: `12 facts, 1 episode, last changed 2026-05-03T09:00:00Z`."""
    if any(memory.is_damaged for memory in memories):
        return "a document cannot be read"
    facts = pluralize(sum(memory.facts for memory in memories), "fact")
    episodes = pluralize(max(memory.episodes for memory in memories), "episode")
    changed = max(memory.last_updated for memory in memories)
    return ", ".join(filter(None, [facts, episodes, changed and f"last changed {changed}"]))


@from_operation("remember")
def add(ctx: CommandContext, operations: Operations, fact: Fact) -> object:
    """Add a fact about USER.

    memgraph fact add "Prefers tea." --user ada --category preference
    """
    return _show_edit(ctx, operations, "Added", fact)


@from_operation("update")
def edit(ctx: CommandContext, operations: Operations, fact: Fact, *, content: str | None = None) -> object:
    """Edit a fact about USER; it becomes a manual fact.

    memgraph fact edit fact_a1b2c3d4 --content "Prefers green tea." --user ada

    Args:
        content: New text.
    """
    del content
    return _show_edit(ctx, operations, "Updated", fact)


@from_operation("delete")
def remove(ctx: CommandContext, operations: Operations, removed: RemovedWithWords) -> object:
    """Remove a fact about USER, and the user's words that only this fact rests on.

    memgraph fact remove fact_a1b2c3d4 --user ada
    """
    document = _show_edit(ctx, operations, "Removed", removed.fact)
    for episode in removed.words.removed:
        ctx.output.line(f'"{shown_line(episode.text)}" (what the user said: removed, too)', indent=2)
    return document


def _show_edit(ctx: CommandContext, operations: Operations, action: str, fact: Fact) -> object:
    ctx.output.line(f"{action}: {fact.id}  {format_fact(fact)}")
    return {"fact": fact, "revision": operations.get().revision}


fact = CommandGroup("Add, edit or remove a fact. Manual facts are never removed by updates.", (add, edit, remove))


# -- deletion ------------------------------------------------------------------------------------------


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
    if not yes:
        ctx.confirm(question, hint, otherwise="Nothing was deleted.")
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
    if not yes:
        ctx.confirm(question, hint, otherwise="Nothing was erased.")
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
