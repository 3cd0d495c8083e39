"""What every outbox promises. A new one joins by a line in URLS."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from memgraph.background import Outbox, open_outbox
from memgraph.background.outbox import Claim, ConversationKey, ReviewDecision
from memgraph.background.schedule import DebouncePolicy
from memgraph.errors import QueueFullError
from memgraph.models import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

URLS = {
    "sqlite": "sqlite:{folder}/outbox.db",
    "memory": "memory:",
    "postgresql": "{postgres_url}",
}
"""Where to open each. `{postgres_url}` is the fixture called so."""
DURABLE = ("sqlite", "postgresql")

ADA, BOB, BOT = Scope("ada"), Scope("bob"), Scope("ada", "bot")
KEY = ConversationKey(ADA, "t1")
OTHER = ConversationKey(ADA, "t2")
TIMING = DebouncePolicy(debounce=5, max_wait=10)
LEASE = 30


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return place(URLS[request.param], request, tmp_path)


def place(url: str, request: pytest.FixtureRequest, folder: Path) -> str:
    return request.getfixturevalue("postgres_url") if url == "{postgres_url}" else url.format(folder=folder)


@pytest.fixture
def outbox(url: str) -> Iterator[Outbox]:
    with open_outbox(url) as opened:
        yield opened


def put(
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


# -- handing over ---------------------------------------------------------------------------------


def test_an_empty_outbox_has_nothing_to_say(outbox: Outbox) -> None:
    assert (outbox.pending(now=0), outbox.dead_letters(), outbox.next_due(now=0)) == ((), (), None)
    assert claim(outbox) == ()


def test_what_is_put_is_claimed(outbox: Outbox) -> None:
    put(outbox, '[{"content": "喜欢 Python，😀 \\u0000"}]', now=3)

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
def test_ids_of_all_kinds_come_back(outbox: Outbox, key: ConversationKey) -> None:
    put(outbox, key=key)

    assert claim_one(outbox).key == outbox.pending(now=0)[0].key == key


def test_submissions_of_a_key_are_one_job_in_order(outbox: Outbox) -> None:
    for number in range(12):
        put(outbox, str(number), now=number / 10)

    (job,) = outbox.pending(now=0)

    assert (job.submissions, job.first_at, job.last_at) == (12, 0, 1.1)
    assert texts(claim_one(outbox)) == [str(number) for number in range(12)]


def test_each_key_is_a_job_of_its_own(outbox: Outbox) -> None:
    keys = [KEY, OTHER, ConversationKey(ADA), ConversationKey(BOB, "t1"), ConversationKey(BOT, "t1")]
    for key in keys:
        put(outbox, key=key)

    assert {job.key for job in outbox.pending(now=0)} == set(keys)


def test_a_job_is_due_when_it_was_quiet(outbox: Outbox) -> None:
    put(outbox, now=0)
    put(outbox, now=2)

    assert due(outbox) == [7]
    assert claim(outbox, now=6.9) == ()
    assert claim(outbox, now=7) != ()


def test_a_job_that_is_never_quiet_is_due_after_its_longest_wait(outbox: Outbox) -> None:
    for now in range(0, 10, 2):
        put(outbox, now=now)

    assert due(outbox) == [10]


def test_a_job_that_is_due_is_not_put_off(outbox: Outbox) -> None:
    """All workers may be busy, or somebody may have said that it should run now."""
    put(outbox, now=0)
    put(outbox, now=6)

    assert due(outbox) == [5]


def test_other_keys_postpone_nothing(outbox: Outbox) -> None:
    put(outbox, now=0)
    put(outbox, key=OTHER, now=4)

    assert due(outbox) == [5, 9]


def test_a_full_outbox_refuses_a_new_key(outbox: Outbox) -> None:
    put(outbox, key=KEY, max_jobs=2)
    put(outbox, key=OTHER, max_jobs=2)

    with pytest.raises(
        QueueFullError, match=r"2 conversations are queued in .*submit again later, or raise max_queued"
    ):
        put(outbox, key=ConversationKey(BOB), max_jobs=2)

    assert len(outbox.pending(now=0)) == 2


def test_a_full_outbox_takes_more_of_a_key_that_waits(outbox: Outbox) -> None:
    put(outbox, max_jobs=1)
    put(outbox, max_jobs=1)

    assert outbox.pending(now=0)[0].submissions == 2


def test_what_was_set_aside_does_not_fill_it(outbox: Outbox) -> None:
    put(outbox, max_jobs=1)
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)

    put(outbox, key=OTHER, max_jobs=1)

    assert len(outbox.pending(now=0)) == 1


# -- leases ---------------------------------------------------------------------------------------


def test_what_is_due_first_is_claimed_first(outbox: Outbox) -> None:
    put(outbox, key=ConversationKey(BOB), now=1)
    put(outbox, key=KEY, now=0)

    assert [claimed.key for claimed in claim(outbox, limit=5)] == [KEY, ConversationKey(BOB)]


def test_no_more_is_claimed_than_asked_for(outbox: Outbox) -> None:
    for user in "abcde":
        put(outbox, key=ConversationKey(Scope(user)))

    assert [len(claim(outbox, limit=3)) for _ in range(3)] == [3, 2, 0]


def test_a_scope_is_claimed_once(outbox: Outbox) -> None:
    """Two updates of one memory would race, and pay a model twice."""
    put(outbox, key=KEY)
    put(outbox, key=OTHER)

    first = claim(outbox, limit=5)

    assert len(first) == 1
    assert claim(outbox, limit=5) == ()
    outbox.complete(first[0], timing=TIMING)
    assert len(claim(outbox, limit=5)) == 1


def test_an_agents_memory_is_a_scope_of_its_own(outbox: Outbox) -> None:
    put(outbox, key=KEY)
    put(outbox, key=ConversationKey(BOT, "t1"))

    assert len(claim(outbox, limit=5)) == 2


def test_a_claim_can_be_narrowed_to_a_scope(outbox: Outbox) -> None:
    put(outbox, key=KEY)
    put(outbox, key=ConversationKey(BOT))
    put(outbox, key=ConversationKey(BOB))

    assert [claimed.key for claimed in claim(outbox, limit=5, scope=BOT)] == [ConversationKey(BOT)]


def test_an_expired_lease_may_be_taken(outbox: Outbox) -> None:
    put(outbox)
    lost = claim_one(outbox, now=100)

    assert claim(outbox, now=100 + LEASE - 0.1) == ()
    taken = claim_one(outbox, now=100 + LEASE)

    assert texts(taken) == texts(lost)
    assert taken.lease_id != lost.lease_id


def test_a_renewed_lease_is_kept(outbox: Outbox) -> None:
    put(outbox)
    claimed = claim_one(outbox, now=100)

    assert outbox.renew([claimed.lease_id, "none"], now=120, lease_seconds=LEASE) == {claimed.lease_id}

    assert claim(outbox, now=149) == ()
    assert claim(outbox, now=150) != ()


def test_a_lost_lease_is_not_renewed(outbox: Outbox) -> None:
    put(outbox)
    lost = claim_one(outbox, now=100)
    claim_one(outbox, now=200)

    assert outbox.renew([lost.lease_id], now=201, lease_seconds=LEASE) == frozenset()


def test_who_lost_the_lease_changes_nothing(outbox: Outbox) -> None:
    put(outbox)
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


def test_an_expired_lease_that_nobody_took_still_counts(outbox: Outbox) -> None:
    put(outbox)
    claimed = claim_one(outbox, now=100)

    assert outbox.renew([claimed.lease_id], now=900, lease_seconds=LEASE)
    assert outbox.complete(claimed, timing=TIMING)


def test_a_released_job_is_as_before(outbox: Outbox) -> None:
    put(outbox)
    before = outbox.pending(now=100)
    outbox.release(claim_one(outbox))

    assert outbox.pending(now=100) == before
    assert claim_one(outbox).attempts == 0


def test_running_jobs_are_listed_as_running(outbox: Outbox) -> None:
    put(outbox, key=KEY)
    put(outbox, key=ConversationKey(BOB), now=1)
    claim_one(outbox, now=100)

    assert [job.running for job in outbox.pending(now=100)] == [True, False]
    assert [job.running for job in outbox.pending(now=100 + LEASE)] == [False, False]


# -- rewriting ------------------------------------------------------------------------------------


def test_what_was_claimed_can_be_kept_as_one(outbox: Outbox) -> None:
    """In its place: before what came in meanwhile."""
    for number in range(3):
        put(outbox, str(number), now=number)
    claimed = claim_one(outbox, now=100)
    put(outbox, "new", now=101)

    kept = outbox.replace_submissions(claimed, "together")

    assert kept is not None
    assert (kept.lease_id, kept.key, texts(kept)) == (claimed.lease_id, claimed.key, ["together"])
    assert (kept.submissions[0].number, kept.submissions[0].at) == (claimed.submissions[0].number, 2)
    outbox.release(kept)
    assert texts(claim_one(outbox, now=300)) == ["together", "new"]


def test_what_was_kept_as_one_is_done_as_one(outbox: Outbox) -> None:
    put(outbox, "a")
    put(outbox, "b")
    kept = outbox.replace_submissions(claim_one(outbox), "ab")
    put(outbox, "c", now=101)

    assert kept is not None
    assert outbox.complete(kept, timing=TIMING)
    assert texts(claim_one(outbox, now=200)) == ["c"]


def test_who_lost_the_lease_keeps_nothing(outbox: Outbox) -> None:
    put(outbox, "a")
    put(outbox, "b")
    lost = claim_one(outbox, now=100)
    taken = claim_one(outbox, now=200)

    assert outbox.replace_submissions(lost, "ab") is None
    outbox.release(taken)
    assert texts(claim_one(outbox, now=300)) == ["a", "b"]


# -- ends -----------------------------------------------------------------------------------------


def test_what_is_done_is_gone(outbox: Outbox) -> None:
    put(outbox)
    put(outbox)

    assert outbox.complete(claim_one(outbox), timing=TIMING)

    assert outbox.pending(now=0) == ()
    assert claim(outbox, now=999) == ()


def test_what_comes_in_while_a_job_runs_stays(outbox: Outbox) -> None:
    put(outbox, "old")
    claimed = claim_one(outbox, now=100)
    put(outbox, "new", now=101)

    outbox.complete(claimed, timing=TIMING)

    assert due(outbox) == [106]
    assert texts(claim_one(outbox, now=106)) == ["new"]


def test_what_comes_in_while_a_job_fails_is_tried_with_it(outbox: Outbox) -> None:
    put(outbox, "old")
    claimed = claim_one(outbox, now=100)
    put(outbox, "new", now=101)

    outbox.failed(claimed, error="down", retry_at=150)

    assert claim(outbox, now=149) == ()
    again = claim_one(outbox, now=150)
    assert (texts(again), again.attempts) == (["old", "new"], 1)


def test_a_failure_is_told(outbox: Outbox) -> None:
    put(outbox)
    outbox.failed(claim_one(outbox), error="ModelError: down", retry_at=200)

    (job,) = outbox.pending(now=0)

    assert (job.attempts, job.error, job.due_at) == (1, "ModelError: down", 200)


def test_a_submission_does_not_bring_a_failed_job_forward(outbox: Outbox) -> None:
    put(outbox)
    outbox.failed(claim_one(outbox), error="x", retry_at=500)
    put(outbox, now=200)

    assert due(outbox) == [500]


def test_success_forgets_the_failures_before(outbox: Outbox) -> None:
    put(outbox)
    outbox.failed(claim_one(outbox), error="x", retry_at=100)
    again = claim_one(outbox)
    put(outbox, now=100)
    outbox.complete(again, timing=TIMING)

    (job,) = outbox.pending(now=0)

    assert (job.attempts, job.error, job.due_at) == (0, "", 105)


def test_what_was_set_aside_is_not_run(outbox: Outbox) -> None:
    put(outbox)
    outbox.failed(claim_one(outbox), error="once", retry_at=0)
    outbox.dead_letter(claim_one(outbox), error="twice", timing=TIMING)

    (job,) = outbox.dead_letters()

    assert (job.key, job.attempts, job.error, job.running, job.submissions) == (KEY, 2, "twice", False, 1)
    assert (outbox.pending(now=0), outbox.next_due(now=0), claim(outbox, now=9_999)) == ((), None, ())


def test_what_comes_in_while_a_job_is_set_aside_waits_on(outbox: Outbox) -> None:
    put(outbox, "old")
    claimed = claim_one(outbox, now=100)
    put(outbox, "new", now=101)
    outbox.dead_letter(claimed, error="x", timing=TIMING)

    again = claim_one(outbox, now=106)

    assert (texts(again), again.attempts) == (["new"], 0)
    assert [job.submissions for job in outbox.dead_letters()] == [1]


def test_what_is_set_aside_again_joins_the_rest(outbox: Outbox) -> None:
    for number in range(2):
        put(outbox, str(number), now=number)
        outbox.dead_letter(claim_one(outbox), error=f"error {number}", timing=TIMING)

    (job,) = outbox.dead_letters()

    assert (job.submissions, job.error, job.first_at, job.last_at) == (2, "error 1", 0, 1)


def test_what_was_set_aside_can_be_put_back(outbox: Outbox) -> None:
    put(outbox, "old")
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)

    assert outbox.retry(now=500) == 1

    again = claim_one(outbox, now=500)
    assert (texts(again), again.attempts, outbox.dead_letters()) == (["old"], 0, ())


def test_what_is_put_back_joins_what_waits_in_the_order_of_submission(outbox: Outbox) -> None:
    put(outbox, "old", now=0)
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)
    put(outbox, "new", now=200)

    outbox.retry(now=201)

    assert texts(claim_one(outbox, now=201)) == ["old", "new"]


def test_what_is_put_back_while_a_job_runs_stays_when_it_is_done(outbox: Outbox) -> None:
    """It was submitted before what is running, but it is not running."""
    put(outbox, "old", now=0)
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)
    put(outbox, "new", now=200)
    running = claim_one(outbox, now=300)
    outbox.retry(now=301)

    outbox.complete(running, timing=TIMING)

    assert texts(claim_one(outbox, now=400)) == ["old"]


def test_putting_back_can_be_narrowed(outbox: Outbox) -> None:
    for key in (KEY, OTHER, ConversationKey(BOB, "t1"), ConversationKey(BOT, "t1")):
        put(outbox, key=key)
        outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)

    assert outbox.retry(now=0, scope=ADA, thread_id="t2") == 1
    assert outbox.retry(now=0, scope=ADA) == 1
    assert outbox.retry(now=0, scope=Scope("nobody")) == 0
    assert {job.key for job in outbox.dead_letters()} == {ConversationKey(BOB, "t1"), ConversationKey(BOT, "t1")}
    assert outbox.retry(now=0) == 2


# -- review ---------------------------------------------------------------------------------------


def hold(outbox: Outbox, held: str = "proposed", key: ConversationKey = KEY, *, now: float = 100) -> str:
    """Have something of *key* proposed, and return the id of that."""
    put(outbox, "said", key, now=now - 50)
    (claimed,) = claim(outbox, now=now, scope=key.scope)
    assert outbox.hold_for_review(claimed, held, now=now)
    return next(each.id for each in outbox.in_review() if each.job.key == key)


def test_what_is_held_waits_for_nothing_but_a_decision(outbox: Outbox) -> None:
    """No time that passes and no worker that looks for work may take it for due."""
    held_id = hold(outbox, "喜欢 ' \\u0000", now=100)

    outbox.expedite(now=200)

    assert (outbox.pending(now=0), outbox.next_due(now=200), claim(outbox, now=9e9)) == ((), None, ())
    (held,) = outbox.in_review()
    assert (held.id, held.at, held.proposal) == (held_id, 100, "喜欢 ' \\u0000")
    assert (held.job.key, held.job.submissions, held.job.running) == (KEY, 1, False)
    assert outbox.dead_letters() == ()


def test_what_comes_in_of_a_held_conversation_waits_with_it(outbox: Outbox) -> None:
    """Learned before, it would move the mark past what nobody has decided."""
    hold(outbox)

    put(outbox, "more", now=150)

    assert (outbox.pending(now=0), outbox.next_due(now=200), claim(outbox, now=9e9)) == ((), None, ())
    assert [held.job.submissions for held in outbox.in_review()] == [2]


def test_what_came_in_while_a_job_ran_waits_with_it(outbox: Outbox) -> None:
    put(outbox, "old")
    claimed = claim_one(outbox, now=100)
    put(outbox, "new", now=101)

    outbox.hold_for_review(claimed, "proposed", now=102)

    assert claim(outbox, now=9e9) == ()
    outbox.decide(claimed.lease_id, "yes", now=300)
    assert texts(claim_one(outbox, now=300)) == ["old", "new"]


def test_what_is_held_leaves_the_scope_to_others(outbox: Outbox) -> None:
    """A person may take a week."""
    hold(outbox, key=KEY, now=100)
    put(outbox, key=OTHER, now=90)

    assert [claimed.key for claimed in claim(outbox, now=100)] == [OTHER]


def test_what_is_held_does_not_fill_the_outbox(outbox: Outbox) -> None:
    hold(outbox)

    put(outbox, key=OTHER, max_jobs=1)

    assert len(outbox.pending(now=0)) == 1


def test_what_was_decided_is_due_at_once_with_the_decision(outbox: Outbox) -> None:
    held_id = hold(outbox, "proposed", now=100)
    put(outbox, "more", now=199)

    assert outbox.decide(held_id, "accept", now=200)

    assert (outbox.in_review(), due(outbox)) == ((), [200])
    claimed = claim_one(outbox, now=200)
    assert texts(claimed) == ["said", "more"]
    assert claimed.decided == ReviewDecision(at=100, proposal="proposed", decision="accept")


def test_of_two_decisions_the_first_counts(outbox: Outbox) -> None:
    """And the second is told, whatever became of the first meanwhile."""
    held_id = hold(outbox)

    answers = [outbox.decide(held_id, decision, now=200) for decision in ("accept", "reject")]
    claimed = claim_one(outbox, now=200)
    outbox.complete(claimed, timing=TIMING)

    assert answers == [True, False]
    assert claimed.decided
    assert claimed.decided.decision == "accept"
    assert not outbox.decide(held_id, "reject", now=200)
    assert not outbox.decide("none", "reject", now=200)


def test_many_that_decide_at_once_are_told_who_did(outbox: Outbox) -> None:
    held_id = hold(outbox)

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda who: outbox.decide(held_id, str(who), now=200), range(8)))

    decided = claim_one(outbox, now=200).decided
    assert decided
    assert [who for who, won in enumerate(told) if won] == [int(decided.decision)]


def test_a_decision_is_of_what_was_seen(outbox: Outbox) -> None:
    """What is proposed next is nobody's yet."""
    first = hold(outbox, "first")
    outbox.decide(first, "accept", now=200)
    again = claim_one(outbox, now=200)

    outbox.hold_for_review(again, "second", now=201)

    assert not outbox.decide(first, "accept", now=202)
    assert [(held.proposal, held.id != first) for held in outbox.in_review()] == [("second", True)]


