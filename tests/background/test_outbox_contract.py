"""The contract of every outbox. A new one is tested by a line in URLS."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from memgraph.background import Outbox, open_outbox
from memgraph.background.outbox import Claim, ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.errors import QueueFullError, UserQueueFullError
from memgraph.models import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

URLS = {"sqlite": "sqlite:{folder}/outbox.db", "memory": "memory:", "postgresql": "{postgres_url}"}
"""The URL of each. `{postgres_url}` is the fixture of that name."""
DURABLE = ("sqlite", "postgresql")

ADA, BOB, BOT = Scope("ada"), Scope("bob"), Scope("ada", "bot")
KEY = ConversationKey(ADA, "t1")
OTHER = ConversationKey(ADA, "t2")
TIMING = DebouncePolicy(debounce=5, max_wait=10)
LEASE = 30


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return resolve_url(URLS[request.param], request, tmp_path)


def resolve_url(url: str, request: pytest.FixtureRequest, folder: Path) -> str:
    return request.getfixturevalue("postgres_url") if url == "{postgres_url}" else url.format(folder=folder)


@pytest.fixture
def outbox(url: str) -> Iterator[Outbox]:
    with open_outbox(url) as opened:
        yield opened


def enqueue(
    outbox: Outbox, messages: str = "[]", key: ConversationKey = KEY, *, now: float = 0, max_jobs: int = 1_000
) -> None:
    outbox.enqueue(key, messages, now=now, timing=TIMING, max_jobs=max_jobs)


def claim(outbox: Outbox, *, now: float = 100, limit: int = 1, scope: Scope | None = None) -> tuple[Claim, ...]:
    return outbox.claim(now=now, lease_seconds=LEASE, limit=limit, scope=scope)


def claim_one(outbox: Outbox, *, now: float = 100) -> Claim:
    (claimed,) = claim(outbox, now=now)
    return claimed


def texts(claimed: Claim) -> list[str]:
    return [submission.messages for submission in claimed.submissions]


def due(outbox: Outbox) -> list[float]:
    return [job.due_at for job in outbox.pending(now=0)]


# -- submitting ----------------------------------------------------------------------------------


def test_empty_outbox_lists_and_claims_nothing(outbox: Outbox) -> None:
    assert (outbox.pending(now=0), outbox.dead_letters(), outbox.next_due(now=0)) == ((), (), None)
    assert claim(outbox) == ()


def test_enqueued_submission_is_claimed(outbox: Outbox) -> None:
    enqueue(outbox, '[{"content": "喜欢 Python，😀 \\u0000"}]', now=3)

    claimed = claim_one(outbox)

    assert (claimed.key, claimed.attempts) == (KEY, 0)
    assert [(entry.at, entry.messages) for entry in claimed.submissions] == [
        (3, '[{"content": "喜欢 Python，😀 \\u0000"}]')
    ]


@pytest.mark.parametrize(
    "key",
    [
        ConversationKey(ADA),
        ConversationKey(ADA, "x" * 256),
        ConversationKey(Scope("😀 ' --"), "線"),
        ConversationKey(BOT, "t1"),
    ],
)
def test_ids_are_preserved(outbox: Outbox, key: ConversationKey) -> None:
    enqueue(outbox, key=key)

    assert claim_one(outbox).key == outbox.pending(now=0)[0].key == key


def test_submissions_of_a_conversation_are_one_job_in_order(outbox: Outbox) -> None:
    for number in range(12):
        enqueue(outbox, str(number), now=number / 10)

    (job,) = outbox.pending(now=0)

    assert (job.submissions, job.first_at, job.last_at) == (12, 0, 1.1)
    assert texts(claim_one(outbox)) == [str(number) for number in range(12)]


def test_each_conversation_has_its_own_job(outbox: Outbox) -> None:
    keys = [KEY, OTHER, ConversationKey(ADA), ConversationKey(BOB, "t1"), ConversationKey(BOT, "t1")]
    for key in keys:
        enqueue(outbox, key=key)

    assert {job.key for job in outbox.pending(now=0)} == set(keys)


def test_job_is_due_after_quiet_period(outbox: Outbox) -> None:
    enqueue(outbox, now=0)
    enqueue(outbox, now=2)

    assert due(outbox) == [7]
    assert claim(outbox, now=6.9) == ()
    assert claim(outbox, now=7) != ()


def test_active_conversation_is_due_after_max_wait(outbox: Outbox) -> None:
    for now in range(0, 10, 2):
        enqueue(outbox, now=now)

    assert due(outbox) == [10]


def test_due_job_is_not_postponed(outbox: Outbox) -> None:
    """All workers may be busy, or the job may have been expedited."""
    enqueue(outbox, now=0)
    enqueue(outbox, now=6)

    assert due(outbox) == [5]


def test_other_conversations_do_not_postpone_a_job(outbox: Outbox) -> None:
    enqueue(outbox, now=0)
    enqueue(outbox, key=OTHER, now=4)

    assert due(outbox) == [5, 9]


def test_full_outbox_rejects_a_new_conversation(outbox: Outbox) -> None:
    enqueue(outbox, key=KEY, max_jobs=2)
    enqueue(outbox, key=ConversationKey(BOB), max_jobs=2)

    with pytest.raises(
        QueueFullError, match=r"2 conversations are queued in .*submit again later, or raise max_queued"
    ):
        enqueue(outbox, key=ConversationKey(Scope("cleo")), max_jobs=2)

    assert len(outbox.pending(now=0)) == 2


def test_one_user_fills_a_tenth_of_the_queue_at_most(outbox: Outbox) -> None:
    """Threads cost a client nothing, and a full queue rejects every user. Neither an agent nor a storage adds room."""
    agent = Scope(KEY.scope.user_id, "coder")
    for key in (KEY, OTHER, ConversationKey(agent)):
        enqueue(outbox, key=key, max_jobs=30)

    with pytest.raises(UserQueueFullError, match="3 conversations of this user are queued"):
        enqueue(outbox.for_storage("file:other"), key=ConversationKey(agent, "t9"), max_jobs=30)
    enqueue(outbox, key=ConversationKey(BOB), max_jobs=30)

    assert len(outbox.pending(now=0)) == 4


def test_full_outbox_accepts_more_of_a_pending_conversation(outbox: Outbox) -> None:
    enqueue(outbox, max_jobs=1)
    enqueue(outbox, max_jobs=1)

    assert outbox.pending(now=0)[0].submissions == 2


def test_dead_letters_do_not_count_as_pending(outbox: Outbox) -> None:
    enqueue(outbox, max_jobs=1)
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)

    enqueue(outbox, key=OTHER, max_jobs=1)

    assert len(outbox.pending(now=0)) == 1


# -- leases ---------------------------------------------------------------------------------------


def test_earliest_due_job_is_claimed_first(outbox: Outbox) -> None:
    enqueue(outbox, key=ConversationKey(BOB), now=1)
    enqueue(outbox, key=KEY, now=0)

    assert [claimed.key for claimed in claim(outbox, limit=5)] == [KEY, ConversationKey(BOB)]


def test_claim_respects_its_limit(outbox: Outbox) -> None:
    for user in "abcde":
        enqueue(outbox, key=ConversationKey(Scope(user)))

    assert [len(claim(outbox, limit=3)) for _ in range(3)] == [3, 2, 0]


def test_scope_is_claimed_by_one_worker(outbox: Outbox) -> None:
    """Two updates of one memory would conflict, and pay for two model calls."""
    enqueue(outbox, key=KEY)
    enqueue(outbox, key=OTHER)

    first = claim(outbox, limit=5)

    assert len(first) == 1
    assert claim(outbox, limit=5) == ()
    outbox.complete(first[0], timing=TIMING)
    assert len(claim(outbox, limit=5)) == 1


def test_agent_memory_is_a_separate_scope(outbox: Outbox) -> None:
    enqueue(outbox, key=KEY)
    enqueue(outbox, key=ConversationKey(BOT, "t1"))

    assert len(claim(outbox, limit=5)) == 2


def test_claim_can_be_limited_to_a_scope(outbox: Outbox) -> None:
    enqueue(outbox, key=KEY)
    enqueue(outbox, key=ConversationKey(BOT))
    enqueue(outbox, key=ConversationKey(BOB))

    assert [claimed.key for claimed in claim(outbox, limit=5, scope=BOT)] == [ConversationKey(BOT)]


def test_expired_lease_can_be_taken_over(outbox: Outbox) -> None:
    enqueue(outbox)
    lost = claim_one(outbox, now=100)

    assert claim(outbox, now=100 + LEASE - 0.1) == ()
    taken = claim_one(outbox, now=100 + LEASE)

    assert texts(taken) == texts(lost)
    assert taken.lease_id != lost.lease_id


def test_renewed_lease_is_kept(outbox: Outbox) -> None:
    enqueue(outbox)
    claimed = claim_one(outbox, now=100)

    assert outbox.renew([claimed.lease_id, "none"], now=120, lease_seconds=LEASE) == {claimed.lease_id}

    assert claim(outbox, now=149) == ()
    assert claim(outbox, now=150) != ()


def test_lost_lease_is_not_renewed(outbox: Outbox) -> None:
    enqueue(outbox)
    lost = claim_one(outbox, now=100)
    claim_one(outbox, now=200)

    assert outbox.renew([lost.lease_id], now=201, lease_seconds=LEASE) == frozenset()


def test_worker_without_lease_changes_nothing(outbox: Outbox) -> None:
    enqueue(outbox)
    lost = claim_one(outbox, now=100)
    taken = claim_one(outbox, now=200)

    assert not outbox.complete(lost, timing=TIMING)
    assert not outbox.failed(lost, error="x", retry_at=900)
    assert not outbox.dead_letter(lost, error="x", timing=TIMING)
    outbox.release(lost)

    assert claim(outbox, now=201) == ()
    assert (outbox.pending(now=201)[0].running, outbox.dead_letters()) == (True, ())
    assert outbox.complete(taken, timing=TIMING)
    assert outbox.pending(now=201) == ()


def test_expired_lease_is_valid_until_taken_over(outbox: Outbox) -> None:
    enqueue(outbox)
    claimed = claim_one(outbox, now=100)

    assert outbox.renew([claimed.lease_id], now=900, lease_seconds=LEASE)
    assert outbox.complete(claimed, timing=TIMING)


def test_released_job_is_unchanged(outbox: Outbox) -> None:
    enqueue(outbox)
    before = outbox.pending(now=100)
    outbox.release(claim_one(outbox))

    assert outbox.pending(now=100) == before
    assert claim_one(outbox).attempts == 0


def test_running_jobs_are_listed_as_running(outbox: Outbox) -> None:
    enqueue(outbox, key=KEY)
    enqueue(outbox, key=ConversationKey(BOB), now=1)
    claim_one(outbox, now=100)

    assert [job.running for job in outbox.pending(now=100)] == [True, False]
    assert [job.running for job in outbox.pending(now=100 + LEASE)] == [False, False]


# -- clocks and deletions -------------------------------------------------------------------------

DAY = 86_400


def test_lease_taken_before_the_clock_went_back_has_expired(outbox: Outbox) -> None:
    enqueue(outbox, now=DAY)
    claim_one(outbox, now=DAY + 100)
    outbox.expedite(now=50)

    assert not outbox.pending(now=100)[0].running
    assert texts(claim_one(outbox, now=100)) == ["[]"]


@pytest.mark.parametrize("has_failed", [False, True])
def test_job_from_before_the_clock_went_back_is_due(outbox: Outbox, *, has_failed: bool) -> None:
    enqueue(outbox, now=DAY)
    if has_failed:
        outbox.failed(claim_one(outbox, now=DAY + 100), error="x", retry_at=DAY + 200)
    enqueue(outbox, key=ConversationKey(BOB), now=98)

    assert outbox.next_due(now=100) == 100
    assert claim_one(outbox, now=100).key == KEY


def test_submissions_before_a_deletion_are_forgotten_and_later_ones_are_not(outbox: Outbox) -> None:
    """Whatever their times are, and only in the storage whose memory was deleted."""
    mine, yours = outbox.for_storage("mine"), outbox.for_storage("yours")
    for view in (mine, yours):
        enqueue(view, "old", now=50)

    last = mine.record_deletion(ADA, "2026-01-01")
    enqueue(mine, "new", now=0)

    claimed, other = claim_one(mine), claim_one(yours)
    assert [(each.messages, each.is_forgotten) for each in claimed.submissions] == [("old", True), ("new", False)]
    assert (claimed.deletion, claimed.submissions[0].number) == ("2026-01-01", last)
    assert (other.submissions[0].is_forgotten, other.deletion) == (False, "")


def test_merge_of_later_submissions_is_not_forgotten(outbox: Outbox) -> None:
    enqueue(outbox, "old")
    outbox.record_deletion(ADA, "2026-01-01")
    enqueue(outbox, "new")
    merged = outbox.replace_submissions(claim_one(outbox), "new")
    assert merged
    outbox.release(merged)

    assert [each.is_forgotten for each in claim_one(outbox).submissions] == [False]


def test_deletion_that_a_run_found_is_recorded_if_the_scope_has_no_other_jobs(outbox: Outbox) -> None:
    """Another job may be older than the deletion."""
    enqueue(outbox)
    enqueue(outbox, key=ConversationKey(ADA, "older"))
    assert outbox.complete(claim_one(outbox), timing=TIMING, deletion="2026-01-01")
    (older,) = outbox.claim(now=100, lease_seconds=LEASE)
    assert older.deletion == ""

    assert outbox.complete(older, timing=TIMING, deletion="2026-01-01")
    enqueue(outbox, "new")

    claimed = claim_one(outbox)
    assert (claimed.deletion, [each.is_forgotten for each in claimed.submissions]) == ("2026-01-01", [False])


def test_dead_letter_is_forgotten_with_the_memory(outbox: Outbox) -> None:
    enqueue(outbox)
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)
    outbox.record_deletion(ADA, "2026-01-01")
    outbox.retry(now=100)

    assert [each.is_forgotten for each in claim_one(outbox).submissions] == [True]


# -- storages -------------------------------------------------------------------------------------


def test_view_of_a_storage_sees_its_own_jobs_only(outbox: Outbox) -> None:
    mine, yours = outbox.for_storage("mine"), outbox.for_storage("yours")
    enqueue(mine, "m")
    enqueue(yours, "y")

    assert [job.storage for job in mine.pending(now=0)] == ["mine"]
    assert sorted(job.storage for job in outbox.pending(now=0)) == ["mine", "yours"]
    assert (texts(claim_one(mine)), claim(mine)) == (["m"], ())
    assert (texts(claim_one(yours)), claim(yours)) == (["y"], ())


def test_steps_of_one_storage_leave_the_jobs_of_another(outbox: Outbox) -> None:
    mine, yours = outbox.for_storage("mine"), outbox.for_storage("yours")
    enqueue(mine, now=500)
    enqueue(mine, key=OTHER)
    mine.dead_letter(claim_one(mine), error="x", timing=TIMING)

    yours.expedite(now=100)

    assert (due(mine), yours.next_due(now=100), yours.dead_letters()) == ([505], None, ())
    assert (yours.retry(now=100), mine.retry(now=100)) == (0, 1)


def test_dead_letter_and_its_retry_keep_the_storage(outbox: Outbox) -> None:
    mine, yours = outbox.for_storage("mine"), outbox.for_storage("yours")
    enqueue(mine, "m")
    enqueue(yours, "y")
    mine.dead_letter(claim_one(mine), error="x", timing=TIMING)
    assert [job.storage for job in outbox.dead_letters()] == ["mine"]

    mine.retry(now=100)

    assert texts(claim_one(mine)) == ["m"]
    assert texts(claim_one(yours)) == ["y"]


def test_job_without_a_storage_belongs_to_whoever_claims_it(outbox: Outbox) -> None:
    """Jobs from before an upgrade name none."""
    mine, yours = outbox.for_storage("mine"), outbox.for_storage("yours")
    enqueue(outbox, "old")

    claimed = claim_one(mine)
    mine.failed(claimed, error="x", retry_at=200)

    assert (texts(claimed), claimed.storage) == (["old"], "mine")
    assert (claim(yours, now=300), texts(claim_one(mine, now=300))) == ((), ["old"])


def test_job_without_a_storage_and_a_new_submission_are_one_job(outbox: Outbox) -> None:
    mine, yours = outbox.for_storage("mine"), outbox.for_storage("yours")
    enqueue(outbox, "old")
    enqueue(mine, "new")

    assert (claim(yours), texts(claim_one(mine))) == ((), ["old", "new"])


# -- replacing ------------------------------------------------------------------------------------


def test_replaced_submission_stays_before_later_ones(outbox: Outbox) -> None:
    """The run learns from it before submissions that arrived in the meantime."""
    for number in range(3):
        enqueue(outbox, str(number), now=number)
    claimed = claim_one(outbox, now=100)
    enqueue(outbox, "new", now=101)

    merged = outbox.replace_submissions(claimed, "together")

    assert merged is not None
    assert (merged.lease_id, merged.key, texts(merged)) == (claimed.lease_id, claimed.key, ["together"])
    assert (merged.submissions[0].number, merged.submissions[0].at) == (claimed.submissions[0].number, 2)
    outbox.release(merged)
    assert texts(claim_one(outbox, now=300)) == ["together", "new"]


def test_replaced_submissions_are_completed_together(outbox: Outbox) -> None:
    enqueue(outbox, "a")
    enqueue(outbox, "b")
    merged = outbox.replace_submissions(claim_one(outbox), "ab")
    enqueue(outbox, "c", now=101)

    assert merged is not None
    assert outbox.complete(merged, timing=TIMING)
    assert texts(claim_one(outbox, now=200)) == ["c"]


def test_worker_without_lease_replaces_nothing(outbox: Outbox) -> None:
    enqueue(outbox, "a")
    enqueue(outbox, "b")
    lost = claim_one(outbox, now=100)
    taken = claim_one(outbox, now=200)

    assert outbox.replace_submissions(lost, "ab") is None
    outbox.release(taken)
    assert texts(claim_one(outbox, now=300)) == ["a", "b"]


# -- results --------------------------------------------------------------------------------------


def test_completed_job_is_removed(outbox: Outbox) -> None:
    enqueue(outbox)
    enqueue(outbox)

    assert outbox.complete(claim_one(outbox), timing=TIMING)

    assert outbox.pending(now=0) == ()
    assert claim(outbox, now=999) == ()


def test_submission_during_a_run_stays_pending(outbox: Outbox) -> None:
    enqueue(outbox, "old")
    claimed = claim_one(outbox, now=100)
    enqueue(outbox, "new", now=101)

    outbox.complete(claimed, timing=TIMING)

    assert due(outbox) == [106]
    assert texts(claim_one(outbox, now=106)) == ["new"]


def test_submission_during_a_failed_run_is_retried_with_it(outbox: Outbox) -> None:
    enqueue(outbox, "old")
    claimed = claim_one(outbox, now=100)
    enqueue(outbox, "new", now=101)

    outbox.failed(claimed, error="down", retry_at=150)

    assert claim(outbox, now=149) == ()
    reclaimed = claim_one(outbox, now=150)
    assert (texts(reclaimed), reclaimed.attempts) == (["old", "new"], 1)


def test_failure_is_listed(outbox: Outbox) -> None:
    enqueue(outbox)
    outbox.failed(claim_one(outbox), error="ModelError: down", retry_at=200)

    (job,) = outbox.pending(now=0)

    assert (job.attempts, job.error, job.due_at) == (1, "ModelError: down", 200)


def test_submission_does_not_bring_a_failed_job_forward(outbox: Outbox) -> None:
    enqueue(outbox)
    outbox.failed(claim_one(outbox), error="x", retry_at=500)
    enqueue(outbox, now=200)

    assert due(outbox) == [500]


def test_success_resets_attempts(outbox: Outbox) -> None:
    enqueue(outbox)
    outbox.failed(claim_one(outbox), error="x", retry_at=100)
    reclaimed = claim_one(outbox)
    enqueue(outbox, now=100)
    outbox.complete(reclaimed, timing=TIMING)

    (job,) = outbox.pending(now=0)

    assert (job.attempts, job.error, job.due_at) == (0, "", 105)


def test_dead_letter_is_not_claimed(outbox: Outbox) -> None:
    enqueue(outbox)
    outbox.failed(claim_one(outbox), error="once", retry_at=0)
    outbox.dead_letter(claim_one(outbox), error="twice", timing=TIMING)

    (job,) = outbox.dead_letters()

    assert (job.key, job.attempts, job.error, job.running, job.submissions) == (KEY, 2, "twice", False, 1)
    assert (outbox.pending(now=0), outbox.next_due(now=0), claim(outbox, now=9_999)) == ((), None, ())


def test_submission_stays_pending_if_its_job_becomes_a_dead_letter(outbox: Outbox) -> None:
    enqueue(outbox, "old")
    claimed = claim_one(outbox, now=100)
    enqueue(outbox, "new", now=101)
    outbox.dead_letter(claimed, error="x", timing=TIMING)

    reclaimed = claim_one(outbox, now=106)

    assert (texts(reclaimed), reclaimed.attempts) == (["new"], 0)
    assert [job.submissions for job in outbox.dead_letters()] == [1]


def test_dead_letters_of_a_conversation_are_merged(outbox: Outbox) -> None:
    for number in range(2):
        enqueue(outbox, str(number), now=number)
        outbox.dead_letter(claim_one(outbox), error=f"error {number}", timing=TIMING)

    (job,) = outbox.dead_letters()

    assert (job.submissions, job.error, job.first_at, job.last_at) == (2, "error 1", 0, 1)


def test_dead_letter_can_be_requeued(outbox: Outbox) -> None:
    enqueue(outbox, "old")
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)

    assert outbox.retry(now=500) == 1

    reclaimed = claim_one(outbox, now=500)
    assert (texts(reclaimed), reclaimed.attempts, outbox.dead_letters()) == (["old"], 0, ())


def test_requeued_submissions_keep_their_order(outbox: Outbox) -> None:
    enqueue(outbox, "old", now=0)
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)
    enqueue(outbox, "new", now=200)

    outbox.retry(now=201)

    assert texts(claim_one(outbox, now=201)) == ["old", "new"]


def test_requeue_during_a_run_stays_pending(outbox: Outbox) -> None:
    """It was submitted before the running ones, but is not part of the claim."""
    enqueue(outbox, "old", now=0)
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)
    enqueue(outbox, "new", now=200)
    running = claim_one(outbox, now=300)
    outbox.retry(now=301)

    outbox.complete(running, timing=TIMING)

    assert texts(claim_one(outbox, now=400)) == ["old"]


def test_requeue_can_be_limited_to_a_scope_and_thread(outbox: Outbox) -> None:
    for key in (KEY, OTHER, ConversationKey(BOB, "t1"), ConversationKey(BOT, "t1")):
        enqueue(outbox, key=key)
        outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)

    assert outbox.retry(now=0, scope=ADA, thread_id="t2") == 1
    assert outbox.retry(now=0, scope=ADA) == 1
    assert outbox.retry(now=0, scope=Scope("nobody")) == 0
    assert {job.key for job in outbox.dead_letters()} == {ConversationKey(BOB, "t1"), ConversationKey(BOT, "t1")}
    assert outbox.retry(now=0) == 2


def test_claim_can_be_limited_to_a_conversation(outbox: Outbox) -> None:
    """Immediate mode must not run other conversations."""
    for key in (KEY, OTHER, ConversationKey(ADA)):
        enqueue(outbox, key=key)

    for key in (OTHER, ConversationKey(ADA)):
        (claimed,) = outbox.claim(now=100, lease_seconds=LEASE, limit=5, scope=ADA, thread_id=key.thread_id or "")
        outbox.release(claimed)

        assert claimed.key == key


# -- due times ------------------------------------------------------------------------------------


def test_next_due_is_the_earliest_job(outbox: Outbox) -> None:
    enqueue(outbox, key=ConversationKey(BOB), now=7)
    enqueue(outbox, key=KEY, now=3)

    assert outbox.next_due(now=0) == outbox.next_due(now=50) == 8


def test_leased_scope_is_due_when_its_lease_ends(outbox: Outbox) -> None:
    enqueue(outbox, key=KEY)
    enqueue(outbox, key=OTHER, now=2)
    claim_one(outbox, now=100)

    assert outbox.next_due(now=101) == 100 + LEASE
    enqueue(outbox, key=ConversationKey(BOB), now=110)
    assert outbox.next_due(now=111) == 115
    assert outbox.next_due(now=100 + LEASE) <= 100 + LEASE  # type: ignore[operator]


def test_expedite_makes_jobs_due_now(outbox: Outbox) -> None:
    enqueue(outbox, key=KEY, now=0)
    outbox.failed(claim_one(outbox, now=5), error="x", retry_at=900)
    enqueue(outbox, key=ConversationKey(BOB), now=10)
    enqueue(outbox, key=ConversationKey(BOT), now=10)

    outbox.expedite(now=11, scope=BOT)
    assert [claimed.key for claimed in claim(outbox, now=11, limit=5)] == [ConversationKey(BOT)]
    outbox.expedite(now=11)
    assert {claimed.key for claimed in claim(outbox, now=11, limit=5)} == {KEY, ConversationKey(BOB)}


def test_expedite_of_a_thread_leaves_the_others(outbox: Outbox) -> None:
    """An empty thread id is the conversation without one."""
    for thread_id in ("t1", "t2", None):
        enqueue(outbox, key=ConversationKey(ADA, thread_id), now=0)

    outbox.expedite(now=1, scope=ADA, thread_id="t2")
    assert [(job.key.thread_id, job.due_at) for job in outbox.pending(now=1)] == [("t2", 1), ("t1", 5), (None, 5)]
    outbox.expedite(now=2, scope=ADA, thread_id="")
    assert [(job.key.thread_id, job.due_at) for job in outbox.pending(now=2)] == [("t2", 1), (None, 2), ("t1", 5)]


def test_expedite_does_not_postpone_a_due_job(outbox: Outbox) -> None:
    enqueue(outbox, now=0)
    outbox.expedite(now=50)

    assert due(outbox) == [5]


# -- threads and processes ------------------------------------------------------------------------


def test_threads_lose_no_submission(outbox: Outbox) -> None:
    def work(who: int) -> None:
        for number in range(25):
            enqueue(outbox, f"{who}-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    assert sorted(texts(claim_one(outbox))) == sorted(f"{who}-{number}" for who in range(8) for number in range(25))


def test_no_two_threads_claim_the_same_job(outbox: Outbox) -> None:
    for number in range(40):
        enqueue(outbox, str(number), ConversationKey(Scope(f"u{number}")))
    taken: list[str] = []
    start = threading.Barrier(4)

    def work(_: int) -> None:
        start.wait()
        while claimed := claim(outbox, limit=3):
            for one in claimed:
                taken.extend(texts(one))
                outbox.complete(one, timing=TIMING)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert sorted(taken) == sorted(str(number) for number in range(40))


@pytest.fixture(params=DURABLE)
def durable_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return resolve_url(URLS[request.param], request, tmp_path)


def test_jobs_survive_reopening(durable_url: str) -> None:
    with open_outbox(durable_url) as outbox:
        enqueue(outbox, "kept")
        enqueue(outbox, "aside", OTHER, now=-50)
        outbox.dead_letter(claim_one(outbox, now=0), error="x", timing=TIMING)

    with open_outbox(durable_url) as outbox:
        assert texts(claim_one(outbox)) == ["kept"]
        assert [job.key for job in outbox.dead_letters()] == [OTHER]


def test_leases_are_shared_by_connections(durable_url: str) -> None:
    with open_outbox(durable_url) as one, open_outbox(durable_url) as other:
        enqueue(one)
        claimed = claim_one(one)

        assert claim(other) == ()
        assert other.pending(now=100)[0].running
        enqueue(other, "more", now=101)
        assert one.complete(claimed, timing=TIMING)
        assert texts(claim_one(one, now=200)) == ["more"]


# -- what waits of a conversation ----------------------------------------------------------------


def test_waiting_submissions_of_a_conversation_can_be_read(outbox: Outbox) -> None:
    """Also while a worker runs them, and without those of others."""
    for number, key in enumerate((KEY, OTHER, KEY)):
        enqueue(outbox, f'["{number}"]', key, now=number)
    before = outbox.submissions(KEY)
    claimed = outbox.claim(now=100, lease_seconds=LEASE, scope=ADA, thread_id="t1")

    assert [submission.messages for submission in before.submissions] == ['["0"]', '["2"]']
    assert [submission.at for submission in before.submissions] == pytest.approx([0, 2], abs=0.01)
    assert outbox.submissions(KEY) == before
    assert len(claimed) == 1


def test_nothing_waits_of_an_unknown_conversation(outbox: Outbox) -> None:
    assert outbox.submissions(KEY) == ((), "")


def test_waiting_submissions_show_a_deletion(outbox: Outbox) -> None:
    enqueue(outbox)
    outbox.record_deletion(ADA, "2026-05-03")
    enqueue(outbox)
    found = outbox.submissions(KEY)

    assert found.deletion == "2026-05-03"
    assert [submission.is_forgotten for submission in found.submissions] == [True, False]


def test_waiting_submissions_of_another_storage_are_not_read(outbox: Outbox) -> None:
    enqueue(outbox.for_storage("file:one"))

    assert outbox.for_storage("file:other").submissions(KEY) == ((), "")


def test_what_is_kept_of_a_user_is_listed_and_deleted(outbox: Outbox) -> None:
    """Pending and failed jobs of all agents; those of others stay."""
    for number, key in enumerate((KEY, OTHER, ConversationKey(BOT), ConversationKey(BOB))):
        enqueue(outbox, f'["{key}"]', key, now=number)
    outbox.dead_letter(claim(outbox, scope=ADA)[0], error="no answer", timing=TIMING)

    before = outbox.texts_of("ada")
    outbox.delete_user("ada")

    assert len(before) == 3
    assert (outbox.texts_of("ada"), len(outbox.texts_of("bob"))) == ((), 1)
    assert outbox.dead_letters() == ()


def test_a_worker_whose_job_was_deleted_with_its_user_has_lost_it(outbox: Outbox) -> None:
    enqueue(outbox)
    claimed = claim(outbox)[0]

    outbox.delete_user("ada")

    assert not outbox.dead_letter(claimed, error="no answer", timing=TIMING)
    assert outbox.dead_letters() == ()
