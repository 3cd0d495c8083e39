"""BackgroundUpkeep: runs the upkeep of a memory after every so many updates, or days."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from memgraph._cache import LRUCache
from memgraph.errors import MemgraphError
from memgraph.models import MemoryDocument, Scope, Upkeep, timestamp
from memgraph.report import Report
from memgraph.text.dates import parse_time

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from memgraph.context import Context, ContextResolver
    from memgraph.settings import Settings

logger = logging.getLogger("memgraph.invoker")

MAX_CHECKED = 10_000
"""Memories of which the last upkeep without changes is remembered, the most recently used ones."""


class BackgroundUpkeep:
    """Runs the upkeep under the lease of the update that made it due.

    So at most one runs for a memory, never together with an update of it, and whatever the process. What counts is in
    the document: after a crash, the next update makes it due again. An upkeep without changes is not saved; that it
    was is remembered in RAM, and costs one more upkeep without a model after a restart.

    Args:
        resolver: The model, storage and policy of the updates.
        settings: When it is due: `upkeep_updates` and `upkeep_days`.
        now: Returns the time of day.
    """

    def __init__(
        self,
        resolver: ContextResolver,
        settings: Settings,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._resolver = resolver
        self._settings = settings
        self._now = now
        self._checked: LRUCache[str, Upkeep] = LRUCache(MAX_CHECKED)

    def run_if_due(
        self, scope: Scope, memory: MemoryDocument, context: Context, config: RunnableConfig
    ) -> Report | None:
        """Run the upkeep of *memory*, which an update has just saved, if it is due; return its report if it ran.

        An error is logged: the update has succeeded.
        """
        from memgraph.upkeep_graph import make_upkeep_graph

        now, checked = self._now(), self._checked.get(str(scope))
        marks = [mark for mark in (memory.upkeep, checked) if mark]
        last = max(marks, key=lambda mark: mark.revision, default=None)
        if not is_due(memory, last, now, self._settings):
            return None
        try:
            state = make_upkeep_graph(self._resolver).invoke({}, config, context=context)
        except MemgraphError as error:
            logger.warning("upkeep of %s failed: %s; a later update tries again", scope.log_name, error)
            return None
        report = cast("Report", state["report"])
        logger.info("upkeep of %s: %s, %s calls of the model", scope.log_name, report.counts, report.usage.calls)
        if "saved" not in state:
            self._checked.put(str(scope), Upkeep(at=timestamp(now), revision=memory.revision))
        return report


def is_due(memory: MemoryDocument, last: Upkeep | None, now: datetime, settings: Settings) -> bool:
    """Return whether *memory* was saved so often since its *last* upkeep, or if that was so long ago."""
    at = parse_time(last.at) if last else None
    is_old = at is not None and now - at >= timedelta(days=settings.upkeep_days)
    return is_old or memory.revision - (last.revision if last else 0) >= settings.upkeep_updates
