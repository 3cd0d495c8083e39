"""Decisions are parsed, validated and applied to a change set."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph.errors import EditError
from memgraph.models import MANUAL, Addition, Fact, MemoryDocument, MemoryUpdate, Removal, Rewrite, Scope
from memgraph.policy import Policy
from memgraph.review import Decision, Edit, Proposal
from memgraph.review.decision import apply_decision, fingerprint
from memgraph.review.models import strictest
from memgraph.review.proposal import make_proposal
from memgraph.rules.apply import apply

BERLIN = Fact(id="fact_0000000a", content="Lives in Berlin.", confidence=0.9)
PARIS = Addition(id="fact_00000001", content="Lives in Paris.", confidence=0.9, replaces=(BERLIN.id,))
UV = Addition(id="fact_00000002", content="Use uv.", category="correction", confidence=0.95, source_error="Used pip.")
POLICY = Policy(grounding="off")


def make_changes(*additions: Addition, **fields: Any) -> MemoryUpdate:
    return MemoryUpdate(at="2026-05-01T10:00:00Z", thread="t1", message_ids=("m1",), additions=additions, **fields)


def propose(changes: MemoryUpdate, memory: MemoryDocument | None = None, policy: Policy = POLICY) -> Proposal:
    return make_proposal(changes, memory or MemoryDocument(), policy, scope=Scope("ada")).proposal


def test_the_strictest_review_wins() -> None:
    """In any order; None does not count."""
    assert strictest("always", "never") == strictest("corrections", "always") == "always"
    assert strictest(None, "corrections", "never") == "corrections"
    assert strictest() == strictest(None) == "never"


def test_additions_with_the_same_content_are_one_item() -> None:
    """Otherwise the second would be added if the first is rejected."""
    twice = make_changes(PARIS, PARIS.model_copy(update={"id": "fact_00000003", "content": "lives in  PARIS."}))
    proposal = propose(twice)

    decided = apply_decision(twice, proposal, "reject")

    assert [item.key for item in proposal.items] == ["add:fact_00000001"]
    assert decided.additions == ()


def test_changes_outside_the_proposal_are_dropped_with_a_reason() -> None:
    """Nobody accepted the effect they may have on the memory that is loaded after a conflict."""
    doubtful = Addition(id="fact_00000004", content="May like jazz.", confidence=0.3)
    changes = make_changes(PARIS, doubtful, removals=(Removal(id="fact_unknown0"),))

    decided = apply_decision(changes, propose(changes), "accept")

    assert (decided.additions, decided.removals) == ((PARIS,), ())
    assert {refusal.item for refusal in decided.refused} == {"May like jazz.", "fact_unknown0"}


def test_a_fact_about_an_upload_is_not_an_item() -> None:
    """It is scrubbed in any case."""
    changes = make_changes(Addition(id="fact_00000005", content="Uploaded q3.pdf.", confidence=0.9))

    assert propose(changes).items == ()


def test_evicted_facts_are_listed_separately() -> None:
    """They are a consequence of the items and cannot be decided on."""
    full = MemoryDocument(facts=tuple(Fact(content=f"Fact {n}.", confidence=0.7) for n in range(10)))

    proposal = propose(make_changes(PARIS), full, Policy(max_facts=10, grounding="off"))

    assert [item.kind for item in proposal.items] == ["add"]
    assert [fact.content for fact in proposal.evicted] == ["Fact 9."]


def test_removed_and_replaced_facts_are_not_listed_as_evicted() -> None:
    """A reviewer sees them in the items that remove or replace them."""
    others = tuple(Fact(id=f"fact_1000000{n}", content=f"Fact {n}.", confidence=0.7) for n in range(9))
    known = MemoryDocument(facts=(BERLIN, *others))
    additions = [Addition(id=f"fact_2000000{n}", content=f"News {n}.", confidence=0.9) for n in range(3)]

    proposal = propose(
        make_changes(PARIS, *additions, removals=(Removal(id=others[0].id),)),
        known,
        Policy(max_facts=10, grounding="off"),
    )

    assert [fact.id for item in proposal.items for fact in item.replaces] == [BERLIN.id]
    assert [item.id for item in proposal.items if item.kind == "remove"] == [others[0].id]
    assert [fact.id for fact in proposal.evicted] == [others[7].id, others[8].id]


def test_an_edited_fact_is_manual() -> None:
    """The limit of the policy for its length does not apply to it."""
    changes = make_changes(PARIS)
    strict = Policy(max_fact_chars=100, grounding="off")

    decided = apply_decision(changes, propose(changes), {"items": {"add:fact_00000001": {"after": "x" * 200}}})

    (fact,) = apply(decided, MemoryDocument(), strict).memory.facts
    assert (fact.content, fact.source, fact.id) == ("x" * 200, MANUAL, PARIS.id)


def test_an_edit_without_changes_means_accept() -> None:
    """A form may send back all fields unchanged."""
    changes = make_changes(PARIS)
    (item,) = propose(changes).items
    same = {"after": item.after}

    decided = apply_decision(changes, propose(changes), {"items": {item.key: same}})

    assert decided.model_copy(update={"decisions": ()}) == changes
    assert [decision.verdict for decision in decided.decisions] == ["accept"]


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ({}, "field required"),
        ({"after": " "}, "1 to 2,000 characters"),
        ({"after": "x" * 2_001}, "1 to 2,000 characters"),
        ({"after": "a\x1bb"}, "hidden characters"),
        ({"after": "a\ud800b"}, "hidden characters"),
        ({"after": 7}, r"items\.add:fact_00000001\.after"),
        ({"after": "Use uv."}, "would have the same content"),
        ({"after": "Lives in Rome.", "category": "goal"}, "unknown key"),
    ],
)
def test_edits_are_validated(edit: dict[str, object], problem: str) -> None:
    """With the same rules and messages as manual edits."""
    changes = make_changes(PARIS, UV)

    with pytest.raises(EditError, match=problem):
        apply_decision(changes, propose(changes), {"items": {"add:fact_00000001": edit}, "others": "accept"})


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ({"after": ""}, "may not be empty"),
        ({"after": "word " * 1_100}, "at most 1,000 tokens"),
    ],
)
def test_an_edited_summary_is_validated(edit: dict[str, object], problem: str) -> None:
    """As a manual edit is."""
    changes = make_changes(rewrites=(Rewrite(section="work_context", summary="Engineer.", base=""),))

    with pytest.raises(EditError, match=problem):
        apply_decision(changes, propose(changes), {"items": {"rewrite:work_context": edit}})


@pytest.mark.parametrize("key", ["confirm:fact_00000006", "remove:fact_0000000b"])
def test_confirmations_and_removals_cannot_be_edited(key: str) -> None:
    """They have no text of their own."""
    known = MemoryDocument(facts=(BERLIN, Fact(id="fact_0000000b", content="Has a dog.")))
    said_again = Addition(id="fact_00000006", content=BERLIN.content, confidence=0.95)
    changes = make_changes(said_again, removals=(Removal(id="fact_0000000b"),))

    with pytest.raises(EditError, match="only be accepted or rejected"):
        apply_decision(
            changes, propose(changes, known), Decision(items={key: Edit(after="Has a cat.")}, others="accept")
        )


def test_a_change_set_has_the_same_fingerprint_after_a_checkpoint() -> None:
    """Another change set has another fingerprint."""
    changes = make_changes(PARIS, UV)

    again = MemoryUpdate.model_validate_json(changes.model_dump_json())

    assert fingerprint(again) == fingerprint(changes) != fingerprint(make_changes(UV, PARIS))