def test_a_decision_is_kept_until_it_was_applied(outbox: Outbox) -> None:
    """Its worker may be killed, or fail: a person is asked once."""
    outbox.decide(hold(outbox, now=100), "accept", now=100)
    claim_one(outbox, now=100)

    taken = claim_one(outbox, now=100 + LEASE)
    outbox.failed(taken, error="down", retry_at=200)

    decided = claim_one(outbox, now=200).decided
    assert decided
    assert decided == taken.decided


def test_a_decision_goes_with_what_is_done(outbox: Outbox) -> None:
    """What came in meanwhile is new, and has nothing to do with it."""
    outbox.decide(hold(outbox), "accept", now=200)
    claimed = claim_one(outbox, now=200)
    put(outbox, "new", now=201)

    outbox.complete(claimed, timing=TIMING)

    (job,) = outbox.pending(now=0)
    again = claim_one(outbox, now=206)
    assert (job.due_at, texts(again), again.decided) == (206, ["new"], None)


def test_a_decision_is_set_aside_and_put_back_with_its_job(outbox: Outbox) -> None:
    outbox.decide(hold(outbox, "proposed"), "accept", now=200)
    outbox.dead_letter(claim_one(outbox, now=200), error="x", timing=TIMING)
    put(outbox, "new", now=201)

    outbox.retry(now=202)

    claimed = claim_one(outbox, now=202)
    assert texts(claimed) == ["said", "new"]
    assert claimed.decided == ReviewDecision(at=100, proposal="proposed", decision="accept")


