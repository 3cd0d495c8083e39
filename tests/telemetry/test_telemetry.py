"""What is exported of updates, recall and the queue, and that no word of a user is in it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from opentelemetry import trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, generate_latest

from memgraph import Context, MemoryClient, Settings, build_graph, telemetry
from memgraph.background.shared import REGISTRY
from memgraph.errors import ModelError
from memgraph.recall_graph import build_recall_graph
from memgraph.testing import ScriptedModel, update_answer

ROOT = Path(__file__).parents[2]
SAID = "I live in Lisbon and I am vegetarian."
USER = "ada-lovelace"


class Exported:
    """What an SDK of this test has received."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self.reader])
        self.instruments = telemetry.Instruments(tracers, self.meters)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._spans.get_finished_spans()}

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """The data points by the names of metrics."""
        data = json.loads(self.reader.get_metrics_data().to_json())  # pyright: ignore[reportOptionalMemberAccess]
        scopes = [scope for resource in data["resource_metrics"] for scope in resource["scope_metrics"]]
        return {metric["name"]: metric["data"]["data_points"] for scope in scopes for metric in scope["metrics"]}

    @property
    def text(self) -> str:
        """All of it, as it would be sent."""
        return "".join(span.to_json() for span in self._spans.get_finished_spans()) + json.dumps(self.metrics)


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Exported:
    exported = Exported()
    monkeypatch.setattr(telemetry, "_INSTRUMENTS", exported.instruments)
    return exported


@pytest.fixture
def memory(exported: Exported) -> Iterator[MemoryClient]:
    with MemoryClient("memory:", settings=Settings(model_name="offline", outbox="memory:")) as client:
        yield client


def test_an_update_is_a_span_with_its_outcome_and_counts(memory: MemoryClient, exported: Exported) -> None:
    report = memory.add(SAID, user_id=USER)

    attributes = dict(exported.spans["invoke_workflow memory_update"].attributes or {})
    assert attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert attributes["memgraph.update.outcome"] == "learned"
    assert attributes["memgraph.update.added"] == len(report.added) > 0
    (point,) = exported.metrics["memgraph.update.duration"]
    assert point["count"] == 1
    assert point["attributes"]["memgraph.update.outcome"] == "learned"


def test_a_model_call_is_a_client_span_below_the_update(memory: MemoryClient, exported: Exported) -> None:
    memory.add(SAID, user_id=USER)

    (chat,) = [span for name, span in exported.spans.items() if name.startswith("chat ")]
    update = exported.spans["invoke_workflow memory_update"]
    assert chat.kind is trace.SpanKind.CLIENT
    assert chat.parent is not None
    assert update.context is not None
    assert chat.parent.span_id == update.context.span_id
    assert "gen_ai.client.operation.duration" in exported.metrics


def test_tokens_are_counted_as_the_provider_reports_them(exported: Exported) -> None:
    usage = UsageMetadata(input_tokens=20, output_tokens=3, total_tokens=23)
    model = ScriptedModel(AIMessage('{"newFacts": []}', usage_metadata=usage))
    graph = build_graph(model=model, storage="memory:")

    graph.invoke({"messages": [HumanMessage(SAID)]}, context=Context(user_id=USER))

    points = exported.metrics["gen_ai.client.token.usage"]
    assert {point["attributes"]["gen_ai.token.type"]: point["sum"] for point in points} == {"input": 20, "output": 3}


def test_the_async_graph_is_traced_too(exported: Exported) -> None:
    graph = build_graph(storage="memory:")

    asyncio.run(graph.ainvoke({"messages": [HumanMessage(SAID)]}, context=Context(user_id=USER)))

    assert exported.metrics["memgraph.update.duration"][0]["attributes"]["memgraph.update.outcome"] == "learned"


def test_between_the_steps_of_a_stream_the_callers_span_is_current(exported: Exported) -> None:
    """A span that the caller starts while it reads the stream is not a child of the update."""
    graph = build_graph(storage="memory:")

    steps = graph.stream({"messages": [HumanMessage(SAID)]}, context=Context(user_id=USER))

    is_inside = [trace.get_current_span().get_span_context().is_valid for _ in steps]
    assert len(is_inside) >= 1
    assert not any(is_inside)
    assert "invoke_workflow memory_update" in exported.spans


