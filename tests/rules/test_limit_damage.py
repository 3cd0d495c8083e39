"""One update cannot do much damage, and what exceeds the limit waits for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import addition, contents, draft, fact, update

from memgraph.editing import accept_pending
from memgraph.models import MemoryDocument, Removal, Rewrite, Section
from memgraph.policy import Policy
from memgraph.rules.apply import apply
from memgraph.rules.draft import SetAside
from memgraph.rules.limit_damage import damage_limit, limit_damage

TRUSTING = Policy(grounding="off")
MANUAL = fact("Written by a person.", id="own", source="manual")


def memory_of(count: int) -> MemoryDocument:
    return MemoryDocument(facts=(MANUAL, *(fact(f"Fact {n}.", id=f"f{n}") for n in range(count))))


def lost(before: MemoryDocument, after: MemoryDocument) -> int:
    return len({known.id for known in before.facts} - {known.id for known in after.facts})


@pytest.mark.parametrize(("count", "limit"), [(0, 5), (25, 5), (30, 6), (90, 18)])
def test_the_limit_is_a_fifth_of_the_learned_facts(count: int, limit: int) -> None:
    """At least five; what a person wrote does not count."""
    assert damage_limit(memory_of(count)) == limit


def test_an_answer_that_removes_everything_removes_a_fifth() -> None:
    """The rest is one change in quarantine, that a person can accept."""
    before = memory_of(90)
    changes = update(removals=tuple(Removal(id=known.id) for known in before.facts))

    result = apply(changes, before, TRUSTING).memory

    (held,) = result.pending
    assert (lost(before, result), len(held.removes)) == (18, 72)
    assert contents(accept_pending(result, held.id)) == ["Written by a person."]


def test_a_replacement_beyond_the_limit_waits_with_its_fact() -> None:
    """The old facts stay, and the new one is not beside them."""
    before = memory_of(10)
    pairs = [(f"f{n}", f"f{n + 1}") for n in range(0, 6, 2)]
    additions = tuple(addition(f"New {pair[0]}.", id=f"n{pair[0]}", replaces=pair) for pair in pairs)

    result = apply(update(additions=additions), before, TRUSTING).memory

    assert [known for known in contents(result) if known.startswith("New")] == ["New f0.", "New f2."]
    assert [held.facts[0].content for held in result.pending] == ["New f4."]


def test_what_claims_end_that_are_kept_as_said_counts() -> None:
    """They stay, and what they would end beyond the limit waits."""
    before = memory_of(10)
    claims = tuple(
        SetAside(addition(f"Claim {n}.", id=f"n{n}", replaces=(f"f{n}", f"f{n + 1}")), "in doubt")
        for n in range(0, 8, 2)
    )

    limited = limit_damage(replace(draft(before), as_said=claims))

    assert [one.addition.replaces for one in limited.as_said] == [("f0", "f1"), ("f2", "f3"), (), ()]
    assert [held.removes for held in limited.pending] == [("f4", "f5", "f6", "f7")]


def test_evictions_count() -> None:
    """A flood of new facts does not push the known ones out; the surplus waits."""
    before = MemoryDocument(facts=tuple(fact(f"Fact {n}.", id=f"f{n}") for n in range(10)))
    flood = tuple(addition(f"New {n}.", id=f"n{n}") for n in range(10))
    changes = update(additions=flood, removals=(Removal(id="f0"), Removal(id="f1")))

    result = apply(changes, before, Policy(grounding="off", max_facts=10)).memory

    assert (lost(before, result), len(result.facts)) == (5, 10)
    assert sum(len(held.facts) for held in result.pending) == 5


@pytest.mark.parametrize(
    ("summary", "removed", "kept"),
    [
        ("Engineer in Oslo, cycles to work.", (), True),
        ("Sells boats in Rome.", (), False),
        ("Sells boats in Rome.", ("f1", "f2"), True),
        ("", (), True),
    ],
)
def test_a_summary_keeps_half_of_what_is_valid(
    summary: str,
    removed: tuple[str, ...],
    kept: bool,  # noqa: FBT001
) -> None:
    """Words of facts that this update ends are not valid any more."""
    old = "Engineer in Oslo, cycles daily."
    facts = (fact("Works as an engineer in Oslo.", id="f1"), fact("Cycles daily.", id="f2"))
    before = MemoryDocument(facts=facts).with_section("work_context", Section(summary=old))
    rewrite = Rewrite(section="work_context", summary=summary, base=old)

    result = limit_damage(draft(before, rewrites=(rewrite,), removals=tuple(Removal(id=one) for one in removed)))

    assert bool(result.changes.rewrites) is kept
    assert [held.summaries for held in result.pending] == ([] if kept else [{"workContext": summary}])


ids = st.sampled_from([f"f{n}" for n in range(40)])


@given(
    st.integers(0, 40),
    st.lists(ids, max_size=30),
    st.lists(st.lists(ids, max_size=6), max_size=15),
    st.integers(10, 40),
)
def test_no_update_exceeds_the_limit(count: int, removed: list[str], replaced: list[list[str]], max_facts: int) -> None:
    """Whatever it proposes; and it makes no memory exceed its size."""
    before = memory_of(count)
    changes = update(
        removals=tuple(Removal(id=one) for one in removed),
        additions=tuple(addition(f"New {n}.", id=f"n{n}", replaces=tuple(old)) for n, old in enumerate(replaced)),
    )

    after = apply(changes, before, Policy(grounding="off", max_facts=max_facts)).memory

    assert lost(before, after) <= damage_limit(before)
    assert len(after.facts) - 1 <= max(max_facts, count)
