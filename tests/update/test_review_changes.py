"""A person approves the changes before they are saved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from update_values import addition, fact, origin, runtime, turn, update

from memgraph import MemoryDocument, Policy
from memgraph.models import Removal
from memgraph.review.decision import fingerprint
from memgraph.update import nodes as module
from memgraph.update.nodes import review_changes

CHANGES = update(additions=(addition("Has a dog."),))


@pytest.fixture
def proposals(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The interrupts of a run whose reviewer accepts, after the answers of *decide*."""
    shown: list[dict[str, Any]] = []

    def interrupt(proposal: dict[str, Any]) -> object:
        shown.append(proposal)
        return decisions.pop(0) if decisions else "accept"

    monkeypatch.setattr(module, "interrupt", interrupt)
    return shown


decisions: list[object] = []


def review(changes: Any = CHANGES, memory: MemoryDocument | None = None, level: str = "always", **state: Any) -> Any:
    given: dict[str, Any] = {
        "turns": (turn("m1"),),
        "origin": origin("s", review_by="interrupt"),
        "memory": memory or MemoryDocument(),
        "pending_turns": 1,
        "changes": changes,
    }
    return review_changes({**given, **state}, runtime(review=level, policy=Policy(grounding="off")))  # type: ignore[typeddict-item]


def test_accepted_changes_are_applied(proposals: list[dict[str, Any]]) -> None:
    """The request is of this user and thread."""
    output = review()

    assert [change.text for change in output["changes"].accepted] == ["Has a dog."]
    assert (output["reviewed"], output["altered"]) == (fingerprint(output["changes"]), True)
    (request,) = proposals
    assert (request["userId"], request["threadId"]) == ("ada", "t1")
    assert [fact["content"] for change in request["changes"] for fact in change["facts"]] == ["Has a dog."]


def test_a_request_is_plain_json(proposals: list[dict[str, Any]]) -> None:
    """Every checkpointer can store it, and a server can send it."""
    review()

    (request,) = proposals
    assert json.loads(json.dumps(request)) == request


def test_a_rejected_change_is_not_applied(proposals: list[dict[str, Any]]) -> None:
    """The changes carry what the reviewer decided, for the history: the rejected text, too."""
    decisions.append("reject")

    changes = review()["changes"]

    (decided,) = changes.decisions
    assert (changes.additions, changes.accepted, len(proposals)) == ((), (), 1)
    assert (decided.item, decided.verdict, decided.text) == (proposals[0]["changes"][0]["id"], "reject", "Has a dog.")


def test_an_invalid_decision_is_requested_again_with_the_problem(proposals: list[dict[str, Any]]) -> None:
    """Until it is valid."""
    decisions.extend(["maybe", 7])

    review()

    first, second, third = proposals
    assert first["problem"] != second["problem"] != third["problem"]
    assert second["changes"] == first["changes"]


def test_an_approved_change_set_is_not_reviewed_twice(proposals: list[dict[str, Any]]) -> None:
    """A lost race brings it back here; any other change set is reviewed."""
    assert review(reviewed=fingerprint(CHANGES)) == {}
    assert not proposals

    review(reviewed="another")
    assert len(proposals) == 1


@pytest.mark.parametrize(
    ("of_run", "of_origin", "interrupts"),
    [("never", "never", 0), ("always", "never", 1), ("never", "always", 1), ("corrections", "never", 0)],
)
def test_the_stricter_review_of_run_and_origin_counts(
    proposals: list[dict[str, Any]], of_run: str, of_origin: str, interrupts: int
) -> None:
    """A run resumed without its context is no less strict."""
    output = review(level=of_run, origin=origin("s", review=of_origin, review_by="interrupt"))

    assert len(proposals) == interrupts
    assert bool(output) is bool(interrupts)


def test_changes_without_an_effect_need_no_review(proposals: list[dict[str, Any]]) -> None:
    """There is nothing to show."""
    assert review(update(additions=(addition("Why?"),))) == {}
    assert not proposals


def test_a_removal_needs_a_review_of_corrections(proposals: list[dict[str, Any]]) -> None:
    """Something known is at stake."""
    changes = update(removals=(Removal(id="f1"),))

    output = review(changes, MemoryDocument(facts=(fact("Lives in Oslo.", id="f1"),)), level="corrections")

    assert ([change.removes for change in output["changes"].accepted], len(proposals)) == ([("f1",)], 1)