def test_what_is_put_back_waits_with_what_is_held(outbox: Outbox) -> None:
    put(outbox, "failed")
    outbox.dead_letter(claim_one(outbox), error="x", timing=TIMING)
    held_id = hold(outbox, now=200)

    outbox.retry(now=201)
    put(outbox, "more", now=202)

    assert (outbox.pending(now=0), claim(outbox, now=9e9)) == ((), ())
    outbox.decide(held_id, "accept", now=203)
    assert texts(claim_one(outbox, now=203)) == ["failed", "said", "more"]


def test_who_lost_the_lease_holds_nothing(outbox: Outbox) -> None:
    put(outbox)
    lost = claim_one(outbox, now=100)
    taken = claim_one(outbox, now=200)

    assert not outbox.hold_for_review(lost, "proposed", now=201)

    assert (outbox.in_review(), outbox.pending(now=201)[0].running) == ((), True)
    assert outbox.complete(taken, timing=TIMING)


def test_what_is_held_can_be_run_again(outbox: Outbox) -> None:
    """As if it had never been proposed: the memory it was proposed for may be gone."""
    held = {key: hold(outbox, key=key) for key in (KEY, OTHER, ConversationKey(BOB, "t1"))}

    assert outbox.cancel_review(now=200, scope=ADA, thread_id="t1") == 1
    assert outbox.cancel_review(now=200, scope=Scope("nobody")) == 0

    claimed = claim_one(outbox, now=200)
    assert (claimed.key, claimed.decided, claimed.attempts) == (KEY, None, 0)
    assert not outbox.decide(held[KEY], "accept", now=201)
    assert {each.job.key for each in outbox.in_review()} == {OTHER, ConversationKey(BOB, "t1")}
    assert outbox.cancel_review(now=200) == 2


