"""Of two facts in one single-valued slot, the one said later wins."""

from __future__ import annotations

import pytest
from update_values import addition, contents, draft, fact, update

from memgraph.editing import accept_pending
from memgraph.models import Evidence, Fact, MemoryDocument
from memgraph.policy import Policy
from memgraph.rules.apply import apply
from memgraph.rules.supersede import supersede

TRUSTING = Policy(grounding="off")
MARCH, APRIL, MAY = (f"2026-0{month}-03T10:00:00Z" for month in (3, 4, 5))
LISBON = fact("Lives in Lisbon.", id="f1", slot="home", said_at=APRIL)


def superseded(known: Fact, new: str, **fields: object) -> bool:
    """Return whether *known* is past after *new*, in the same slot, was learned."""
    changes = update(additions=(addition(new, id="n1", **({"said_at": MAY, "slot": known.slot} | fields)),))
    return bool(apply(changes, MemoryDocument(facts=(known,)), TRUSTING).memory.past)


def test_a_fact_with_another_value_of_its_slot_is_past() -> None:
    """The model forgot to name what its fact replaces."""
    changes = update(additions=(addition("Lives in Porto.", id="n1", slot="City", said_at=MAY),))

    memory = apply(changes, MemoryDocument(facts=(LISBON,)), TRUSTING, shown_ids=frozenset()).memory

    assert [(known.content, known.slot, known.replaces) for known in memory.facts] == [
        ("Lives in Porto.", "home", ("f1",))
    ]
    (past,) = memory.past
    assert (past.content, past.reason, past.ended_by, past.ended_at) == ("Lives in Lisbon.", "superseded", "n1", MAY)


@pytest.mark.parametrize(
    ("new", "slot"),
    [
        ("Lives in Lisbon, near the river.", "home"),
        ("Sister lives in Porto.", "home"),
        ("Has a flat in Porto.", None),
        ("Lives on pasta.", "diet"),
    ],
)
def test_other_facts_end_nothing(new: str, slot: str | None) -> None:
    """The same value, other people, no slot or another one."""
    assert not superseded(LISBON, new, slot=slot)


@pytest.mark.parametrize("slot", ["home", None])
def test_what_was_said_before_ends_nothing_also_if_a_model_names_it(slot: str | None) -> None:
    """An old conversation that is learned late is the past of what was said since."""
    known = LISBON.model_copy(update={"slot": slot})
    earlier = addition("Lives in Porto.", id="n1", slot=slot, said_at=MARCH, replaces=("f1",))

    memory = apply(update(additions=(earlier,)), MemoryDocument(facts=(known,)), TRUSTING).memory

    assert (contents(memory), [(one.content, one.ended_by) for one in memory.past]) == (
        ["Lives in Lisbon."],
        [("Lives in Porto.", "f1")],
    )


def test_of_the_facts_that_it_names_an_old_conversation_ends_those_said_before_it() -> None:
    known = (LISBON, fact("Owns a red bicycle.", id="f2", said_at="2026-02-03T10:00:00Z"))
    earlier = addition("Sold the red bicycle.", id="n1", said_at=MARCH, replaces=("f1", "f2"))

    memory = apply(update(additions=(earlier,)), MemoryDocument(facts=known), TRUSTING).memory

    assert (contents(memory), [one.id for one in memory.past]) == (
        ["Lives in Lisbon.", "Sold the red bicycle."],
        ["f2"],
    )


SPEECH = fact("Is preparing for a speech.", id="f1", slot="role", said_at=APRIL)


@pytest.mark.parametrize(
    ("new", "quote", "is_past"),
    [
        ("Feels confident about a career.", "I feel confident about my career", False),
        ("Feels confident about a career.", "I feel confident about my career, no more speeches", True),
        ("Feels confident about a career.", "I feel confident about my career now", True),
        ("Is preparing for a concert.", "I am preparing for a concert", True),
    ],
)
def test_a_slot_counts_with_a_word_in_common_or_an_announced_change(
    new: str,
    quote: str,
    is_past: bool,  # noqa: FBT001
) -> None:
    """Small models name slots at random."""
    assert superseded(SPEECH, new, slot="role", evidence=(Evidence(quote=quote),)) is is_past


@pytest.mark.parametrize("slot", ["favourite_thing", "", "a b", "pets"])
def test_a_slot_that_the_table_does_not_have_ends_nothing(slot: str) -> None:
    known = fact("Is fond of rivers.", id="f1", slot=slot, said_at=APRIL)

    assert not superseded(known, "Is fond of lakes.", slot=slot)


