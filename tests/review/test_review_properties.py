"""Properties that hold for any memory, change set and answer."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.normalize import fact_key
from memgraph.analysis.uploads import mentions_upload
from memgraph.errors import EditError
from memgraph.models import CATEGORIES, Addition, Fact, MemoryDocument, MemoryUpdate, Removal, Rewrite, Section
from memgraph.policy import Policy
from memgraph.review.decision import Held, hold_items
from memgraph.review.proposal import make_proposal
from memgraph.rules.apply import apply
from memgraph.rules.scrub import scrub
from memgraph.rules.watermark import with_watermark

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
verdicts = st.sampled_from(["accept", "reject"])


def learn(changes: MemoryUpdate, memory: MemoryDocument, policy: Policy) -> MemoryDocument:
    return scrub(memory, apply(changes, memory, policy).memory).memory


def hold(changes: MemoryUpdate, memory: MemoryDocument, policy: Policy) -> Held:
    """Return *changes* with all effective ones waiting."""
    proposed = make_proposal(changes, memory, policy)
    return hold_items(changes, proposed, proposed.items, memory)


def stated(memory: MemoryDocument) -> set[str]:
    """Return what the facts state, and the summary."""
    return {*(fact_key(fact.content) for fact in memory.facts), memory.user.work_context.summary}


@given(memories, updates, policies)
def test_accepting_everything_states_what_learning_without_review_states(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy
) -> None:
    """As long as there is room. Uploads are scrubbed from both."""
    policy = policy.model_copy(update={"max_facts": 50})
    unscrubbed = tuple(addition for addition in changes.additions if not mentions_upload(addition.content))

    accepted = hold(changes, memory, policy).decided(memory, "accept")

    learned = learn(changes.model_copy(update={"additions": unscrubbed}), memory, policy)
    assert stated(learn(accepted, memory, policy)) == stated(learned)


def test_a_fact_that_ends_and_is_stated_again_is_accepted_as_it_is_learned() -> None:
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

    accepted = hold(changes, memory, policy).decided(memory, "accept")

    assert stated(learn(accepted, memory, policy)) == stated(learn(changes, memory, policy))


@given(memories, updates, policies)
def test_rejecting_everything_only_moves_the_watermark(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy
) -> None:
    """Nothing is added, facts are only removed by eviction, and what the rules set aside is pending."""
    held = hold(changes, memory, policy)

    after = learn(held.decided(memory, "reject"), memory, policy)

    expected = learn(changes.model_copy(update={"additions": (), "removals": (), "rewrites": ()}), memory, policy)
    assert (after.facts, after.past, after.user) == (expected.facts, expected.past, expected.user)
    rejected = {change.id for change in held.waiting}
    assert after.pending == tuple(one for one in held.changes.quarantined if one.id not in rejected)
    assert after.threads == with_watermark(memory, "t1", ("m1",), changes.at, policy).threads


@given(memories, updates, policies, st.data())
def test_rejected_changes_have_no_effect(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy, data: Any
) -> None:
    """For any decision about the other ones."""
    held = hold(changes, memory, policy)
    decided = {change.id: data.draw(verdicts) for change in held.waiting}
    accepted, rejected = (
        [change for change in held.waiting if decided[change.id] == verdict] for verdict in ("accept", "reject")
    )

    after = learn(held.decided(memory, {"changes": decided}), memory, policy)

    known, wanted = stated(memory), {fact_key(change.text or "") for change in accepted}
    ended = {fact_id for change in accepted for fact_id in change.replaced}
    for change in rejected:
        if change.facts:
            assert fact_key(change.facts[0].content) not in stated(after) - known - wanted
        if change.summaries:
            assert after.user.work_context.summary == memory.user.work_context.summary
        if len(memory.facts) + len(changes.additions) <= policy.max_facts:
            left = {fact.id for fact in memory.facts} & {*change.replaced} - ended
            assert left <= {fact.id for fact in after.facts}


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | verdicts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["changes", "others", "change_af7ffe78", "text", "confidence"]), inner)
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_json_is_applied_or_rejected_with_a_reason(answer: object) -> None:
    """A client may send anything; the result and the error message can be stored as UTF-8."""
    addition = Addition(id="fact_00000001", content="Has a dog.", confidence=0.9)
    changes = MemoryUpdate(at="2026-05-01T10:00:00Z", thread="t1", message_ids=("m1",), additions=(addition,))
    held = hold(changes, MemoryDocument(), Policy(grounding="off"))

    try:
        result = held.decided(MemoryDocument(), answer).model_dump_json()
    except EditError as error:
        result = str(error)

    assert result.encode("utf-8")