def test_a_claim_can_be_narrowed_to_a_conversation(outbox: Outbox) -> None:
    """Who has decided about one need not pay for the others."""
    for key in (KEY, OTHER, ConversationKey(ADA)):
        put(outbox, key=key)

    for key in (OTHER, ConversationKey(ADA)):
        (claimed,) = outbox.claim(now=100, lease_seconds=LEASE, limit=5, scope=ADA, thread_id=key.thread_id or "")
        outbox.release(claimed)

        assert claimed.key == key


# -- when -----------------------------------------------------------------------------------------


def test_the_next_job_is_the_one_due_first(outbox: Outbox) -> None:
    put(outbox, key=ConversationKey(BOB), now=7)
    put(outbox, key=KEY, now=3)

    assert outbox.next_due(now=0) == outbox.next_due(now=50) == 8


def test_a_scope_under_lease_comes_free_at_the_end_of_it(outbox: Outbox) -> None:
    put(outbox, key=KEY)
    put(outbox, key=OTHER, now=2)
    claim_one(outbox, now=100)

    assert outbox.next_due(now=101) == 100 + LEASE
    put(outbox, key=ConversationKey(BOB), now=110)
    assert outbox.next_due(now=111) == 115
    assert outbox.next_due(now=100 + LEASE) <= 100 + LEASE  # type: ignore[operator]


