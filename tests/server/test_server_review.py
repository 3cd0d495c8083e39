"""Reviews on a real server: runs are interrupted, decided and resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memgraph import EditError, Scope
from memgraph.background.outbox import ConversationKey
from memgraph.background.reviews import PendingReview
from memgraph.background.server_invoker import ServerInvoker
from memgraph.errors import NotInReviewError

pytestmark = pytest.mark.xdist_group("server")

WaitUntil = Callable[[Callable[[], object]], None]


class FakeClock:
    """The time of day plus an offset."""

    offset = 0.0

    def now(self) -> float:
        return time.time() + self.offset


@pytest.fixture
def invoker(conversation: Any) -> Iterator[ServerInvoker]:
    with conversation.invoker(assistant="reviewed", debounce_seconds=0) as invoker:
        yield invoker


@pytest.fixture
def pending_reviews(conversation: Any, invoker: ServerInvoker) -> Callable[[], list[PendingReview]]:
    """List the pending reviews of the user of this test."""
    return lambda: [each for each in invoker.in_review() if each.key.scope == conversation.scope]


def items(pending_reviews: list[PendingReview]) -> list[list[int]]:
    """The turns that are proposed as facts; the model repeats known ones too."""
    return [
        [int(item.after.rstrip(".").rsplit("-", 1)[1]) for item in each.proposal.items if item.kind == "add"]
        for each in pending_reviews
    ]


def test_interrupted_run_is_learned_when_accepted(
    conversation: Any, invoker: ServerInvoker, pending_reviews: Any
) -> None:
    """The model is called once."""
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    flushed = invoker.flush(120)
    (review,) = pending_reviews()
    before = conversation.learned()

    invoker.decide(review.id, "accept")

    assert invoker.flush(120)
    assert (flushed, before, conversation.learned()) == (False, [], [1])
    assert (review.key, items([review])) == (ConversationKey(conversation.scope, "t1"), [[1]])
    assert (conversation.model_calls, pending_reviews()) == ([[1]], [])


def test_rejected_changes_are_not_proposed_again(
    conversation: Any, invoker: ServerInvoker, pending_reviews: Any
) -> None:
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)
    invoker.decide(pending_reviews()[0].id, "reject")
    invoker.flush(120)

    invoker.submit([conversation.turn(1)], conversation.scope, "t1")

    assert invoker.flush(120)
    assert (conversation.learned(), conversation.model_calls, pending_reviews()) == ([], [[1]], [])


def test_submission_during_review_replaces_the_proposal(
    conversation: Any, invoker: ServerInvoker, pending_reviews: Any
) -> None:
    """The new run proposes everything again, together with the new turn."""
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)
    (first,) = pending_reviews()

    invoker.submit([conversation.turn(2)], conversation.scope, "t1")
    invoker.flush(120)

    (second,) = pending_reviews()
    assert items([second]) == [[1, 2]]
    with pytest.raises(NotInReviewError):
        invoker.decide(first.id, "accept")
    invoker.decide(second.id, "accept")
    assert invoker.flush(120)
    assert conversation.learned() == [1, 2]


def test_submissions_during_review_are_one_run(conversation: Any, invoker: ServerInvoker, pending_reviews: Any) -> None:
    """They wait for a quiet period, even if the review took longer than max_wait."""
    clock = FakeClock()
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)
    with conversation.invoker(assistant="reviewed", clock=clock, max_wait_seconds=600, debounce_seconds=600) as later:
        clock.offset = 3_600
        for number in (2, 3):
            later.submit([conversation.turn(number)], conversation.scope, "t1")
    invoker.flush(120)

    assert conversation.model_calls == [[1], [1, 2, 3]]
    assert items(pending_reviews()) == [[1, 2, 3]]


def test_submission_does_not_roll_back_a_decision(
    conversation: Any, invoker: ServerInvoker, pending_reviews: Any, wait_until: WaitUntil
) -> None:
    """After a rollback a person would have to decide again."""
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)
    invoker.decide(pending_reviews()[0].id, "accept")

    invoker.submit([conversation.turn(2)], conversation.scope, "t1")
    wait_until(lambda: items(pending_reviews()) == [[2]])

    assert conversation.learned() == [1]


def test_invalid_answer_raises_and_changes_nothing(
    conversation: Any, invoker: ServerInvoker, pending_reviews: Any
) -> None:
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)

    with pytest.raises(EditError, match="perhaps"):
        invoker.decide(pending_reviews()[0].id, "perhaps")

    assert items(pending_reviews()) == [[1]]


def test_edited_changes_are_learned_as_edited(conversation: Any, invoker: ServerInvoker, pending_reviews: Any) -> None:
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)
    (item,) = pending_reviews()[0].proposal.items

    invoker.decide(pending_reviews()[0].id, {"items": {item.key: {"after": "Notes items."}}})
    invoker.flush(120)

    (fact,) = conversation.storage.load(conversation.scope).facts
    assert (fact.content, fact.is_manual) == ("Notes items.", True)


def test_one_of_many_concurrent_decisions_wins(conversation: Any, invoker: ServerInvoker, pending_reviews: Any) -> None:
    """A late decision changes nothing."""
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)
    (review,) = pending_reviews()

    def decide(answer: str) -> bool:
        try:
            invoker.decide(review.id, answer)
        except NotInReviewError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        decided = list(pool.map(decide, ["accept"] * 4))
    invoker.flush(120)

    assert any(decided)
    assert (conversation.learned(), conversation.model_calls) == ([1], [[1]])
    with pytest.raises(NotInReviewError):
        invoker.decide(review.id, "reject")


def test_forget_discards_a_pending_review(conversation: Any, invoker: ServerInvoker, pending_reviews: Any) -> None:
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)

    invoker.forget(conversation.scope)

    assert (pending_reviews(), invoker.pending()) == ([], [])
    invoker.submit([conversation.turn(1), conversation.turn(2)], conversation.scope, "t1")
    invoker.flush(120)
    assert items(pending_reviews()) == [[2]]


def test_failed_decision_run_loses_no_turn(conversation: Any, invoker: ServerInvoker, pending_reviews: Any) -> None:
    """Its conversation is retried as if it had been submitted again."""
    invoker.submit([conversation.turn(1)], conversation.scope, "t1")
    invoker.flush(120)
    folder = conversation.server.folder / "memories"
    folder.mkdir(exist_ok=True)
    (folder / "users").rename(folder / "moved") if (folder / "users").exists() else None
    (folder / "users").write_text("not a folder")
    try:
        invoker.decide(pending_reviews()[0].id, "accept")
        invoker.flush(120)
        failed = [job for job in invoker.failed() if job.key.scope == conversation.scope]
    finally:
        (folder / "users").unlink()
        (folder / "moved").rename(folder / "users") if (folder / "moved").exists() else None

    assert invoker.retry(conversation.scope) == 1
    invoker.flush(120)

    assert [job.submissions for job in failed] == [1]
    assert items(pending_reviews()) == [[1]]


def test_reviews_of_other_assistants_are_ignored(conversation: Any, invoker: ServerInvoker) -> None:
    invoker.submit([conversation.turn(1)], Scope(f"other-{conversation.name}"), "t1")
    invoker.flush(120)

    with conversation.invoker() as scripted:
        reviews = [each for each in scripted.in_review() if each.key.scope.user_id == f"other-{conversation.name}"]

    assert reviews == []
