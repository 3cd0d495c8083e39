"""Decisions are parsed, validated and applied to a change set."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph.errors import EditError
from memgraph.models import MANUAL, Addition, Fact, MemoryDocument, MemoryUpdate, Removal, Rewrite
from memgraph.policy import Policy
from memgraph.review import strictest
from memgraph.review.decision import Held, fingerprint, hold_items
from memgraph.review.proposal import Proposed, make_proposal
from memgraph.rules.apply import apply

BERLIN = Fact(id="fact_0000000a", content="Lives in Berlin.", confidence=0.9)
PARIS = Addition(id="fact_00000001", content="Lives in Paris.", confidence=0.9, replaces=(BERLIN.id,))
UV = Addition(id="fact_00000002", content="Use uv.", category="correction", confidence=0.95, source_error="Used pip.")
POLICY = Policy(grounding="off")


def make_changes(*additions: Addition, **fields: Any) -> MemoryUpdate:
    return MemoryUpdate(at="2026-05-01T10:00:00Z", thread="t1", message_ids=("m1",), additions=additions, **fields)


def propose(changes: MemoryUpdate, memory: MemoryDocument | None = None, policy: Policy = POLICY) -> Proposed:
    return make_proposal(changes, memory or MemoryDocument(), policy)


def hold(changes: MemoryUpdate, memory: MemoryDocument | None = None) -> Held:
    """Return *changes* with all effective ones waiting."""
    proposed = propose(changes, memory)
    return hold_items(changes, proposed, proposed.items, memory or MemoryDocument())


def decide(changes: MemoryUpdate, answer: object, memory: MemoryDocument | None = None) -> MemoryUpdate:
    return hold(changes, memory).decided(memory or MemoryDocument(), answer)


def test_the_strictest_review_wins() -> None:
    """In any order; None does not count."""
    assert strictest("always", "never") == strictest("corrections", "always") == "always"
    assert strictest(None, "corrections", "never") == "corrections"
    assert strictest() == strictest(None) == "never"


def test_additions_with_the_same_content_are_one_change() -> None:
    """Otherwise the second would be added if the first is rejected."""
    twice = make_changes(PARIS, PARIS.model_copy(update={"id": "fact_00000003", "content": "lives in  PARIS."}))

    (change,) = hold(twice).waiting
    decided = decide(twice, "reject")

    assert change.text == "Lives in Paris."
    assert (decided.additions, decided.accepted) == ((), ())


def test_what_has_no_effect_is_dropped_with_a_reason() -> None:
    """Nobody accepted the effect it may have on the memory that is loaded after a conflict."""
    doubtful = Addition(id="fact_00000004", content="May like jazz.", confidence=0.3)
    changes = make_changes(PARIS, doubtful, removals=(Removal(id="fact_unknown0"),))

    decided = decide(changes, "accept")

    assert (decided.additions, decided.removals, len(decided.accepted)) == ((), (), 1)
    assert {refusal.item for refusal in decided.refused} == {"May like jazz.", "fact_unknown0"}


def test_a_fact_about_an_upload_is_not_an_item() -> None:
    """It is scrubbed in any case."""
    changes = make_changes(Addition(id="fact_00000005", content="Uploaded q3.pdf.", confidence=0.9))

    assert propose(changes).items == ()


def test_an_evicted_fact_is_not_an_item() -> None:
    """It is a consequence of the items and cannot be decided on."""
    full = MemoryDocument(facts=tuple(Fact(content=f"Fact {n}.", confidence=0.7) for n in range(10)))

    proposal = propose(make_changes(PARIS), full, Policy(max_facts=10, grounding="off"))

    assert [item.kind for item in proposal.items] == ["add"]
    assert proposal.evicts


def test_a_removed_or_replaced_fact_is_not_evicted() -> None:
    """It leaves room for what is new."""
    others = tuple(Fact(id=f"fact_1000000{n}", content=f"Fact {n}.", confidence=0.7) for n in range(9))
    known, full = MemoryDocument(facts=(BERLIN, *others)), Policy(max_facts=10, grounding="off")

    proposal = propose(make_changes(PARIS, UV, removals=(Removal(id=others[0].id),)), known, full)

    assert [fact_id for item in proposal.items for fact_id in item.replaces] == [BERLIN.id]
    assert [item.id for item in proposal.items if item.kind == "remove"] == [others[0].id]
    assert not proposal.evicts


def test_an_edited_fact_is_manual() -> None:
    """The limit of the policy for its length does not apply to it."""
    changes = make_changes(PARIS)
    (change,) = hold(changes).waiting

    decided = decide(changes, {"changes": {change.id: {"text": "x" * 200}}})

    (fact,) = apply(decided, MemoryDocument(), Policy(max_fact_chars=100, grounding="off")).memory.facts
    assert (fact.content, fact.source, fact.id) == ("x" * 200, MANUAL, PARIS.id)


def test_a_decision_says_what_was_decided() -> None:
    """For the history: what a removal would have removed, too."""
    changes = make_changes(UV, removals=(Removal(id=BERLIN.id),))

    decided = decide(changes, {"others": "reject"}, MemoryDocument(facts=(BERLIN,)))

    assert [(one.verdict, one.text) for one in decided.decisions] == [("reject", "Use uv."), ("reject", BERLIN.content)]


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ({}, "field required"),
        ({"text": " "}, "1 to 2,000 characters"),
        ({"text": "x" * 2_001}, "1 to 2,000 characters"),
        ({"text": "a\x1bb"}, "hidden characters"),
        ({"text": "a\ud800b"}, "valid string"),
        ({"text": 7}, r"changes\.change_\w+\.text"),
        ({"text": "Lives in Rome.", "category": "goal"}, "not permitted"),
        ("perhaps", 'expected "accept", "always", "reject" or an object with "text"'),
    ],
)
def test_edits_are_validated(edit: object, problem: str) -> None:
    """With the same rules and messages as manual edits."""
    changes = make_changes(PARIS, UV)
    first, _ = hold(changes).waiting

    with pytest.raises(EditError, match=problem):
        decide(changes, {"changes": {first.id: edit}, "others": "accept"})


@pytest.mark.parametrize(
    ("text", "problem"), [("", "at least 1 character"), (" ", "may not be empty"), ("word " * 1_100, "1,000 tokens")]
)
def test_an_edited_summary_is_validated(text: str, problem: str) -> None:
    """As a manual edit is."""
    changes = make_changes(rewrites=(Rewrite(section="work_context", summary="Engineer.", base=""),))
    (change,) = hold(changes).waiting

    with pytest.raises(EditError, match=problem):
        decide(changes, {"changes": {change.id: {"text": text}}})


@pytest.mark.parametrize("verdict", [{"text": "Has a cat."}, "always"])
def test_a_removal_can_only_be_accepted_or_rejected(verdict: object) -> None:
    """It has no text, and no category."""
    changes, known = make_changes(removals=(Removal(id=BERLIN.id),)), MemoryDocument(facts=(BERLIN,))
    (change,) = hold(changes, known).waiting

    with pytest.raises(EditError, match="accept or reject"):
        decide(changes, {"changes": {change.id: verdict}}, known)


def test_a_change_set_has_the_same_fingerprint_after_a_checkpoint() -> None:
    """Another change set has another fingerprint."""
    changes = make_changes(PARIS, UV)

    again = MemoryUpdate.model_validate_json(changes.model_dump_json())

    assert fingerprint(again) == fingerprint(changes) != fingerprint(make_changes(UV, PARIS))
