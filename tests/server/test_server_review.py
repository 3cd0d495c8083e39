"""Review on the real server: the run is interrupted, decided by whoever may, and never taken for finished."""

from __future__ import annotations

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

Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def invoker(talk: Any) -> Iterator[ServerInvoker]:
    with talk.invoker(assistant="reviewed", debounce_seconds=0) as invoker:
        yield invoker


@pytest.fixture
def asked(talk: Any, invoker: ServerInvoker) -> Callable[[], list[PendingReview]]:
    """What this test's user is asked."""
    return lambda: [each for each in invoker.in_review() if each.key.scope == talk.scope]


def items(asked: list[PendingReview]) -> list[list[int]]:
    """Which turns are proposed as facts; the model repeats those that are known, too."""
    return [
        [int(item.after.rstrip(".").rsplit("-", 1)[1]) for item in each.proposal.items if item.kind == "add"]
        for each in asked
    ]


def test_an_interrupted_run_waits_for_a_person_and_is_learned_when_accepted(
    talk: Any, invoker: ServerInvoker, asked: Any
) -> None:
    """The model is asked once."""
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    flushed = invoker.flush(60)
    (waiting,) = asked()
    before = talk.learned()

    invoker.decide(waiting.id, "accept")

    assert invoker.flush(60)
    assert (flushed, before, talk.learned()) == (False, [], [1])
    assert (waiting.key, items([waiting])) == (ConversationKey(talk.scope, "t1"), [[1]])
    assert (talk.asked, asked()) == ([[1]], [])


def test_what_was_rejected_is_not_asked_about_again(talk: Any, invoker: ServerInvoker, asked: Any) -> None:
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)
    invoker.decide(asked()[0].id, "reject")
    invoker.flush(60)

    invoker.submit([talk.turn(1)], talk.scope, "t1")

    assert invoker.flush(60)
    assert (talk.learned(), talk.asked, asked()) == ([], [[1]], [])


def test_a_later_submission_loses_nothing_of_what_is_in_review(talk: Any, invoker: ServerInvoker, asked: Any) -> None:
    """The server starts the thread afresh; what was proposed is proposed again, with what is new."""
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)
    (first,) = asked()

    invoker.submit([talk.turn(2)], talk.scope, "t1")
    invoker.flush(60)

    (second,) = asked()
    assert items([second]) == [[1, 2]]
    with pytest.raises(NotInReviewError):
        invoker.decide(first.id, "accept")
    invoker.decide(second.id, "accept")
    assert invoker.flush(60)
    assert talk.learned() == [1, 2]


def test_what_is_submitted_twice_while_something_is_in_review_is_one_run(talk: Any, asked: Any) -> None:
    """It waits for its quiet time, however long the review took."""
    with talk.invoker(assistant="reviewed", max_wait_seconds=2, debounce_seconds=1) as invoker:
        invoker.submit([talk.turn(1)], talk.scope, "t1")
        invoker.flush(60)
        for number in (2, 3):
            invoker.submit([talk.turn(number)], talk.scope, "t1")
        invoker.flush(60)

    assert talk.asked == [[1], [1, 2, 3]]
    assert items(asked()) == [[1, 2, 3]]


def test_what_is_submitted_while_a_decision_is_applied_does_not_undo_it(
    talk: Any, invoker: ServerInvoker, asked: Any, until: Until
) -> None:
    """A rollback would have a person decide twice."""
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)
    invoker.decide(asked()[0].id, "accept")

    invoker.submit([talk.turn(2)], talk.scope, "t1")
    until(lambda: items(asked()) == [[2]])

    assert talk.learned() == [1]


def test_an_answer_that_cannot_be_understood_is_told_and_changes_nothing(
    talk: Any, invoker: ServerInvoker, asked: Any
) -> None:
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)

    with pytest.raises(EditError, match="perhaps"):
        invoker.decide(asked()[0].id, "perhaps")

    assert items(asked()) == [[1]]


def test_what_was_edited_is_learned_as_it_was_edited(talk: Any, invoker: ServerInvoker, asked: Any) -> None:
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)
    (item,) = asked()[0].proposal.items

    invoker.decide(asked()[0].id, {"items": {item.key: {"after": "Notes items."}}})
    invoker.flush(60)

    (fact,) = talk.storage.load(talk.scope).facts
    assert (fact.content, fact.is_manual) == ("Notes items.", True)


def test_of_those_who_decide_at_once_one_wins_and_the_others_are_told_or_ignored(
    talk: Any, invoker: ServerInvoker, asked: Any
) -> None:
    """Whoever comes too late changes nothing."""
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)
    (waiting,) = asked()

    def decide(answer: str) -> bool:
        try:
            invoker.decide(waiting.id, answer)
        except NotInReviewError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(decide, ["accept"] * 4))
    invoker.flush(60)

    assert any(won)
    assert (talk.learned(), talk.asked) == ([1], [[1]])
    with pytest.raises(NotInReviewError):
        invoker.decide(waiting.id, "reject")


def test_what_is_forgotten_while_it_is_in_review_stays_forgotten(talk: Any, invoker: ServerInvoker, asked: Any) -> None:
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)

    invoker.forget(talk.scope)

    assert (asked(), invoker.pending()) == ([], [])
    invoker.submit([talk.turn(1), talk.turn(2)], talk.scope, "t1")
    invoker.flush(60)
    assert items(asked()) == [[2]]


def test_a_decision_whose_run_fails_costs_no_turn(talk: Any, invoker: ServerInvoker, asked: Any) -> None:
    """What it had still to learn is tried again as if it had been submitted."""
    invoker.submit([talk.turn(1)], talk.scope, "t1")
    invoker.flush(60)
    folder = talk.server.folder / "memories"
    folder.mkdir(exist_ok=True)
    (folder / "users").rename(folder / "away") if (folder / "users").exists() else None
    (folder / "users").write_text("in the way")
    try:
        invoker.decide(asked()[0].id, "accept")
        invoker.flush(60)
        failed = [job for job in invoker.failed() if job.key.scope == talk.scope]
    finally:
        (folder / "users").unlink()
        (folder / "away").rename(folder / "users") if (folder / "away").exists() else None

    assert invoker.retry(talk.scope) == 1
    invoker.flush(60)

    assert [job.submissions for job in failed] == [1]
    assert items(asked()) == [[1]]


def test_a_question_of_another_assistant_is_not_ours(talk: Any, invoker: ServerInvoker) -> None:
    invoker.submit([talk.turn(1)], Scope(f"other-{talk.name}"), "t1")
    invoker.flush(60)

    with talk.invoker() as scripted:
        waiting = [each for each in scripted.in_review() if each.key.scope.user_id == f"other-{talk.name}"]

    assert waiting == []
