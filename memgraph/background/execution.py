"""UpdateExecutor: runs the update graph for one job, and replans if the loaded memory calls for it.

BackgroundUpkeep runs the upkeep of the memory after every so many updates, or days.
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListChatModel

from memgraph._cache import LRUCache
from memgraph._concurrency import Closing
from memgraph.analysis.dates import parse_time
from memgraph.background.episodes import EpisodeRecorder
from memgraph.background.outbox import Claim, ConversationKey, LeaseLostError, Outbox
from memgraph.background.planning import Plan, last_deletion, plan_learning
from memgraph.background.serialization import Raw, dump_raw, load_messages
from memgraph.background.waiting import place_waiting, put_waiting
from memgraph.context import Context, ContextResolver
from memgraph.errors import MemgraphError
from memgraph.models import EMPTY_MEMORY, MemoryDocument, MemoryUpdate, PendingChange, Scope, Upkeep, timestamp
from memgraph.policy import Policy
from memgraph.report import Outcome, Report

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from memgraph.settings import Settings

logger = logging.getLogger("memgraph.invoker")

OnStart = Callable[[ConversationKey, "RunnableConfig"], object]

EMPTY_UPDATE = '{"user": {}, "history": {}, "newFacts": []}'

OUTPUT_KEYS = ["memory", "changes", "saved", "outcome", "report", "conflicts"]
INTERRUPT = "__interrupt__"
"""The key under which a streamed step carries interrupts."""
MAX_RUNS = 5
"""Runs of one job. Each after the second means that another writer changed the memory since the last one."""
MAX_COMPUTING = 2
"""Updates that compute at the same time: while one waits for its storage, the other goes on."""
PATIENCE_SECONDS = 0.25
MAX_CHECKED = 10_000
"""Memories of which the last upkeep without changes is remembered, the most recently used ones."""


class ComputePermit(Closing):
    """Lets few updates compute at the same time.

    Python runs one thread at a time. If sixteen updates compute at once, none of them is done sooner, and a caller of
    `submit` competes with all sixteen. An update that waits for its model does not compute.

    It makes submissions faster, and is needed for nothing else: an update that hangs with a permit delays the others
    by the patience, and blocks none of them. As a context manager, it is held from the beginning and released at the
    end.

    Args:
        permits: Those that the updates of one runner share, see MAX_COMPUTING.
        patience: How many seconds an update waits for a permit before it computes without one.
    """

    def __init__(self, permits: threading.Semaphore, patience: float = PATIENCE_SECONDS) -> None:
        self._permits = permits
        self._patience = patience
        self._lock = threading.Lock()
        self.is_held = False
        """Whether the update has the permit; read only."""

    def acquire(self) -> None:
        """Wait for the permit, at most the patience; nothing happens if it is held. On the thread of the update."""
        if self.is_held:
            return
        is_held = self._permits.acquire(timeout=self._patience)
        with self._lock:
            self.is_held = is_held

    def close(self) -> None:
        """Release the permit, on any thread; nothing happens if it is not held."""
        with self._lock:
            was_held, self.is_held = self.is_held, False
        if was_held:
            self._permits.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The result of a finished job."""

    key: ConversationKey
    outcome: Outcome
    report: Report
    seconds: float
    node_seconds: Mapping[str, float]
    """Seconds by node, summed over its runs."""
    deletion: str = ""
    """When the memory was last deleted before it was loaded, as its tombstone has it; empty if it never was."""

    def log_fields(self) -> dict[str, object]:
        """Return what is logged: everything but user text."""
        usage = self.report.usage
        return {
            **self.key.log_fields,
            "outcome": self.outcome,
            **self.report.counts,
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "ms": round(self.seconds * 1_000, 1),
            "ms_by_node": {node: round(seconds * 1_000, 1) for node, seconds in self.node_seconds.items()},
        }


@dataclass(slots=True)
class _Run:
    """The state of one run of the graph."""

    outcome: Outcome | None = None
    report: Report = field(default_factory=Report)
    deletion: str = ""
    """As in UpdateResult."""
    memory: MemoryDocument = EMPTY_MEMORY
    """As it was loaded, or saved, last."""
    revised_plan: Plan | None = None
    """The plan to run instead, if the memory was not what the plan assumed."""