@pytest.mark.parametrize(("checked", "slot"), [("yes", None), (None, "home")])
def test_a_value_that_the_check_leaves_with_another_fills_no_slot(checked: str | None, slot: str | None) -> None:
    """It is not one at a time then, and recall marks none as earlier."""
    proposed = addition("Rents a flat in Porto.", id="n1", said_at=MAY, slot="home", checked=checked)

    memory = apply(update(additions=(proposed,)), MemoryDocument(facts=(LISBON,)), TRUSTING).memory

    assert [(known.id, known.slot) for known in memory.facts] == [("f1", "home"), ("n1", slot)]


def test_a_slot_may_be_a_person() -> None:
    """What is stated of the partner, or the manager, is stated of the user."""
    known = fact("Wife is Ada.", id="f1", slot="partner", said_at=APRIL)

    assert superseded(known, "Wife is Bea.")


def test_what_people_have_several_of_is_not_superseded() -> None:
    known = fact("Is allergic to nuts.", id="f1", slot="allergy", said_at=APRIL)

    assert not superseded(known, "Is allergic to pollen now.")


def test_what_was_said_before_the_current_fact_is_past_itself() -> None:
    """An older conversation is learned from after a newer one."""
    changes = update(additions=(addition("Lives in Rome.", id="n1", slot="home", said_at=MARCH),))

    memory = apply(changes, MemoryDocument(facts=(LISBON,)), TRUSTING).memory

    assert contents(memory) == ["Lives in Lisbon."]
    assert [(past.content, past.ended_by, past.ended_at) for past in memory.past] == [("Lives in Rome.", "f1", APRIL)]
    again = update(thread="t2", additions=(addition("Lives in Rome.", id="n2", slot="home", said_at=MARCH),))
    assert len(apply(again, memory, TRUSTING).memory.past) == 1


def test_of_two_additions_the_one_said_later_wins() -> None:
    changes = update(
        additions=(
            addition("Lives in Porto.", id="n1", slot="home", said_at=MAY),
            addition("Lives in Lisbon.", id="n2", slot="home", said_at=APRIL),
        )
    )

    memory = apply(changes, MemoryDocument(), TRUSTING).memory

    assert contents(memory) == ["Lives in Porto."]
    assert [past.content for past in memory.past] == ["Lives in Lisbon."]


def test_two_values_said_at_once_are_both_kept() -> None:
    """Whoever names two at once has two."""
    changes = update(
        additions=(
            addition("Works at Acme.", id="n1", slot="employer", said_at=MAY),
            addition("Works at Globex.", id="n2", slot="employer", said_at=MAY),
        )
    )

    assert contents(apply(changes, MemoryDocument(), TRUSTING).memory) == ["Works at Acme.", "Works at Globex."]


def test_a_plan_ends_nothing_yet() -> None:
    assert not superseded(LISBON, "Lives in Porto.", valid_from="2026-09")
    assert not superseded(LISBON, "Lives in Porto.", valid_from="2024", valid_until="2025")


def test_a_manual_fact_is_replaced_only_if_a_person_agrees() -> None:
    own = fact("Lives in Lisbon.", id="own", slot="home", source="manual", created_at=APRIL)
    changes = update(additions=(addition("Lives in Porto.", id="n1", slot="home", said_at=MAY),))

    memory = apply(changes, MemoryDocument(facts=(own,)), TRUSTING).memory

    (held,) = memory.pending
    assert (contents(memory), held.reason) == (["Lives in Lisbon."], "a person wrote otherwise: Lives in Lisbon.")
    accepted = accept_pending(memory, held.id)
    assert (contents(accepted), [past.id for past in accepted.past]) == (["Lives in Porto."], ["own"])


def test_a_model_that_replaces_a_manual_fact_asks_too() -> None:
    own = fact("Plays chess.", id="own", source="manual", created_at=APRIL)
    proposed = addition("Gave up chess.", id="n1", said_at=MAY, replaces=("own",))

    memory = apply(update(additions=(proposed,)), MemoryDocument(facts=(own,)), TRUSTING).memory

    assert (contents(memory), len(memory.pending)) == (["Plays chess."], 1)


def test_what_a_reviewer_wrote_stands_beside_a_manual_fact() -> None:
    own = fact("Lives in Lisbon.", id="own", source="manual", created_at=APRIL)
    proposed = addition("Lives in Porto.", id="n1", said_at=MAY, edited_by_user=True)

    result = supersede(draft(MemoryDocument(facts=(own,)), additions=(proposed,)))

    assert (len(result.changes.additions), result.pending) == (1, ())


def test_a_refused_addition_ends_nothing() -> None:
    assert not superseded(LISBON, "Lives in Porto.", confidence=0.1)