class NodeNames(BaseCallbackHandler):
    """What LangSmith's tracer is told, as any callback handler is."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        self.names.append(kwargs["name"])


def test_langsmith_sees_the_nodes_as_without_telemetry(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    def names() -> list[str]:
        handler = NodeNames()
        graph = build_graph(storage="memory:")
        graph.invoke(
            {"messages": [HumanMessage(SAID)]}, {"callbacks": [handler]}, context=Context(user_id=USER, thread_id="t")
        )
        return handler.names

    with_telemetry = names()
    monkeypatch.setattr(telemetry, "_INSTRUMENTS", None)

    assert with_telemetry == names()
    assert {"filter_messages", "call_model", "scrub_uploads", "save_memory"} < set(with_telemetry)


def test_a_recall_is_measured_by_call_and_by_graph(memory: MemoryClient, exported: Exported) -> None:
    memory.add(SAID, user_id=USER)
    memory.context("Where do I live?", user_id=USER)
    recall = build_recall_graph(storage=memory.storage)
    recall.invoke({"messages": [HumanMessage("Where?")]}, context=Context(user_id=USER))

    assert (exported.spans["retrieval memory"].attributes or {})["memgraph.recall.facts"] == 2
    assert sum(point["count"] for point in exported.metrics["memgraph.recall.duration"]) == 2


def test_a_failed_update_is_counted_by_the_class_of_its_error(exported: Exported) -> None:
    model = ScriptedModel(RuntimeError(f"the provider refused: {SAID}"))
    settings = Settings(outbox="memory:", model_tries=1)

    with (
        MemoryClient("memory:", settings=settings, model=model) as memory,
        pytest.raises(ModelError),
    ):
        memory.add(SAID, user_id=USER)

    (failure,) = exported.metrics["memgraph.job.failures"]
    assert failure["attributes"] == {"error.type": "ModelError", "memgraph.job.consequence": "retry"}
    (update,) = exported.metrics["memgraph.update.duration"]
    assert update["attributes"]["error.type"] == "ModelError"
    assert "Lisbon" not in exported.text


def test_the_queue_is_measured_when_an_sdk_collects(memory: MemoryClient, exported: Exported) -> None:
    telemetry.observe_queue(REGISTRY.queue_depth)
    memory.add(SAID, user_id=USER, background=True)

    (depth,) = exported.metrics["memgraph.queue.depth"]
    assert depth["value"] >= 1
    memory.flush()
    (wait,) = exported.metrics["memgraph.queue.wait"]
    (running,) = exported.metrics["memgraph.job.running"]
    assert (wait["count"], running["value"]) == (1, 0)


def test_nothing_that_is_exported_is_of_the_user(memory: MemoryClient, exported: Exported) -> None:
    memory.add(SAID, user_id=USER, thread_id="secret-thread")
    memory.context("Which food do I like?", user_id=USER)
    memory.search("vegetarian", user_id=USER)

    assert "memory_update" in exported.text
    for word in ("Lisbon", "vegetarian", "food", USER, "secret-thread"):
        assert word not in exported.text


def test_without_the_package_the_same_calls_work() -> None:
    """The extra is optional: an import of it that fails turns everything off."""
    program = """
import sys
sys.modules["opentelemetry"] = None
from memgraph import MemoryClient, Settings, telemetry
assert not telemetry.HAS_API
with MemoryClient("memory:", settings=Settings(model_name="offline", outbox="memory:")) as memory:
    memory.add("I live in Lisbon.", user_id="ada")
    assert "Lisbon" in memory.context("Where do I live?", user_id="ada")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


# -- the dashboard ---------------------------------------------------------------------------------

_METRIC = re.compile(r"\b(?:memgraph|gen_ai)_[a-z_]+")
_GROUPING = re.compile(r"by \(([^)]*)\)")


@pytest.fixture
def scraped(monkeypatch: pytest.MonkeyPatch) -> str:
    """What Prometheus reads after an update that learned, one that failed, and a recall."""
    registry = CollectorRegistry()
    reader = PrometheusMetricReader()
    registry.register(reader._collector)
    instruments = telemetry.Instruments(TracerProvider(), MeterProvider([reader]))
    monkeypatch.setattr(telemetry, "_INSTRUMENTS", instruments)
    telemetry.observe_queue(lambda: 1)
    usage = UsageMetadata(input_tokens=20, output_tokens=3, total_tokens=23)
    answer = AIMessage(update_answer(SAID, "Speaks Klingon."), usage_metadata=usage)
    model = ScriptedModel(answer, RuntimeError("down"))
    with MemoryClient("memory:", settings=Settings(outbox="memory:", model_tries=1), model=model) as memory:
        memory.add(SAID, user_id=USER)
        memory.context("Where do I live?", user_id=USER)
        with pytest.raises(ModelError):
            memory.add("I like tea.", user_id=USER)
    return generate_latest(registry).decode()


def dashboard_queries() -> list[str]:
    dashboard = json.loads((ROOT / "deploy/grafana/memgraph.json").read_text(encoding="utf-8"))
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def family(metric: str) -> str:
    return re.sub(r"_(?:bucket|count|sum)$", "", metric)


def test_the_dashboard_shows_each_metric_under_its_name_in_prometheus(scraped: str) -> None:
    emitted = {name for name in re.findall(r"^([a-z_]+)(?:\{| )", scraped, re.MULTILINE) if _METRIC.fullmatch(name)}

    queried = {name for query in dashboard_queries() for name in _METRIC.findall(_GROUPING.sub("", query))}

    assert queried <= emitted
    assert {*map(family, queried)} == {*map(family, emitted)}


def test_the_dashboard_groups_by_labels_that_exist(scraped: str) -> None:
    labels = {*re.findall(r'([a-z_]+)="', scraped)}

    grouped = {label for query in dashboard_queries() for by in _GROUPING.findall(query) for label in by.split(", ")}

    assert "memgraph_update_outcome" in grouped
    assert grouped <= labels
