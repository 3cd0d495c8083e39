"""memgraph pending and memgraph retry: list outbox jobs, and requeue failed ones."""

from __future__ import annotations

import time
from typing import Any

from memgraph import background
from memgraph.background import Outbox
from memgraph.background.outbox import Job
from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_scope, pluralize, shown_line
from memgraph.errors import IdentityError
from memgraph.models import Scope
from memgraph.operations.results import JobInfo

RUN_THEM = (
    "A running agent, `memgraph serve` or `memgraph worker` that uses this outbox learns them when they are due; "
    "`memgraph worker --once` learns them now."
)


def pending(ctx: CommandContext, *, outbox: str | None = None) -> object:
    """List conversations that are pending or failed, and what each waits for.

    Read-only: conversations are learned by agents, by `memgraph serve` and by `memgraph worker`.

        memgraph pending
        memgraph pending --outbox sqlite:outbox.db
    """
    now = time.time()
    with open_chosen_outbox(ctx, outbox) as opened:
        pending, failed, name = opened.pending(now=now), opened.dead_letters(), opened.name
    if pending:
        _list(ctx, f"Pending in {name}:", [(job, _describe_status(job, now, ctx.storage.name)) for job in pending])
        if not all(job.running for job in pending):
            ctx.output.line(RUN_THEM, "dim")
    else:
        ctx.output.line(f"No pending conversations in {name}.")
    if failed:
        ctx.output.line()
        _list(ctx, "Failed (requeue with `memgraph retry`):", [(job, job.error) for job in failed])
    return {"outbox": name, "waiting": list(map(_dump_job, pending)), "aside": list(map(_dump_job, failed))}


def retry(
    ctx: CommandContext,
    *,
    user: str | None = None,
    agent: str | None = None,
    thread: str | None = None,
    outbox: str | None = None,
) -> object:
    """Requeue failed conversations.

    Without --user, requeues all of them. `memgraph worker --once` learns them now.

        memgraph retry
        memgraph retry --user ada

    Args:
        user: Only conversations of this user.
        agent: Only conversations with this agent.
        thread: Only this conversation.
    """
    if agent and not user:
        raise IdentityError("--agent needs --user: an agent's memory belongs to a user")
    scope = Scope(user, agent) if user else None
    with open_chosen_outbox(ctx, outbox) as opened:
        has_failed = bool(opened.dead_letters())  # an outbox that does not exist yet is not created
        count = opened.retry(now=time.time(), scope=scope, thread_id=thread) if has_failed else 0
    ctx.output.line(f"Requeued {pluralize(count, 'conversation')}.")
    return {"put_back": count}


def open_chosen_outbox(ctx: CommandContext, url: str | None) -> Outbox:
    """Open the outbox at *url*, or the one in the settings."""
    return background.open_outbox(url or ctx.settings.outbox, storage=ctx.storage)


def _list(ctx: CommandContext, title: str, jobs: list[tuple[Job, str]]) -> None:
    ctx.output.line(title, "bold")
    for job, status in jobs:
        thread = f", thread {shown_line(job.key.thread_id)}" if job.key.thread_id else ""
        owner = f"{shown_line(format_scope(job.key.scope))}{thread}"
        submissions = pluralize(job.submissions, "submission")
        ctx.output.line(f"{owner}: {submissions}, {shown_line(status)}", indent=2)


def _describe_status(job: Job, now: float, storage: str) -> str:
    """Describe what *job* waits for; *storage* is the one that this command uses."""
    if job.running:
        return "running"
    needs = f", needs a worker of {job.storage}" if job.storage not in ("", storage) else ""
    due = f"due in {job.due_at - now:.0f} s" if job.due_at > now else "due now"
    if job.attempts:
        return f"{due}{needs}, failed {'once' if job.attempts == 1 else f'{job.attempts} times'}: {job.error}"
    return f"{due}{', unless the conversation goes on' if job.due_at > now else ''}{needs}"


def _dump_job(job: Job) -> dict[str, Any]:
    return {
        "user": job.key.scope.user_id,
        "agent": job.key.scope.agent_name,
        "thread": job.key.thread_id,
        "storage": job.storage or None,
        **JobInfo.model_validate(job).model_dump(exclude={"thread_id"}),
    }
