"""One job, run: the graph over what was claimed, with an eye on what it loads."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from memgraph.background.outbox import Claim, ConversationKey
from memgraph.background.planning import Plan, SubmissionView, plan_learning
from memgraph.background.resume import INTERRUPT, resume_with_changes
from memgraph.background.reviews import StoredProposal, decided_changes, is_proposal
from memgraph.background.serialization import load_messages, load_raw
from memgraph.context import Context
from memgraph.errors import MemgraphError
from memgraph.models import Memory, MemoryUpdate
from memgraph.report import Outcome, Report, Usage
from memgraph.review import Proposal

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from memgraph.background.serialization import Raw

Keep = Callable[[Sequence[Mapping[str, Any]]], None]

NOTHING = '{"user": {}, "history": {}, "newFacts": []}'

_KEYS = ["origin", "memory", "changes", "usage", "outcome", "report"]
_MOST_PLANS = 4  # each of them meets a memory that somebody changed since the one before


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What became of a job."""

    key: ConversationKey
    outcome: Outcome
    report: Report
    seconds: float
    node_seconds: Mapping[str, float]
    """By node, over all its passes."""


@dataclass(frozen=True, slots=True)
class PausedForReview:
    """What a job wants to change, and a person has to agree to. It has not ended."""

    key: ConversationKey
    kept: StoredProposal
    report: Report
    """What was saved before, and what all of it cost."""
    seconds: float
    node_seconds: Mapping[str, float]


@dataclass(slots=True)
class _Run:
    """What is known of a run so far."""

    outcome: Outcome | None = None
    report: Report = field(default_factory=Report)
    storage: str = ""
    changes: MemoryUpdate | None = None
    elapsed: Usage = field(default_factory=Usage)
    """Since the report."""
    proposal: Proposal | None = None
    """What it stopped with."""
    revised_plan: Plan | None = None
    """What to do instead, if the memory turned out to be another than was thought."""


@dataclass(frozen=True, slots=True)
class _Job:
    """What stays the same over the runs of a job."""

    key: ConversationKey
    views: Sequence[SubmissionView]
    persist_merged: Keep
    config: RunnableConfig
    decided: MemoryUpdate | None
    asks: bool
    elapsed: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def context(self) -> Context:
        scope = self.key.scope
        return Context(user_id=scope.user_id, agent_name=scope.agent_name, thread_id=self.key.thread_id)

    def revised_plan(self, plan: Plan, memory: Memory) -> Plan | None:
        """What *memory* calls for, if it is another plan."""
        found = plan_learning(self.views, memory, self.key.thread_id)
        return None if found == plan else found


