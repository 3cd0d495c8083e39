"""memgraph worker: a process that runs the jobs of an outbox."""

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

from memgraph.background import Outbox
from memgraph.cli.command import CommandContext
from memgraph.cli.format import shown_line
from memgraph.cli.jobs import open_chosen_outbox
from memgraph.cli.update import learning_settings
from memgraph.errors import MemgraphError, OutboxError

logger = logging.getLogger("memgraph.worker")

HEALTH_SECONDS = 5.0
"""Interval at which the health file is touched."""


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
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
