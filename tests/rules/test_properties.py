"""What holds for any memory and any change set."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from memgraph.models import (
    CATEGORIES,
    Addition,
    Evidence,
    Fact,
    MemoryDocument,
    MemoryUpdate,
    Merge,
    Removal,
    Rewrite,
    Section,
)
from memgraph.policy import Policy
from memgraph.rules.apply import apply
from memgraph.rules.scrub import scrub

IDS = [f"fact_{n:08x}" for n in range(12)]
TEXTS = st.sampled_from(["Likes tea.", "likes  TEA.", "Has a dog.", "住在杭州", "Uploaded q3.pdf.", "Uses uv.", ""])
TIMES = st.sampled_from(["", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"])
CONFIDENCE = st.floats(0, 1)

facts = st.builds(
    Fact,
    id=st.sampled_from(IDS),
    content=TEXTS | st.text(max_size=20),
    category=st.sampled_from([*CATEGORIES, "odd"]),
    confidence=CONFIDENCE,
    created_at=TIMES,
    source=st.sampled_from(["t0", "t1", "manual"]),
    valid_until=st.sampled_from(["", "2025", "2026-04", "2026-05-01", "2027"]),
    evidence=st.lists(st.builds(Evidence, quote=st.sampled_from("pqrs")), max_size=2).map(tuple),
)
memories = st.builds(
    lambda kept, summary: MemoryDocument(facts=tuple(kept)).with_section("work_context", Section(summary=summary)),
    st.lists(facts, max_size=25, unique_by=lambda fact: fact.id),
    TEXTS,
)
additions = st.builds(
    Addition,
    id=st.uuids().map(lambda drawn: f"fact_{drawn.hex[:8]}"),
    content=TEXTS | st.text(max_size=20),
    category=st.sampled_from(list(CATEGORIES)),
    confidence=CONFIDENCE,
    durable=st.booleans(),
    replaces=st.lists(st.sampled_from(IDS), max_size=3).map(tuple),
    said_at=TIMES,
    valid_until=st.sampled_from(["", "2025", "2026-04", "2027"]),
)
updates = st.builds(
    lambda **parts: MemoryUpdate(**parts),  # noqa: PLW0108 - hypothesis would ask for the aliases too
    at=st.just("2026-05-01T10:00:00Z"),
    thread=st.sampled_from(["t1", "unknown"]),
    message_ids=st.lists(st.sampled_from([f"m{n}" for n in range(30)]), min_size=1, max_size=20, unique=True).map(
        tuple
    ),
    rewrites=st.lists(st.builds(Rewrite, section=st.just("work_context"), summary=TEXTS, base=TEXTS), max_size=1).map(
        tuple
    ),
    additions=st.lists(additions, max_size=15, unique_by=lambda addition: addition.id).map(tuple),
    removals=st.lists(st.builds(Removal, id=st.sampled_from(IDS)), max_size=4).map(tuple),
)
upkeeps = st.builds(
    lambda **parts: MemoryUpdate(**parts),  # noqa: PLW0108 - as above
    at=st.just("2026-05-01T10:00:00Z"),
    thread=st.just("unknown"),
    message_ids=st.just(()),
    merges=st.lists(
        st.builds(
            Merge,
            id=st.sampled_from(IDS),
            content=TEXTS,
            merged=st.lists(st.sampled_from(IDS), min_size=1, max_size=3).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
    removals=st.lists(st.builds(Removal, id=st.sampled_from(IDS)), max_size=2).map(tuple),
    asked=st.lists(st.sampled_from(["d1", "d2"])).map(tuple),
)
policies = st.builds(
    Policy,
    max_facts=st.integers(10, 14),
    thread_mark_ids=st.integers(1, 10),
    max_threads=st.integers(1, 3),
    grounding=st.just("off"),
)


@given(memories, updates | upkeeps, policies)
def test_applying_twice_is_applying_once(memory: MemoryDocument, changes: MemoryUpdate, policy: Policy) -> None:
    """A run that lost a race, or was killed between save and removal, applies again.

    What exceeded the limit of an upkeep, which has no watermark, may be within it the second time.
    """
    first = apply(changes, memory, policy)
    once = first.memory
    exceeds = once.pending != memory.pending or any("at most" in refusal.reason for refusal in first.refused)
    assume(changes.message_ids or not exceeds)

    assert apply(changes, once, policy).memory == once


@given(memories, updates, policies)
def test_no_update_makes_a_memory_exceed_its_limit(
    memory: MemoryDocument, changes: MemoryUpdate, policy: Policy
) -> None:
    """Whatever the model proposes; one that has more facts, since the limit was lowered, does not grow."""
    after = apply(changes, memory, policy).memory

    before = sum(not fact.is_manual for fact in memory.facts)
    assert sum(not fact.is_manual for fact in after.facts) <= max(policy.max_facts, before)


@given(memories, updates | upkeeps, policies)
def test_what_a_person_wrote_is_never_touched(memory: MemoryDocument, changes: MemoryUpdate, policy: Policy) -> None:
    """Not removed, not rewritten, not evicted, not scrubbed."""
    applied = apply(changes, memory, policy).memory

    after = scrub(memory, applied).memory

    assert [fact for fact in after.facts if fact.is_manual] == [fact for fact in memory.facts if fact.is_manual]


@given(memories, upkeeps, policies)
def test_an_upkeep_loses_no_evidence(memory: MemoryDocument, changes: MemoryUpdate, policy: Policy) -> None:
    """A merge moves what the user said to the fact that stays; what is ended keeps it, in the past."""
    after = apply(changes, memory, policy).memory

    assert _quotes(after) >= _quotes(memory)


def _quotes(memory: MemoryDocument) -> set[str]:
    return {one.quote for fact in (*memory.facts, *memory.past) for one in fact.evidence}


@given(memories, updates | upkeeps, policies)
def test_ids_stay_unique(memory: MemoryDocument, changes: MemoryUpdate, policy: Policy) -> None:
    """A fact is found by its id."""
    after = scrub(memory, apply(changes, memory, policy).memory).memory

    assert len({fact.id for fact in after.facts}) == len(after.facts)


@given(memories, updates, policies)
def test_nothing_disappears_without_a_reason(memory: MemoryDocument, changes: MemoryUpdate, policy: Policy) -> None:
    """Every fact that is gone stands in the result with why."""
    result = apply(changes, memory, policy)

    gone = {fact.id for fact in memory.facts} - {fact.id for fact in result.memory.facts}
    assert gone <= {removed.fact.id for removed in result.removed if removed.why}


@given(memories, updates, policies)
def test_only_what_is_good_enough_comes_in(memory: MemoryDocument, changes: MemoryUpdate, policy: Policy) -> None:
    """The threshold holds for every new fact."""
    known = {fact.id for fact in memory.facts}

    new = [fact for fact in apply(changes, memory, policy).memory.facts if fact.id not in known]

    assert all(fact.confidence >= policy.fact_confidence_threshold and fact.content.strip() for fact in new)


@given(memories, updates, policies)
def test_nothing_is_lost(memory: MemoryDocument, changes: MemoryUpdate, policy: Policy) -> None:
    """Each fact that was known is current or past, and each that was added is current, past or in quarantine."""
    result = apply(changes, memory, policy)

    after = result.memory
    kept = {fact.id for fact in (*after.facts, *after.past)}
    waiting = {fact.content for item in after.pending for fact in item.facts}
    refused = {refusal.item for refusal in result.refused}
    assert {fact.id for fact in memory.facts} <= kept
    for addition in changes.additions:
        assert addition.id in kept or addition.content.strip() in waiting or addition.content in refused | {""}
