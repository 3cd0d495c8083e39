"""ServerInvoker on the real server."""

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
from memgraph.background.langgraph_runs import server_thread_id
from memgraph.background.outbox import ConversationKey
from memgraph.background.server_invoker import ServerInvoker
from memgraph.errors import OutboxError
from memgraph.settings import Settings

pytestmark = pytest.mark.xdist_group("server")

Until = Callable[[Callable[[], object]], None]


def test_a_submission_waits_for_its_quiet_time_and_runs_once(talk: Any, until: Until) -> None:
    """Whoever goes on talking is not interrupted by an update for every sentence."""
    with talk.invoker() as invoker:
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        jobs = invoker.pending()
        until(talk.learned)

    mine = [job for job in jobs if job.key == ConversationKey(talk.scope, "t1")]
    assert [(job.submissions, job.running) for job in mine] == [(1, False)]
    assert 0 < mine[0].due_at - mine[0].last_at < 5
    assert talk.asked == [[1]]


def test_three_submissions_of_one_turn_each_are_one_run_that_saw_all(talk: Any, until: Until) -> None:
    """What is submitted while another waits joins it."""
    with talk.invoker(debounce_seconds=2) as invoker:
        for number in (1, 2, 3):
            invoker.submit([talk.turn(number)], talk.scope, "t1")
        until(lambda: talk.learned() == [1, 2, 3])

    assert talk.asked == [[1, 2, 3]]


def test_a_running_update_that_is_rolled_back_loses_no_turn(talk: Any, until: Until) -> None:
    """What it carried is in the run that takes its place."""
    with talk.invoker() as invoker:
        talk.flag("hold", on=True)
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        until(lambda: talk.asked)

        invoker.submit([talk.turn(2)], talk.scope, "t1")
        talk.flag("hold", on=False)
        until(lambda: talk.learned() == [1, 2])

    assert talk.asked == [[1], [1, 2]]
    statuses = [run["status"] for run in _runs(talk, "t1")]
    assert statuses in (["success"], ["running"])


def test_an_update_that_has_waited_its_longest_is_not_rolled_back_again(talk: Any, until: Until) -> None:
    """A conversation that never pauses is learned from all the same."""
    with talk.invoker(max_wait_seconds=0) as invoker:
        talk.flag("hold", on=True)
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        until(lambda: talk.asked)

        invoker.submit([talk.turn(2)], talk.scope, "t1")
        open_runs = [run for run in _runs(talk, "t1") if run["status"] in {"pending", "running"}]
        talk.flag("hold", on=False)
        until(lambda: talk.learned() == [1, 2])

    assert len(open_runs) == 2
    assert talk.asked[0] == [1]
    assert len(talk.asked) == 2


def test_what_was_learned_before_a_rollback_is_not_learned_twice(talk: Any) -> None:
    """A rollback may come after the save: the memory's thread marks know."""
    with talk.invoker() as invoker:
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        first = invoker.flush(60)

        invoker.submit([talk.turn(1)], talk.scope, "t1")
        second = invoker.flush(60)

    assert first
    assert second
    assert talk.asked == [[1]]


def test_two_clients_that_submit_to_one_conversation_at_once_lose_nothing(talk: Any) -> None:
    """Each sees runs that the other may be about to replace."""
    with talk.invoker() as one, talk.invoker() as other, ThreadPoolExecutor(6) as pool:
        for number, invoker in enumerate([one, other] * 6):
            pool.submit(invoker.submit, [talk.turn(number)], talk.scope, "t1")
        pool.shutdown()
        flushed = one.flush(60)

    assert flushed
    assert talk.learned() == list(range(12))


def test_users_and_agents_are_learned_from_at_once_and_apart(talk: Any) -> None:
    """Nobody waits for another, and nobody reads another's."""
    scopes = [Scope(f"{talk.name}-{number}", "coach" if number % 2 else None) for number in range(8)]

    async def submit_all() -> None:
        async with talk.invoker(debounce_seconds=0) as invoker:
            every = [invoker.asubmit([talk.turn(place)], scope, "t1") for place, scope in enumerate(scopes)]
            await asyncio.gather(*every)

    asyncio.run(submit_all())
    with talk.invoker() as invoker:
        flushed = invoker.flush(60)

    assert flushed
    assert [talk.learned(scope) for scope in scopes] == [[place] for place in range(8)]
    assert talk.storage.load(scopes[1]).facts[0].source == "t1"


def test_submitting_from_an_event_loop_never_blocks_it(talk: Any) -> None:
    """An agent that answers many at once hands over without holding anyone up."""

    async def submit() -> None:
        async with talk.invoker() as invoker:
            await invoker.asubmit([talk.turn(1)], talk.scope, "t1")

    watch = BlockBuster("memgraph")
    watch.activate()
    try:
        asyncio.run(submit())
    finally:
        watch.deactivate()

    with talk.invoker() as invoker:
        assert invoker.flush(60)
    assert talk.learned() == [1]


def test_an_update_that_failed_is_told_with_its_error_and_succeeds_when_retried(talk: Any) -> None:
    """A model that is down costs no turn."""
    with talk.invoker() as invoker:
        talk.flag("down", on=True)
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        flushed = invoker.flush(60)
        failed = [job for job in invoker.failed() if job.key.scope == talk.scope]
        talk.flag("down", on=False)

        retried = invoker.retry(talk.scope)

        assert invoker.flush(60)
    assert not flushed
    assert [(job.attempts, job.error) for job in failed] == [
        (1, "ModelError: the model did not answer: RuntimeError: the model is down")
    ]
    assert retried == 1
    assert talk.learned() == [1]


