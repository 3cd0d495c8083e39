"""memgraph pending, retry and worker: the jobs of an outbox, and a process that runs them."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memgraph import background
from memgraph.background import Outbox
from memgraph.background.outbox import Job
from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_scope, pluralize, shown_line
from memgraph.cli.update import learning_settings
from memgraph.errors import IdentityError, MemgraphError, OutboxError
from memgraph.models import Scope, timestamp
from memgraph.operations.results import JobInfo

logger = logging.getLogger("memgraph.worker")

RUN_THEM = (
    "A running agent, `memgraph serve` or `memgraph worker` that uses this outbox learns them when they are due; "
    "`memgraph worker --once` learns them now."
)
HEALTH_SECONDS = 5.0
"""Interval at which the health file is touched."""


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


# -- the worker -----------------------------------------------------------------------------------


def worker(ctx: CommandContext, *, once: bool = False, health: str | None = None, outbox: str | None = None) -> None:
    """Learn from the conversations in an outbox until stopped.

    Any number of workers may run, in addition to agents and servers that use the same outbox. They learn with the
    model of their own settings, not of the process that submitted. SIGTERM and Ctrl-C finish running
    updates; a second one abandons them, and another worker takes over. With --json, each line of the log is a JSON
    object.

        memgraph worker
        memgraph worker --once
        memgraph worker --json --health /tmp/healthy

    Args:
        once: Learn from everything that is pending now, without waiting for quiet; exit.
        health: Touch FILE every 5 s while the outbox can be reached.
    """
    from memgraph.background.background_invoker import BackgroundInvoker

    settings = learning_settings(ctx)
    opened = open_chosen_outbox(ctx, outbox)
    with opened, _as_process(JsonFormatter() if ctx.output.as_json else LineFormatter()):
        invoker = BackgroundInvoker(settings=settings, outbox=opened, storage=ctx.storage)
        _log("started", {"outbox": opened.name, "storage": ctx.storage.name, "model": settings.model_name})
        is_clean = True
        try:
            if once:
                is_clean = invoker.flush()
            else:
                invoker.start()
                while True:  # the threads of the invoker run the jobs
                    if health:
                        _touch_if_reachable(Path(health), opened)
                    time.sleep(HEALTH_SECONDS)
        except KeyboardInterrupt:
            _log("stopping", {"running": invoker.stats().running})
        invoker.close(threading.TIMEOUT_MAX)
        _log("stopped", invoker.stats().to_json())
    if not is_clean:
        raise MemgraphError(f"not everything in {opened.name} was learned: see `memgraph pending`")


def _touch_if_reachable(health: Path, outbox: Outbox) -> None:
    """Touch *health*, unless the outbox cannot be reached, which the threads of the invoker log."""
    try:
        outbox.next_due(now=time.time())
    except OutboxError:
        return
    health.touch()


@contextmanager
def _as_process(formatter: logging.Formatter) -> Generator[None]:
    """Write the log of the package to stdout, as in a container, and let SIGTERM interrupt as Ctrl-C does."""
    root = logging.getLogger("memgraph")
    handler, level = logging.StreamHandler(sys.stdout), root.level
    handler.setFormatter(formatter)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
        root.removeHandler(handler)
        root.setLevel(level)


def _log(message: str, fields: Mapping[str, object]) -> None:
    text = " ".join(f"{name}={value!r}" for name, value in fields.items())
    logger.info("worker %s: %s", message, text, extra={"memgraph": fields})


class LineFormatter(logging.Formatter):
    """Formats a record as one line without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_time(record)} {record.levelname:<7} {shown_line(super().format(record))}"


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object on one line, with the counts that a record of memgraph carries."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "memgraph", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def _time(record: logging.LogRecord) -> str:
    return timestamp(datetime.fromtimestamp(record.created, UTC), "milliseconds")
