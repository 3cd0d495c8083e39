"""Worker: what its threads do while it is closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from memgraph import MemoryStorage, OutboxError, Scope, build_graph, open_outbox
from memgraph.background.execution import UpdateExecutor
from memgraph.background.outbox import ConversationKey
from memgraph.background.runner import JobRunner
from memgraph.background.serialization import dump_messages
from memgraph.background.worker import Worker
from memgraph.settings import Settings
from memgraph.testing import ScriptedModel, update_answer

LIMIT_SECONDS = 120


class SlowJob:
    """A worker that runs a job whose model answers once `may_answer` is set.

    Args:
        storage: Where the job learns into.
        renewal_error: Raised by each renewal of leases.
    """

    def __init__(self, storage: MemoryStorage, renewal_error: Exception | None = None) -> None:
        self.asked, self.may_answer, self.renewed = threading.Event(), threading.Event(), threading.Event()
        settings = Settings.model_construct(debounce_seconds=0, max_concurrency=1, lease_seconds=0.3)
        graph = build_graph(model=ScriptedModel(self._answer), storage=storage)
        self._error = renewal_error
        self.runner = JobRunner(open_outbox("memory:"), UpdateExecutor(graph), settings)
        self.worker = Worker(self.runner, is_used=lambda: True, on_end=lambda: None)
        self.runner.submit(
            ConversationKey(Scope("ada"), "t1"), dump_messages([HumanMessage("My name is Ada.", id="1")])
        )
        self.worker.start()
        assert self.asked.wait(LIMIT_SECONDS)

    def close_until_renewed(self) -> bool:
        """Close the worker while the job runs, and let it end after a renewal; return the result of `close`."""
        self.runner.renew = self._renew  # type: ignore[method-assign]
        opener = threading.Thread(target=self._answer_after_renewal, daemon=True)
        opener.start()
        return self.worker.close(LIMIT_SECONDS)

    def _answer_after_renewal(self) -> None:
        self.renewed.wait(LIMIT_SECONDS / 4)
        self.may_answer.set()

    def _answer(self, _: Any) -> str:
        self.asked.set()
        self.may_answer.wait(LIMIT_SECONDS)
        return update_answer("Name is Ada.")

    def _renew(self) -> None:
        if self.runner.is_closing:
            self.renewed.set()
        if self._error:
            raise self._error


@pytest.fixture(params=[None, OutboxError("no route to host")], ids=["reachable", "unreachable"])
def slow_job(request: pytest.FixtureRequest, storage: MemoryStorage) -> Iterator[SlowJob]:
    job = SlowJob(storage, request.param)
    yield job
    job.may_answer.set()
    job.worker.close(LIMIT_SECONDS)


def test_leases_are_renewed_while_a_worker_that_closes_waits_for_its_jobs(slow_job: SlowJob) -> None:
    """Else another worker would run a long job, too, and pay for the model a second time."""
    has_ended = slow_job.close_until_renewed()

    assert has_ended
    assert slow_job.renewed.is_set()