@dataclass(slots=True)
class Attempt:
    """An attempt to learn from a claimed job: what its runs of the graph share."""

    claim: Claim
    """With its submissions as the outbox has them."""
    permit: ComputePermit
    """Released while the model answers, and held otherwise."""
    outbox: Outbox
    now: Callable[[], float]
    lease_seconds: float
    node_seconds: dict[str, float] = field(default_factory=dict[str, float])

    def plan(self, memory: MemoryDocument) -> Plan:
        """Plan what to learn if the run finds *memory*."""
        return plan_learning(self.claim.submissions, self.claim.deletion, memory, self.claim.key.thread_id)

    def check_lease(self) -> None:
        """Raise LeaseLostError if another worker took the job over."""
        if not self.outbox.renew([self.claim.lease_id], now=self.now(), lease_seconds=self.lease_seconds):
            raise LeaseLostError(f"superseded: another worker runs {self.claim.key.log_name} now")

    def put_waiting(self, changes: Sequence[PendingChange]) -> None:
        """Keep *changes*, for which the memory has no room, in the outbox."""
        if changes:
            self.check_lease()  # without it the memory may have been deleted
            put_waiting(self.outbox, self.claim.key.scope, changes, self.now())

    def persist_merged(self, messages: Sequence[Raw]) -> None:
        """Replace several submissions by *messages*, their merge; raise LeaseLostError as `check_lease` does."""
        replaced = self.outbox.replace_submissions(self.claim, dump_raw(messages))
        if replaced is None:
            raise LeaseLostError(f"another worker runs {self.claim.key.log_name} now")
        self.claim = replaced