class UpdateExecutor:
    """Runs the update graph for jobs.

    A job is run as if its memory knew nothing of the conversation, which costs nothing where that is so. The run is
    watched: where the memory that it loads was deleted since something was submitted, or has learned a part that
    would hide another, it is stopped before any model is asked, and started with what is right. Before it goes on to
    learn from several submissions, they are kept as the one conversation that they are learned as: should
    the process die after the save, a memory that knows the last few messages only can tell where it stopped.

    Args:
        graph: The memory update; it runs without its checkpointer.
    """

    def __init__(self, graph: CompiledStateGraph[Any, Context, Any, Any]) -> None:
        self._graph = graph.copy({"checkpointer": None}) if graph.checkpointer else graph

    def run(
        self, claim: Claim, keep: Keep, on_model_error: Callable[[BaseException], None], *, asks: bool = True
    ) -> UpdateResult | PausedForReview | None:
        """Learn from what was claimed, in the calling thread, but in a context of its own.

        Inside another graph's node the context would leak this run into that one's stream and checkpoints.

        Args:
            claim: The job.
            keep: Called with the conversation that several submissions turned out to be, before it is learned from.
            on_model_error: Called with the error of each call of the model that failed.
            asks: Whether a model may be asked; if not, no more is done than to apply what was decided.

        Returns:
            What became of it, or what a person has to agree to before it goes on. None where a model has to be asked
            and may not.

        Raises:
            MemgraphError: As the graph does.
        """
        return contextvars.Context().run(self._run, claim, keep, on_model_error, asks)

    def _run(
        self,
        claim: Claim,
        keep: Keep,
        on_model_error: Callable[[BaseException], None],
        asks: bool,  # noqa: FBT001 - one caller
    ) -> UpdateResult | PausedForReview | None:
        began = time.perf_counter()
        views = [SubmissionView(entry.at, load_raw(entry.messages)) for entry in claim.submissions]
        decided = decided_changes(claim.decided) if claim.decided else None
        job = _Job(claim.key, views, keep, {"callbacks": [_Errors(on_model_error)]}, decided, asks)
        run = self._stream_run(job, plan_learning(views, Memory(), claim.key.thread_id))
        for _ in range(_MOST_PLANS):
            if run.revised_plan is None:
                break
            self._mark_as_learned(job, run.revised_plan.skipped)
            run = self._stream_run(job, run.revised_plan)
        seconds = time.perf_counter() - began
        if run.proposal and run.changes:
            kept = StoredProposal(changes=run.changes, proposal=run.proposal, storage=run.storage)
            return PausedForReview(claim.key, kept, run.report + Report(usage=run.elapsed), seconds, job.elapsed)
        if run.outcome is None and not asks:
            return None
        if run.outcome is None:
            raise MemgraphError("the graph ended without an outcome; is it the memory update, without interrupts?")
        return UpdateResult(claim.key, run.outcome, run.report, seconds, job.elapsed)

    def _stream_run(self, job: _Job, plan: Plan) -> _Run:
        """Run *plan*, and stop where the memory that is loaded calls for another one."""
        if not plan.learn:
            return _Run("forgotten")
        run, loaded = _Run(), False
        steps = self._steps(job, {"messages": load_messages(plan.learn)})
        for wrote in _timed(steps, job.elapsed):
            if INTERRUPT in wrote:
                run.proposal = _proposal_of(wrote[INTERRUPT])
                break
            memory: Memory | None = wrote.get("memory")
            if memory is not None and not loaded:
                loaded = True
                run.revised_plan = job.revised_plan(plan, memory)
                if run.revised_plan:
                    break
                if len(job.views) > 1 and "outcome" not in wrote:
                    job.persist_merged(plan.learn)
            run.outcome = wrote.get("outcome", run.outcome)
            run.storage = wrote["origin"].storage if "origin" in wrote else run.storage
            run.changes = wrote.get("changes", run.changes)
            run.elapsed = Usage() if "report" in wrote else wrote.get("usage", run.elapsed)
            run.report = wrote.get("report", run.report)
        cast("Generator[Any]", steps).close()
        return run

    def _steps(self, job: _Job, conversation: Any) -> Iterator[Any]:  # noqa: ANN401 - LangGraph's own
        if job.decided:
            graph, changes = self._graph, job.decided
            return resume_with_changes(
                graph, conversation, changes, job.config, job.context, keys=_KEYS, allow_model=job.asks
            )
        return self._graph.stream(
            conversation, job.config, context=job.context, stream_mode="updates", output_keys=_KEYS
        )

    def _mark_as_learned(self, job: _Job, messages: Sequence[Raw]) -> None:
        """Mark *messages* as learned, by an update whose model finds nothing in them."""
        if messages:
            context = job.context.model_copy(update={"model": NullChatModel(), "structured_output": "none"})
            self._graph.invoke({"messages": load_messages(messages)}, job.config, context=context)


class NullChatModel(BaseChatModel):
    """A chat model that finds nothing worth remembering, at no cost."""

    @property
    def _llm_type(self) -> str:
        return "memgraph-silent"

    def _generate(self, messages: list[BaseMessage], *args: object, **kwargs: object) -> ChatResult:
        del messages, args, kwargs
        return ChatResult(generations=[ChatGeneration(message=AIMessage(NOTHING))])


class _Errors(BaseCallbackHandler):
    """Tells of each failed call of the model, also of those that are tried again."""

    def __init__(self, tell: Callable[[BaseException], None]) -> None:
        self._tell = tell

    @property
    def ignore_chain(self) -> bool:
        return True  # nodes begin and end often, and nobody asks

    def on_llm_error(self, error: BaseException, **kwargs: object) -> None:
        del kwargs
        self._tell(error)


def _timed(steps: Iterator[Any], spent: dict[str, float]) -> Iterator[Mapping[str, Any]]:
    """What each node wrote, noting how long it took."""
    before = time.perf_counter()
    for step in steps:
        now = time.perf_counter()
        for node, wrote in step.items():
            spent[node] = spent.get(node, 0.0) + now - before
            yield {INTERRUPT: wrote} if node == INTERRUPT else wrote or {}
        before = now


def _proposal_of(interrupts: Sequence[Any]) -> Proposal | None:
    """What is to be reviewed; None where the graph was stopped for something else."""
    value: object = interrupts[0].value if interrupts else None
    return Proposal.model_validate(value) if is_proposal(value) else None
