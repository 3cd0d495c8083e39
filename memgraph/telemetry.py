"""Telemetry: OpenTelemetry spans and metrics of updates, model calls, recall and the queue, without user text.

Only the API of OpenTelemetry is used (the extra `otel`); the application installs and configures an SDK. Without the
API nothing is measured, and without an SDK the API discards it. Names follow the GenAI semantic conventions
(https://github.com/open-telemetry/semantic-conventions-genai) if they have one, and begin with `memgraph.` otherwise.
Attributes are names, numbers and classes of errors: no id of a user, and no message of an error, which may quote text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memgraph.errors import OutboxError

HAS_API = find_spec("opentelemetry") is not None and find_spec("opentelemetry.trace") is not None
"""Whether the API of OpenTelemetry is installed."""

if TYPE_CHECKING or HAS_API:
    from opentelemetry import context as otel_context
    from opentelemetry import metrics, trace
    from opentelemetry.context import Context as OtelContext
    from opentelemetry.metrics import CallbackOptions, Histogram, MeterProvider, Observation
    from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from memgraph.report import Report, Usage

RECALL_GRAPH = "memory_recall"
SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Bounds of the buckets of our own durations."""
WAIT_SECONDS = (0.1, 1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 21_600, 86_400)
GEN_AI_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Of the GenAI conventions, like the next."""
GEN_AI_TOKENS = tuple(4**power for power in range(14))
_OUTCOME = "memgraph.update.outcome"
_UNKNOWN = "_OTHER"
"""OpenTelemetry's value of an unknown error or provider."""


class Instruments:
    """The tracer and the instruments of one pair of providers."""

    def __init__(self, tracers: TracerProvider, meters: MeterProvider) -> None:
        self.tracer = tracers.get_tracer("memgraph")
        self.meter = meters.get_meter("memgraph")
        self.update_seconds = self._seconds("memgraph.update.duration", "Runs of an update or an upkeep.", SECONDS)
        self.recall_seconds = self._seconds("memgraph.recall.duration", "Recalls of a memory.", SECONDS)
        self.wait_seconds = self._seconds(
            "memgraph.queue.wait",
            "Age of the oldest submission of a job that starts, its quiet time included.",
            WAIT_SECONDS,
        )
        self.chat_seconds = self._seconds("gen_ai.client.operation.duration", "Calls of a model.", GEN_AI_SECONDS)
        self.tokens = self.meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of a call.",
            explicit_bucket_boundaries_advisory=GEN_AI_TOKENS,
        )
        count = self.meter.create_counter
        self.changes = count("memgraph.update.changes", "{change}", "Saved changes, by kind.")
        self.refusals = count("memgraph.update.refusals", "{change}", "Changes that the rules or a reviewer refused.")
        self.failures = count("memgraph.job.failures", "{attempt}", "Failed attempts of jobs.")
        self.running = self.meter.create_up_down_counter("memgraph.job.running", "{job}", "Jobs that run now.")

    def _seconds(self, name: str, description: str, bounds: tuple[float, ...]) -> Histogram:
        return self.meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=bounds)


# The API's own providers forward to the SDK that the application configures, also later.
_INSTRUMENTS = Instruments(trace.get_tracer_provider(), metrics.get_meter_provider()) if HAS_API else None
_RUN = otel_context.create_key("memgraph.run") if HAS_API else ""


# -- runs of graphs --------------------------------------------------------------------------------


@dataclass(slots=True)
class _GraphRun:
    """What the nodes of a run state of it."""

    outcome: str | None = None
    report: Report | None = None


@contextmanager
def _current(context: OtelContext) -> Generator[None]:
    """Make *context* current in this block."""
    token = otel_context.attach(context)
    try:
        yield
    finally:
        otel_context.detach(token)


@contextmanager
def trace_run(name: str) -> Generator[Callable[[], AbstractContextManager[None]]]:
    """Trace a run of the graph *name*, and record the error that ends it.

    The function that is returned makes the span current for the block of one step; it is not current between steps.
    """
    if _INSTRUMENTS is None:
        yield nullcontext
        return
    is_recall, run = name == RECALL_GRAPH, _GraphRun()
    seconds = _INSTRUMENTS.recall_seconds if is_recall else _INSTRUMENTS.update_seconds
    attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": name}
    with _measured(_INSTRUMENTS, f"invoke_workflow {name}", attributes, seconds, is_current=False) as span:
        ended = "stopped"  # early, by its consumer
        try:
            yield partial(_current, otel_context.set_value(_RUN, run, trace.set_span_in_context(span)))
            ended = "paused"
        finally:
            if not is_recall:
                attributes[_OUTCOME] = run.outcome or ended
            if run.report:
                _record_changes(_INSTRUMENTS, span, run.report)