def test_all_can_be_made_due(outbox: Outbox) -> None:
    put(outbox, key=KEY, now=0)
    outbox.failed(claim_one(outbox, now=5), error="x", retry_at=900)
    put(outbox, key=ConversationKey(BOB), now=10)
    put(outbox, key=ConversationKey(BOT), now=10)

    outbox.expedite(now=11, scope=BOT)
    assert [claimed.key for claimed in claim(outbox, now=11, limit=5)] == [ConversationKey(BOT)]
    outbox.expedite(now=11)
    assert {claimed.key for claimed in claim(outbox, now=11, limit=5)} == {KEY, ConversationKey(BOB)}


def test_what_is_due_already_stays_in_its_place(outbox: Outbox) -> None:
    put(outbox, now=0)
    outbox.expedite(now=50)

    assert due(outbox) == [5]


# -- threads and processes ------------------------------------------------------------------------


def test_threads_lose_nothing(outbox: Outbox) -> None:
    def work(who: int) -> None:
        for number in range(25):
            put(outbox, f"{who}-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    assert sorted(texts(claim_one(outbox))) == sorted(f"{who}-{number}" for who in range(8) for number in range(25))


def test_no_two_threads_get_one_job(outbox: Outbox) -> None:
    for number in range(40):
        put(outbox, str(number), ConversationKey(Scope(f"u{number}")))
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
    return place(URLS[request.param], request, tmp_path)


def test_what_waits_is_there_when_it_is_opened_again(durable_url: str) -> None:
    with open_outbox(durable_url) as outbox:
        put(outbox, "kept")
        put(outbox, "aside", OTHER, now=-50)
        outbox.dead_letter(claim_one(outbox, now=0), error="x", timing=TIMING)
        hold(outbox, "held", ConversationKey(BOB))

    with open_outbox(durable_url) as outbox:
        assert texts(claim_one(outbox)) == ["kept"]
        assert [job.key for job in outbox.dead_letters()] == [OTHER]
        assert [(held.job.key, held.proposal) for held in outbox.in_review()] == [(ConversationKey(BOB), "held")]


def test_two_that_opened_it_see_each_others_leases(durable_url: str) -> None:
    with open_outbox(durable_url) as one, open_outbox(durable_url) as other:
        put(one)
        claimed = claim_one(one)

        assert claim(other) == ()
        assert other.pending(now=100)[0].running
        put(other, "more", now=101)
        assert one.complete(claimed, timing=TIMING)
        assert texts(claim_one(one, now=200)) == ["more"]
