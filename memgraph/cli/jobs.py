"""memgraph pending and memgraph retry: what waits to be learned, what waits for a person, and what failed."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph.cli.command import AgentOption, CommandContext, add_command

if TYPE_CHECKING:
    from memgraph.background import Outbox
    from memgraph.background.outbox import Job

OutboxOption = Annotated[
    str | None, typer.Option("--outbox", metavar="URL", help="Where conversations wait: a file, sqlite:FILE.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    add_command(app, pending)
    add_command(app, retry)


def pending(ctx: CommandContext, *, outbox: OutboxOption = None) -> None:
    """Show which conversations wait to be learned from, are in review, or were set aside because they failed.

    It only looks: what waits is run by the processes that submit.
    """
    now = time.time()
    with open_outbox(ctx, outbox) as opened:
        waiting, aside = opened.pending(now=now), opened.dead_letters()
        held = [each.job for each in opened.in_review()]
        name = opened.name
    _list(ctx, f"Waiting in {name}:", [(job, _when(job, now)) for job in waiting], or_else=f"Nothing waits in {name}.")
    if held:
        ctx.output.line()
        _list(ctx, "In review; `memgraph review` decides:", [(job, "waits for a person") for job in held])
    if aside:
        ctx.output.line()
        _list(ctx, "Set aside; `memgraph retry` puts them back:", [(job, job.error) for job in aside])
    ctx.output.result(
        {
            "outbox": name,
            "waiting": [_document(job) for job in waiting],
            "in_review": [_document(job) for job in held],
            "aside": [_document(job) for job in aside],
        }
    )


def retry(
    ctx: CommandContext,
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="USER", help="Only of this user.")] = None,
    agent: AgentOption = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="THREAD", help="Only this conversation.")] = None,
    outbox: OutboxOption = None,
) -> None:
    """Put conversations back that were set aside because they failed.

    Without --user all of them. They are run by the processes that submit.
    """
    from memgraph.cli.format import pluralize
    from memgraph.errors import IdentityError
    from memgraph.models import Scope

    if agent and not user:
        raise IdentityError("--agent needs --user: an agent's memory is one of a user's")
    scope = Scope(user, agent) if user else None
    with open_outbox(ctx, outbox) as opened:
        there = bool(opened.dead_letters())  # so that looking into nothing makes no file
        count = opened.retry(now=time.time(), scope=scope, thread_id=thread) if there else 0
    ctx.output.line(f"Put {pluralize(count, 'conversation')} back.")
    ctx.output.result({"put_back": count})


def open_outbox(ctx: CommandContext, url: str | None) -> Outbox:
    """The outbox called *url*, or that of the settings."""
    from memgraph.background import open_outbox

    return open_outbox(url or ctx.settings.outbox, storage=ctx.storage)


def _list(ctx: CommandContext, title: str, jobs: list[tuple[Job, str]], *, or_else: str = "") -> None:
    from memgraph.cli.format import format_scope, pluralize
    from memgraph.cli.output import one_line

    ctx.output.line(title if jobs else or_else, "bold" if jobs else "")
    for job, said in jobs:
        thread = f", thread {one_line(job.key.thread_id)}" if job.key.thread_id else ""
        handed_over = pluralize(job.submissions, "submission")
        line = f"{one_line(format_scope(job.key.scope))}{thread}: {handed_over}, {one_line(said)}"
        ctx.output.line(line, indent=2)


def _when(job: Job, now: float) -> str:
    if job.running:
        return "being learned from"
    due = f"due in {job.due_at - now:.0f} s" if job.due_at > now else "due"
    return f"{due}, failed {job.attempts} times: {job.error}" if job.attempts else due


def _document(job: Job) -> dict[str, Any]:
    return {
        "user": job.key.scope.user_id,
        "agent": job.key.scope.agent_name,
        "thread": job.key.thread_id,
        "submissions": job.submissions,
        "first_at": format_time(job.first_at),
        "last_at": format_time(job.last_at),
        "due_at": format_time(job.due_at) if math.isfinite(job.due_at) else None,
        "running": job.running,
        "tries": job.attempts,
        "error": job.error,
    }


def format_time(seconds: float) -> str:
    """A moment as documents have it."""
    from datetime import UTC, datetime

    from memgraph.models import timestamp

    return timestamp(datetime.fromtimestamp(seconds, UTC))