def _record_changes(instruments: Instruments, span: Span, report: Report) -> None:
    for kind, count in report.counts.items():
        span.set_attribute(f"memgraph.update.{kind}", count)
        if count and kind == "refused":
            instruments.refusals.add(count)
        elif count:
            instruments.changes.add(count, {"memgraph.change.kind": kind})


def note_result(output: Mapping[str, Any]) -> None:
    """Note the outcome and the report in *output* of a node for the span of the run."""
    run = otel_context.get_value(_RUN) if _INSTRUMENTS is not None else None
    if isinstance(run, _GraphRun):
        run.outcome = output.get("outcome", run.outcome)
        run.report = output.get("report", run.report)


# -- calls -----------------------------------------------------------------------------------------


@contextmanager
def trace_chat(model: BaseChatModel) -> Generator[Callable[[Usage], None]]:
    """Trace a call of *model*; the function that is returned records its usage."""
    if _INSTRUMENTS is None:
        yield lambda _: None
        return
    instruments = _INSTRUMENTS
    name = str(getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__)
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model._llm_type.partition("-")[0] or _UNKNOWN,  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - such as openai-chat
        "gen_ai.request.model": name,
    }

    def record(usage: Usage) -> None:
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            span.set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
            if tokens:  # a provider that reports none is not one that used none
                instruments.tokens.record(tokens, {**attributes, "gen_ai.token.type": kind})

    with _measured(instruments, f"chat {name}", attributes, instruments.chat_seconds, SpanKind.CLIENT) as span:
        yield record


@contextmanager
def trace_recall() -> Generator[Callable[[int, int], None]]:
    """Trace a recall; the function that is returned records how many facts and episodes were chosen."""
    if _INSTRUMENTS is None:
        yield lambda _, __: None
        return
    attributes = {"gen_ai.operation.name": "retrieval"}

    def record(facts: int, episodes: int) -> None:
        span.set_attributes({"memgraph.recall.facts": facts, "memgraph.recall.episodes": episodes})

    with _measured(_INSTRUMENTS, "retrieval memory", attributes, _INSTRUMENTS.recall_seconds) as span:
        yield record


@contextmanager
def _measured(
    instruments: Instruments,
    name: str,
    attributes: dict[str, str],
    seconds: Histogram,
    kind: SpanKind | None = None,
    *,
    is_current: bool = True,
) -> Generator[Span]:
    """A span, and its duration in *seconds*; an error is recorded by its class.

    Args:
        instruments: Has the tracer.
        name: Of the span.
        attributes: Of the span and the duration; the block may add to them.
        seconds: What records the duration.
        kind: Of the span; None is internal.
        is_current: Whether spans that begin in the block are children of this one.
    """
    started = time.perf_counter()
    span = instruments.tracer.start_span(name, kind=kind or SpanKind.INTERNAL, attributes=attributes)
    # without an SDK no span is valid, and there is nothing to make current
    is_current = is_current and span.get_span_context().is_valid
    try:
        with _current(trace.set_span_in_context(span)) if is_current else nullcontext():
            yield span
    except GeneratorExit:  # no error: the consumer of a run has enough
        raise
    except BaseException as error:
        attributes.pop(_OUTCOME, None)
        attributes["error.type"] = type(error).__name__
        span.set_status(StatusCode.ERROR)
        raise
    finally:
        seconds.record(time.perf_counter() - started, attributes)
        span.set_attributes(attributes)
        span.end()


# -- the queue -------------------------------------------------------------------------------------


def count_running(change: int) -> None:
    """Record that a job starts, +1, or ends, -1."""
    if _INSTRUMENTS is not None:
        _INSTRUMENTS.running.add(change)


def record_wait(seconds: float) -> None:
    """Record how long a job that starts has waited."""
    if _INSTRUMENTS is not None:
        _INSTRUMENTS.wait_seconds.record(max(0.0, seconds))


def record_failure(error: BaseException, *, is_final: bool) -> None:
    """Record a failed attempt of a job; *is_final* if it became a dead letter."""
    if _INSTRUMENTS is not None:
        consequence = "dead_letter" if is_final else "retry"
        _INSTRUMENTS.failures.add(1, {"error.type": type(error).__name__, "memgraph.job.consequence": consequence})


def observe_queue(depth: Callable[[], int]) -> None:
    """Export what *depth* returns, called when an SDK collects metrics, as the number of pending jobs."""
    if _INSTRUMENTS is None:
        return

    def observe(_: CallbackOptions) -> Iterator[Observation]:
        try:
            yield Observation(depth())
        except OutboxError:  # it is logged by the threads that run the jobs; there is no number to export
            return

    _INSTRUMENTS.meter.create_observable_gauge(
        "memgraph.queue.depth", [observe], "{job}", "Pending jobs of the outboxes in use, running ones included."
    )