def test_a_failed_update_is_tried_again_when_the_conversation_goes_on(talk: Any) -> None:
    """Nobody has to look after a model that was down for a minute."""
    with talk.invoker() as invoker:
        talk.flag("down", on=True)
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        invoker.flush(60)
        talk.flag("down", on=False)

        invoker.submit([talk.turn(2)], talk.scope, "t1")
        waiting = [(job.submissions, job.attempts) for job in invoker.pending() if job.key.scope == talk.scope]

        assert invoker.flush(60)
    assert waiting == [(1, 0), (1, 1)]
    assert talk.learned() == [1, 2]


def test_what_is_forgotten_stays_forgotten(talk: Any, until: Until) -> None:
    """Also what was being learned meanwhile; only what is said afterwards is learned."""
    with talk.invoker() as invoker:
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        invoker.flush(60)
        talk.flag("hold", on=True)
        invoker.submit([talk.turn(2)], talk.scope, "t1")
        until(lambda: len(talk.asked) == 2)

        invoker.forget(talk.scope)
        talk.flag("hold", on=False)

        assert not [job for job in invoker.pending() if job.key.scope == talk.scope]
        assert not _runs(talk, "t1")
        invoker.submit([talk.turn(number) for number in (1, 2, 3)], talk.scope, "t1")
        assert invoker.flush(60)
    assert talk.learned() == [3]


def test_forgetting_needs_to_know_where_the_memories_are(server: Any) -> None:
    """Dropping what waits and leaving the memory would look like success."""
    with ServerInvoker(server.url) as invoker, pytest.raises(ConfigError, match="storage="):
        invoker.forget(Scope("ada"))


def test_another_client_sees_what_waits(talk: Any) -> None:
    """Nothing that matters is in the client: it may be started anew at any time."""
    with talk.invoker(debounce_seconds=600) as invoker:
        invoker.submit([talk.turn(1)], talk.scope, "t1")

    with talk.invoker() as another:
        waiting = [job for job in another.pending() if job.key.scope == talk.scope]
        assert another.flush(60)
    assert [job.key for job in waiting] == [ConversationKey(talk.scope, "t1")]
    assert talk.learned() == [1]


def test_what_waits_can_be_started_without_waiting_for_it(talk: Any, until: Until) -> None:
    """At the end of a session there may be no time."""
    with talk.invoker(debounce_seconds=600) as invoker:
        invoker.submit([talk.turn(1)], talk.scope, "t1")

        invoker.flush_nowait()

    until(lambda: talk.learned() == [1])


def test_what_waits_or_runs_survives_a_restart_of_the_server(
    new_server: Callable[[], Any], new_talk: Callable[[Any], Any], until: Until
) -> None:
    """`langgraph dev` writes down what it has when it is stopped, and starts over what it had not finished."""
    server = new_server()
    waits, runs = new_talk(server), new_talk(server)
    server.start()
    try:
        runs.flag("hold", on=True)
        with waits.invoker(debounce_seconds=600) as patient, runs.invoker(debounce_seconds=0) as eager:
            patient.submit([waits.turn(1)], waits.scope, "t1")
            eager.submit([runs.turn(1)], runs.scope, "t1")
            until(lambda: runs.asked)
            server.stop()
            runs.flag("hold", on=False)

            server.start()

            assert patient.flush(60)
        assert waits.learned() == runs.learned() == [1]
    finally:
        server.stop()


def test_a_conversation_without_a_thread_is_kept_under_unknown(talk: Any) -> None:
    """As it is by the other invokers: the server's own thread id is nobody's business."""
    with talk.invoker(debounce_seconds=0) as invoker:
        invoker.submit([talk.turn(1)], talk.scope)
        assert invoker.flush(60)

    memory = talk.storage.load(talk.scope)
    assert list(memory.threads) == ["unknown"]
    assert memory.facts[0].source == "unknown"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_client_that_is_given_is_used_and_stays_open(talk: Any, kind: str) -> None:
    """Headers, proxies and authentication are the application's."""

    async def asynchronous() -> bool:
        async with get_client(url=talk.server.url) as client:
            async with ServerInvoker(client, "scripted", settings=Settings(debounce_seconds=0)) as invoker:
                await invoker.asubmit([talk.turn(1)], talk.scope, "t1")
                flushed = await asyncio.to_thread(invoker.flush, 60)
            return flushed and bool(await client.threads.search(limit=1))

    def synchronous() -> bool:
        with get_sync_client(url=talk.server.url) as client:
            with ServerInvoker(client, "scripted", settings=Settings(debounce_seconds=0)) as invoker:
                invoker.submit([talk.turn(1)], talk.scope, "t1")
                flushed = invoker.flush(60)
            return flushed and bool(client.threads.search(limit=1))

    assert asyncio.run(asynchronous()) if kind == "async" else synchronous()
    assert talk.learned() == [1]


def test_what_the_server_refuses_is_an_error_that_says_why(server: Any) -> None:
    """An assistant that is not deployed learns nothing."""
    with (
        ServerInvoker(server.url, "no_such_assistant") as invoker,
        pytest.raises(OutboxError, match="no_such_assistant"),
    ):
        invoker.submit([HumanMessage("Hello.")], Scope("ada"), "t1")


def _runs(talk: Any, thread_id: str) -> list[Any]:
    thread = server_thread_id("scripted", ConversationKey(talk.scope, thread_id))
    with get_sync_client(url=talk.server.url) as client:
        found = client.threads.search(ids=[thread])
        return client.runs.list(thread) if found else []