class UpdateExecutor:
    """Runs the update graph for jobs.

    The first plan assumes a memory that knows nothing of the conversation, which costs nothing if that is true. If
    the memory that the run loads was deleted after a submission, or has learned a part that would hide another, the
    run is stopped before the model is called, and restarted with a revised plan. Before a run learns from several
    submissions, their merge replaces them in the outbox: should the process die after the save, the watermark, which
    knows only the last few messages, still matches the order in which they were learned.

    Args:
        graph: The memory update; it runs without its checkpointer.
        model: Returns the chat model of a run; None is the one of *graph*.
        upkeep: When the upkeep follows an update; None is never, as for a graph that `build_graph` has not made.
    """

    def __init__(
        self,
        graph: CompiledStateGraph[Any, Context, Any, Any],
        model: Callable[[], str | BaseChatModel | None] = lambda: None,
        upkeep: Settings | None = None,
    ) -> None:
        from memgraph.update.graph import UpdateGraph

        resolver = graph.resolver if isinstance(graph, UpdateGraph) else None
        self._resolver = resolver
        self._upkeep = BackgroundUpkeep(resolver, upkeep) if resolver and upkeep else None
        self._graph = graph.copy({"checkpointer": None}) if graph.checkpointer else graph
        self._model = model
        self.episodes = EpisodeRecorder(resolver)
        """Keeps what the user said of what is submitted for the graph."""

    def run(
        self, attempt: Attempt, on_model_error: Callable[[BaseException], None], on_start: OnStart | None = None
    ) -> UpdateResult:
        """Learn from a claimed job on the calling thread.

        Args:
            attempt: The job.
            on_model_error: Called with the error of each failed model call, retried ones included.
            on_start: Called with the key and the config of the run before it starts; it may add to the config.

        Raises:
            LeaseLostError: If another worker has taken the job over.
            MemgraphError: As the graph does.
        """
        started = time.perf_counter()
        key = attempt.claim.key
        if key.is_waiting and self._resolver:
            attempt.put_waiting(place_waiting(attempt.claim, self._resolver.storage, self._resolver.policy))
            return UpdateResult(key, "nothing_new", Report(), time.perf_counter() - started, {})
        config: RunnableConfig = {"callbacks": [_ModelHandler(attempt.permit.close, on_model_error)]}
        if on_start:
            on_start(key, config)
        context = Context(
            user_id=key.scope.user_id,
            agent_name=key.scope.agent_name,
            thread_id=key.thread_id,
            model=self._model(),
            review_by="pending",
        )
        run = _Run(revised_plan=attempt.plan(EMPTY_MEMORY))
        for _ in range(MAX_RUNS):
            if run.revised_plan is None:
                break
            if skipped := run.revised_plan.skipped:  # said before a deletion: only the watermark moves over it
                unkept = context.merge(NOTHING_KEPT)
                self._graph.invoke({"messages": load_messages(skipped)}, config, context=unkept)
                self.episodes.remove(key, skipped)
            run = self._stream(attempt, run.revised_plan, config, context)
        seconds = time.perf_counter() - started
        if run.outcome is None:
            raise MemgraphError("the graph ended without an outcome; is it the memory update, without interrupts?")
        report = run.report
        if run.outcome == "learned" and self._upkeep:
            kept_up = self._upkeep.run_if_due(key.scope, run.memory, context, config)
            if kept_up:
                report += Report(usage=kept_up.usage)
        return UpdateResult(key, run.outcome, report, seconds, attempt.node_seconds, run.deletion)

    def _stream(self, attempt: Attempt, plan: Plan, config: RunnableConfig, context: Context) -> _Run:
        """Run *plan* until it ends, is interrupted, or loads a memory that calls for another plan."""
        if not plan.learn:
            return _Run("forgotten")
        run, is_loaded = _Run(), False
        proposed: MemoryUpdate | None = None
        stream = self._graph.stream(
            {"messages": load_messages(plan.learn)},
            config,
            context=context,
            stream_mode="updates",
            output_keys=OUTPUT_KEYS,
        )
        before = time.perf_counter()
        with closing(cast("Generator[dict[str, Any]]", stream)) as steps:
            for step in steps:
                attempt.permit.acquire()  # the model has answered
                if INTERRUPT in step:
                    break
                now = time.perf_counter()
                output: dict[str, Any] = {}
                for node, wrote in step.items():
                    attempt.node_seconds[node] = attempt.node_seconds.get(node, 0.0) + now - before
                    output |= wrote or {}
                before = now
                if output.get("conflicts"):
                    attempt.check_lease()
                if output.get("memory") is not None and not is_loaded:
                    is_loaded, run.deletion = True, last_deletion(output["memory"])
                    revised = attempt.plan(output["memory"])
                    if revised != plan:
                        run.revised_plan = revised
                        break
                    if len(attempt.claim.submissions) > 1 and "outcome" not in output:
                        attempt.persist_merged(plan.learn)
                proposed = output.get("changes", proposed)
                if output.get("saved") is not None and proposed is not None and self._resolver:
                    attempt.put_waiting(output["saved"].unplaced(proposed.quarantined))
                run.outcome = output.get("outcome", run.outcome)
                run.memory = output.get("memory", run.memory)
                run.report = output.get("report", run.report)
        return run


NOTHING_KEPT = Context(
    model=FakeListChatModel(responses=[EMPTY_UPDATE]), structured_output="none", policy=Policy(episodes="off")
)
"""What the context of an update sets that only advances the watermark: its model finds nothing, at no cost."""


class _ModelHandler(BaseCallbackHandler):
    """Reports when a model begins to answer, and each failed call, retried ones included."""

    ignore_chain = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] - read at every node

    def __init__(self, on_start: Callable[[], None], on_error: Callable[[BaseException], None]) -> None:
        self._on_start = on_start
        self._on_error = on_error

    def on_chat_model_start(self, serialized: object, messages: object, **kwargs: object) -> None:
        del serialized, messages, kwargs
        self._on_start()

    def on_llm_error(self, error: BaseException, **kwargs: object) -> None:
        del kwargs
        self._on_error(error)


# -- upkeep ----------------------------------------------------------------------------------------


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
        self, resolver: ContextResolver, settings: Settings, now: Callable[[], datetime] = lambda: datetime.now(UTC)
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
        from memgraph.update.upkeep import make_upkeep_graph

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
