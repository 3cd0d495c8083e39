"""ServerInvoker on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from blockbuster import BlockBuster
from langchain_core.messages import HumanMessage
from langgraph_sdk import get_client, get_sync_client

from memgraph import ConfigError, Scope
from memgraph.background.langgraph_protocol import server_thread_id
from memgraph.background.outbox import ConversationKey
from memgraph.background.server_invoker import ServerInvoker
from memgraph.errors import OutboxError
from memgraph.settings import Settings

pytestmark = pytest.mark.xdist_group("server")

WaitUntil = Callable[[Callable[[], object]], None]


def test_submission_is_debounced_and_learned(conversation: Any, wait_until: WaitUntil) -> None:
    """An active conversation does not need an update for every message."""
    with conversation.invoker(debounce_seconds=600, max_wait_seconds=600) as patient:
        patient.submit([conversation.turn(2)], conversation.scope, "t2")
        jobs = patient.pending()
    with conversation.invoker(debounce_seconds=1) as invoker:
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        wait_until(lambda: 1 in conversation.learned())

    (job,) = [job for job in jobs if job.key == ConversationKey(conversation.scope, "t2")]
    assert (job.submissions, job.running) == (1, False)
    assert 500 < job.due_at - job.last_at < 700
    assert conversation.model_calls == [[1]]


def test_three_submissions_are_one_run(conversation: Any, wait_until: WaitUntil) -> None:
    """A new submission is merged with a pending one."""
    with conversation.invoker(debounce_seconds=600) as invoker:
        for number in (1, 2, 3):
            invoker.submit([conversation.turn(number)], conversation.scope, "t1")
        invoker.flush_nowait()
        wait_until(lambda: conversation.learned() == [1, 2, 3])

    assert conversation.model_calls == [[1, 2, 3]]


def test_rollback_of_a_running_update_loses_no_turn(conversation: Any, wait_until: WaitUntil) -> None:
    """Its conversation is part of the run that replaces it."""
    with conversation.invoker() as invoker:
        conversation.control_model("hold", on=True)
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        wait_until(lambda: conversation.model_calls)

        invoker.submit([conversation.turn(2)], conversation.scope, "t1")
        conversation.control_model("hold", on=False)
        wait_until(lambda: conversation.learned() == [1, 2])

    assert conversation.model_calls == [[1], [1, 2]]
    statuses = [run["status"] for run in _runs(conversation, "t1")]
    assert statuses in (["success"], ["running"])


def test_update_that_waited_for_max_wait_is_not_rolled_back(conversation: Any, wait_until: WaitUntil) -> None:
    """An active conversation is learned from too."""
    with conversation.invoker(max_wait_seconds=0) as invoker:
        conversation.control_model("hold", on=True)
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        wait_until(lambda: conversation.model_calls)

        invoker.submit([conversation.turn(2)], conversation.scope, "t1")
        open_runs = [run for run in _runs(conversation, "t1") if run["status"] in {"pending", "running"}]
        conversation.control_model("hold", on=False)
        wait_until(lambda: conversation.learned() == [1, 2])

    assert len(open_runs) == 2
    assert conversation.model_calls[0] == [1]
    assert len(conversation.model_calls) == 2


def test_resubmitted_turn_is_not_learned_twice(conversation: Any) -> None:
    """A run may be rolled back after it saved; the watermark shows what was learned."""
    with conversation.invoker() as invoker:
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        first = invoker.flush(120)

        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        second = invoker.flush(120)

    assert first
    assert second
    assert conversation.model_calls == [[1]]


def test_concurrent_submissions_of_two_clients_lose_nothing(conversation: Any) -> None:
    """Each may see runs that the other is about to replace."""
    with conversation.invoker() as one, conversation.invoker() as other, ThreadPoolExecutor(6) as pool:
        for number, invoker in enumerate([one, other] * 6):
            pool.submit(invoker.submit, [conversation.turn(number)], conversation.scope, "t1")
        pool.shutdown()
        flushed = one.flush(120)

    assert flushed
    assert conversation.learned() == list(range(12))


def test_users_and_agents_are_learned_concurrently_and_separately(conversation: Any) -> None:
    """They neither wait for each other nor share memories."""
    scopes = [Scope(f"{conversation.name}-{number}", "coach" if number % 2 else None) for number in range(8)]

    async def submit_all() -> None:
        async with conversation.invoker(debounce_seconds=0) as invoker:
            submissions = [
                invoker.asubmit([conversation.turn(index)], scope, "t1") for index, scope in enumerate(scopes)
            ]
            await asyncio.gather(*submissions)

    asyncio.run(submit_all())
    with conversation.invoker() as invoker:
        flushed = invoker.flush(120)

    assert flushed
    assert [conversation.learned(scope) for scope in scopes] == [[index] for index in range(8)]
    assert conversation.storage.load(scopes[1]).facts[0].source == "t1"


def test_asubmit_does_not_block_the_event_loop(conversation: Any) -> None:
    """An agent serves many users on one event loop."""

    async def submit() -> None:
        async with conversation.invoker() as invoker:
            await invoker.asubmit([conversation.turn(1)], conversation.scope, "t1")

    detector = BlockBuster("memgraph")
    detector.activate()
    try:
        asyncio.run(submit())
    finally:
        detector.deactivate()

    with conversation.invoker() as invoker:
        assert invoker.flush(120)
    assert conversation.learned() == [1]


def test_failed_update_is_listed_and_can_be_retried(conversation: Any) -> None:
    """No turn is lost while the model is down."""
    with conversation.invoker() as invoker:
        conversation.control_model("down", on=True)
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        flushed = invoker.flush(120)
        failed = [job for job in invoker.failed() if job.key.scope == conversation.scope]
        conversation.control_model("down", on=False)

        retried = invoker.retry(conversation.scope)

        assert invoker.flush(120)
    assert not flushed
    assert [(job.attempts, job.error) for job in failed] == [
        (1, "ModelError: the model did not answer: RuntimeError: the model is down")
    ]
    assert retried == 1
    assert conversation.learned() == [1]


def test_failed_update_is_retried_with_the_next_submission(conversation: Any) -> None:
    """A short outage of the model needs no manual retry."""
    with conversation.invoker() as invoker:
        conversation.control_model("down", on=True)
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        invoker.flush(120)
        conversation.control_model("down", on=False)
        conversation.control_model("hold", on=True)

        invoker.submit([conversation.turn(2)], conversation.scope, "t1")
        open_jobs = [
            (job.submissions, job.attempts) for job in invoker.pending() if job.key.scope == conversation.scope
        ]
        conversation.control_model("hold", on=False)

        assert invoker.flush(120)
    assert open_jobs == [(1, 0), (1, 1)]
    assert conversation.learned() == [1, 2]


def test_forget_discards_running_updates(conversation: Any, wait_until: WaitUntil) -> None:
    """A running update is discarded too; only later turns are learned."""
    with conversation.invoker() as invoker:
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")
        invoker.flush(120)
        conversation.control_model("hold", on=True)
        invoker.submit([conversation.turn(2)], conversation.scope, "t1")
        wait_until(lambda: len(conversation.model_calls) == 2)

        invoker.forget(conversation.scope)
        conversation.control_model("hold", on=False)

        assert not [job for job in invoker.pending() if job.key.scope == conversation.scope]
        assert not _runs(conversation, "t1")
        invoker.submit([conversation.turn(number) for number in (1, 2, 3)], conversation.scope, "t1")
        assert invoker.flush(120)
    assert conversation.learned() == [3]


def test_forget_needs_the_storage(server: Any) -> None:
    """Discarding the runs but not the memory would look like success."""
    with ServerInvoker(server.url) as invoker, pytest.raises(ConfigError, match="storage="):
        invoker.forget(Scope("ada"))


def test_pending_jobs_are_visible_to_other_clients(conversation: Any) -> None:
    """The client has no state, so it can be restarted at any time."""
    with conversation.invoker(debounce_seconds=600) as invoker:
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")

    with conversation.invoker() as another:
        pending = [job for job in another.pending() if job.key.scope == conversation.scope]
        assert another.flush(120)
    assert [job.key for job in pending] == [ConversationKey(conversation.scope, "t1")]
    assert conversation.learned() == [1]


def test_flush_nowait_starts_pending_runs(conversation: Any, wait_until: WaitUntil) -> None:
    """At the end of a session there may be no time to wait."""
    with conversation.invoker(debounce_seconds=600) as invoker:
        invoker.submit([conversation.turn(1)], conversation.scope, "t1")

        invoker.flush_nowait()

    wait_until(lambda: conversation.learned() == [1])


def test_open_runs_survive_a_server_restart(
    new_server: Callable[[], Any], new_conversation: Callable[[Any], Any], wait_until: WaitUntil
) -> None:
    """`langgraph dev` saves its state when it is stopped, and restarts unfinished runs."""
    server = new_server()
    waits, runs = new_conversation(server), new_conversation(server)
    server.start()
    try:
        runs.control_model("hold", on=True)
        with waits.invoker(debounce_seconds=600) as patient, runs.invoker(debounce_seconds=0) as eager:
            patient.submit([waits.turn(1)], waits.scope, "t1")
            eager.submit([runs.turn(1)], runs.scope, "t1")
            wait_until(lambda: runs.model_calls)
            server.stop()
            runs.control_model("hold", on=False)

            server.start()

            assert patient.flush(120)
        assert waits.learned() == runs.learned() == [1]
    finally:
        server.stop()


def test_conversation_without_thread_id_has_unknown_source(conversation: Any) -> None:
    """As with the other invokers, and unlike the server's own thread id."""
    with conversation.invoker(debounce_seconds=0) as invoker:
        invoker.submit([conversation.turn(1)], conversation.scope)
        assert invoker.flush(120)

    memory = conversation.storage.load(conversation.scope)
    assert list(memory.threads) == ["unknown"]
    assert memory.facts[0].source == "unknown"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_existing_client_is_used_and_not_closed(conversation: Any, kind: str) -> None:
    """The application configures headers, proxies and authentication."""

    async def asynchronous() -> bool:
        async with get_client(url=conversation.server.url) as client:
            async with ServerInvoker(client, "scripted", settings=Settings(debounce_seconds=0)) as invoker:
                await invoker.asubmit([conversation.turn(1)], conversation.scope, "t1")
                flushed = await asyncio.to_thread(invoker.flush, 120)
            return flushed and bool(await client.threads.search(limit=1))

    def synchronous() -> bool:
        with get_sync_client(url=conversation.server.url) as client:
            with ServerInvoker(client, "scripted", settings=Settings(debounce_seconds=0)) as invoker:
                invoker.submit([conversation.turn(1)], conversation.scope, "t1")
                flushed = invoker.flush(120)
            return flushed and bool(client.threads.search(limit=1))

    assert asyncio.run(asynchronous()) if kind == "async" else synchronous()
    assert conversation.learned() == [1]


def test_rejection_by_the_server_names_its_reason(server: Any) -> None:
    """The assistant is not deployed."""
    with (
        ServerInvoker(server.url, "no_such_assistant") as invoker,
        pytest.raises(OutboxError, match="no_such_assistant"),
    ):
        invoker.submit([HumanMessage("Hello.")], Scope("ada"), "t1")


def _runs(conversation: Any, thread_id: str) -> list[Any]:
    thread = server_thread_id("scripted", ConversationKey(conversation.scope, thread_id))
    with get_sync_client(url=conversation.server.url) as client:
        found = client.threads.search(ids=[thread])
        return client.runs.list(thread) if found else []
