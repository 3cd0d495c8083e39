"""Properties that hold for any memory, change set and answer."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memgraph.errors import EditError
from memgraph.models import CATEGORIES, Addition, Fact, MemoryDocument, MemoryUpdate, Removal, Rewrite, Scope, Section
from memgraph.policy import Policy
from memgraph.review import Proposal
from memgraph.review.decision import apply_decision
from memgraph.review.proposal import make_proposal
from memgraph.rules.apply import apply
from memgraph.rules.scrub import scrub
from memgraph.rules.watermark import with_watermark
from memgraph.text.normalize import fact_key
from memgraph.text.uploads import mentions_upload

IDS = [f"fact_{number:08x}" for number in range(8)]
TEXTS = st.sampled_from(["Likes tea.", "likes  TEA.", "Has a dog.", "Lives in Rome.", "Uploaded q3.pdf.", "Why?", ""])
SOME_IDS = st.lists(st.sampled_from(IDS), max_size=3).map(tuple)

facts = st.builds(
    Fact,
    id=st.sampled_from(IDS),
    content=TEXTS,
    confidence=st.sampled_from([0.7, 0.9]),
    source=st.sampled_from(["t0", "manual"]),
)
memories = st.builds(
    lambda kept, extra, summary: MemoryDocument(
        facts=(
            *kept,
            *(Fact(id=f"fact_{n:08d}", content=f"Fact {n}.", confidence=0.8) for n in range(100, 100 + extra)),
        )
    ).with_section("work_context", Section(summary=summary)),
    st.lists(facts, max_size=6, unique_by=lambda fact: fact.id),
    st.integers(0, 10),
    TEXTS,
)
additions = st.builds(
    Addition,
    id=st.uuids().map(lambda drawn: f"fact_{drawn.hex[:8]}"),
    content=TEXTS | st.text(max_size=3),
    category=st.sampled_from([*CATEGORIES, "correction"]),
    confidence=st.sampled_from([0.3, 0.8, 1.0]),
    replaces=SOME_IDS,
)
updates = st.builds(
    lambda **parts: MemoryUpdate(at="2026-05-01T10:00:00Z", thread="t1", message_ids=("m1",), **parts),
    rewrites=st.lists(st.builds(Rewrite, section=st.just("work_context"), summary=TEXTS, base=TEXTS), max_size=1).map(
        tuple
    ),
    additions=st.lists(additions, max_size=8, unique_by=lambda addition: addition.id).map(tuple),
    removals=st.lists(st.builds(Removal, id=st.sampled_from(IDS)), max_size=4).map(tuple),
)
policies = st.builds(Policy, max_facts=st.integers(10, 14), grounding=st.just("off"))
UNCONFIRMED = {"confirmations": 0, "last_confirmed_at": "", "confidence": 1.0, "slot": None}
verdicts = st.sampled_from(["accept", "reject"])


def learn(changes: MemoryUpdate, memory: MemoryDocument, policy: Policy) -> MemoryDocument:
    """Apply *changes*, ignoring traces of scrubbed facts: the time of the update and the order of facts.

    A fact that is confirmed and then replaced by one update is listed as replaced only, so that a past fact is compared
    by what it states, and by when and why it ended.
    """
    after = scrub(memory, apply(changes, memory, policy).memory).memory
    facts = tuple(sorted(after.facts, key=lambda fact: fact.id))
    past = tuple(fact.model_copy(update=UNCONFIRMED) for fact in after.past)
    return after.model_copy(update={"facts": facts, "past": past, "last_updated": ""})


def propose(changes: MemoryUpdate, memory: MemoryDocument, policy: Policy) -> Proposal:
    return make_proposal(changes, memory, policy, scope=Scope("ada")).proposal


@given(memories, updates, policies)
def test_accepting_everything_equals_learning_without_review(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy
) -> None:
    """A proposal lists every effective change, except uploads, which are scrubbed."""
    unscrubbed = tuple(addition for addition in changes.additions if not mentions_upload(addition.content))

    accepted = apply_decision(changes, propose(changes, memory, policy), "accept")

    assert learn(accepted, memory, policy) == learn(
        changes.model_copy(update={"additions": unscrubbed}), memory, policy
    )


def test_a_fact_that_is_replaced_and_stated_again_is_accepted_as_it_is_learned() -> None:
    """What it confirms is gone by then, so the second statement adds it."""
    memory = MemoryDocument(facts=(Fact(id=IDS[0], content="Likes tea.", source="t0"),))
    said = [("a", "Likes tea.", ()), ("b", "Has a dog.", (IDS[0],)), ("c", "Likes tea.", ())]
    changes = MemoryUpdate(
        at="2026-05-01T10:00:00Z",
        thread="t1",
        message_ids=("m1",),
        additions=tuple(Addition(id=i, content=text, confidence=0.8, replaces=old) for i, text, old in said),
    )
    policy = Policy(grounding="off")

    accepted = apply_decision(changes, propose(changes, memory, policy), "accept")

    assert learn(accepted, memory, policy) == learn(changes, memory, policy)


@given(memories, updates, policies)
def test_rejecting_everything_only_moves_the_watermark(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy
) -> None:
    """Nothing is added, facts are only removed by eviction, and what the rules set aside is pending."""
    proposal = propose(changes, memory, policy)

    accepted = apply_decision(changes, proposal, "reject")

    expected = learn(changes.model_copy(update={"additions": (), "removals": (), "rewrites": ()}), memory, policy)
    assert learn(accepted, memory, policy) == expected.with_pending(*proposal.quarantined)
    assert expected.threads == with_watermark(memory, "t1", ("m1",), changes.at, policy).threads


@given(memories, updates, policies, st.data())
def test_rejected_items_have_no_effect(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy, data: Any
) -> None:
    """For any decision about the other items."""
    proposal = propose(changes, memory, policy)
    decided = {item.key: data.draw(verdicts) for item in proposal.items}
    rejected = [item for item in proposal.items if decided[item.key] == "reject"]

    after = learn(apply_decision(changes, proposal, {"items": decided}), memory, policy)

    kept = {fact.id for fact in after.facts}
    accepted_instead = {old.id for item in proposal.items if decided[item.key] == "accept" for old in item.replaces}
    for item in rejected:
        assert item.kind not in ("add", "confirm") or item.id not in kept
        assert item.kind != "rewrite" or after.user.work_context.summary == item.before
        if len(memory.facts) + len(changes.additions) <= policy.max_facts:
            assert item.kind != "remove" or item.id in kept
            assert {old.id for old in item.replaces} <= kept | accepted_instead


@given(memories, updates, policies)
def test_an_accepted_change_set_never_has_other_effects(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy
) -> None:
    """Applied to another memory, it adds, removes and rewrites only what was in the proposal."""
    proposal = propose(changes, memory, policy)
    accepted = apply_decision(changes, proposal, "accept")

    again = propose(accepted, MemoryDocument(facts=memory.facts[1:]), policy)

    effects = [{fact_key(item.after or item.id) for item in one.items} for one in (again, proposal)]
    assert effects[0] <= effects[1]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | verdicts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["items", "others", "add:fact_00000001", "after", "confidence"]), inner)
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_json_is_applied_or_rejected_with_a_reason(answer: object) -> None:
    """A client may send anything; the result and the error message can be stored as UTF-8."""
    addition = Addition(id="fact_00000001", content="Has a dog.", confidence=0.9)
    changes = MemoryUpdate(at="2026-05-01T10:00:00Z", thread="t1", message_ids=("m1",), additions=(addition,))
    proposal = propose(changes, MemoryDocument(), Policy(grounding="off"))

    try:
        result = apply_decision(changes, proposal, answer).model_dump_json()
    except EditError as error:
        result = str(error)

    assert result.encode("utf-8")
