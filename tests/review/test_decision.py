"""What an answer makes of a change set."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph.errors import EditError
from memgraph.models import MANUAL, Addition, Fact, Memory, MemoryUpdate, Removal, Rewrite, Scope
from memgraph.policy import Policy
from memgraph.review import Decision, Edit, Proposal, apply_decision, fingerprint, make_proposal, strictest
from memgraph.rules.apply import apply

BERLIN = Fact(id="fact_0000000a", content="Lives in Berlin.", confidence=0.9)
PARIS = Addition(id="fact_00000001", content="Lives in Paris.", confidence=0.9, replaces=(BERLIN.id,))
UV = Addition(id="fact_00000002", content="Use uv.", category="correction", confidence=0.95, source_error="Used pip.")
POLICY = Policy()


def changes_of(*additions: Addition, **given: Any) -> MemoryUpdate:
    return MemoryUpdate(at="2026-05-01T10:00:00Z", thread="t1", message_ids=("m1",), additions=additions, **given)


def shown(changes: MemoryUpdate, memory: Memory | None = None, policy: Policy = POLICY) -> Proposal:
    return make_proposal(changes, memory or Memory(), policy, scope=Scope("ada"))


def test_the_stricter_of_two_reviews_counts() -> None:
    """In either order; what says nothing asks for nothing."""
    assert strictest("always", "never") == strictest("corrections", "always") == "always"
    assert strictest(None, "corrections", "never") == "corrections"
    assert strictest() == strictest(None) == "never"


def test_a_repeated_proposal_is_one_item_and_goes_as_one() -> None:
    """Else rejecting the first would let the second in."""
    twice = changes_of(PARIS, PARIS.model_copy(update={"id": "fact_00000003", "content": "lives in  PARIS."}))
    proposal = shown(twice)

    decided = apply_decision(twice, proposal, "reject")

    assert [item.key for item in proposal.items] == ["add:fact_00000001"]
    assert decided.additions == ()


def test_what_was_not_shown_is_left_out_with_its_reason() -> None:
    """Nobody agreed to what it might do to the memory as it is after a lost race."""
    doubtful = Addition(id="fact_00000004", content="May like jazz.", confidence=0.3)
    changes = changes_of(PARIS, doubtful, removals=(Removal(id="fact_unknown0"),))

    decided = apply_decision(changes, shown(changes), "accept")

    assert (decided.additions, decided.removals) == ((PARIS,), ())
    assert {refusal.item for refusal in decided.refused} == {"May like jazz.", "fact_unknown0"}


def test_a_fact_about_an_upload_is_not_worth_a_question() -> None:
    """It is scrubbed in any case."""
    changes = changes_of(Addition(id="fact_00000005", content="Uploaded q3.pdf.", confidence=0.9))

    assert shown(changes).items == ()


def test_facts_that_go_for_want_of_room_are_shown_beside() -> None:
    """They are a consequence, not a proposal."""
    full = Memory(facts=tuple(Fact(content=f"Fact {n}.", confidence=0.7) for n in range(10)))

    proposal = shown(changes_of(PARIS), full, Policy(max_facts=10))

    assert [item.kind for item in proposal.items] == ["add"]
    assert [known.content for known in proposal.evicted] == ["Fact 9."]


def test_an_edited_fact_is_the_persons_own() -> None:
    """Policy has no say in it: neither in how sure it is, nor in how long."""
    changes = changes_of(PARIS)
    strict = Policy(max_fact_chars=100)

    decided = apply_decision(
        changes, shown(changes), {"items": {"add:fact_00000001": {"after": "x" * 200, "confidence": 0}}}
    )

    (fact,) = apply(decided, Memory(), strict).memory.facts
    assert (fact.content, fact.confidence, fact.source, fact.id) == ("x" * 200, 0, MANUAL, PARIS.id)


def test_an_edit_that_changes_nothing_is_an_acceptance() -> None:
    """A form that sends back all it was given has edited nothing."""
    changes = changes_of(PARIS)
    (item,) = shown(changes).items
    same = {"after": item.after, "category": item.category, "confidence": item.confidence}

    assert apply_decision(changes, shown(changes), {"items": {item.key: same}}) == changes


def test_a_correction_edited_to_something_else_loses_what_went_wrong() -> None:
    """Only a correction tells it."""
    changes = changes_of(UV)

    decided = apply_decision(changes, shown(changes), {"items": {"add:fact_00000002": {"category": "preference"}}})

    assert (decided.additions[0].category, decided.additions[0].source_error) == ("preference", None)


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ({}, "says what to change"),
        ({"after": " "}, "1 to 2,000 characters"),
        ({"after": "x" * 2_001}, "1 to 2,000 characters"),
        ({"after": "a\x1bb"}, "control characters"),
        ({"after": "a\ud800b"}, "control characters"),
        ({"after": 7}, r"items\.add:fact_00000001\.after"),
        ({"category": "hobby"}, "there are preference"),
        ({"confidence": 1.1}, "from 0 to 1"),
        ({"confidence": float("nan")}, "from 0 to 1"),
        ({"confidence": True}, "valid number"),
        ({"sourceError": "Said otherwise."}, "only a correction"),
        ({"after": "Use uv."}, "would say the same"),
        ({"content": "Lives in Rome."}, "no such key"),
    ],
)
def test_an_edit_is_checked_as_any_edit_is(edit: dict[str, object], problem: str) -> None:
    """And says what is wrong with it."""
    changes = changes_of(PARIS, UV)

    with pytest.raises(EditError, match=problem):
        apply_decision(changes, shown(changes), {"items": {"add:fact_00000001": edit}, "others": "accept"})


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ({"after": ""}, "may not be empty"),
        ({"after": "word " * 1_100}, "at most 1,000 tokens"),
        ({"category": "goal"}, "only its text"),
        ({"after": "Baker.", "confidence": 0.5}, "only its text"),
    ],
)
def test_of_a_summary_only_the_text_is_edited(edit: dict[str, object], problem: str) -> None:
    """It has nothing else."""
    changes = changes_of(rewrites=(Rewrite(section="work_context", summary="Engineer.", base=""),))

    with pytest.raises(EditError, match=problem):
        apply_decision(changes, shown(changes), {"items": {"rewrite:work_context": edit}})


@pytest.mark.parametrize("key", ["confirm:fact_00000006", "remove:fact_0000000b"])
def test_what_only_confirms_or_removes_cannot_be_edited(key: str) -> None:
    """There is no text of its own in it."""
    known = Memory(facts=(BERLIN, Fact(id="fact_0000000b", content="Has a dog.")))
    said_again = Addition(id="fact_00000006", content=BERLIN.content, confidence=0.95)
    changes = changes_of(said_again, removals=(Removal(id="fact_0000000b"),))

    with pytest.raises(EditError, match="accepted or rejected"):
        apply_decision(changes, shown(changes, known), Decision(items={key: Edit(after="Has a cat.")}, others="accept"))


def test_a_change_set_has_the_same_fingerprint_after_a_checkpoint() -> None:
    """And another change set has another."""
    changes = changes_of(PARIS, UV)

    again = MemoryUpdate.model_validate_json(changes.model_dump_json())

    assert fingerprint(again) == fingerprint(changes) != fingerprint(changes_of(UV, PARIS))
