"""A person decides about pending changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import MemoryClient
from memgraph.editing import accept_pending, reject_pending
from memgraph.errors import AlreadyDecidedError, EditError
from memgraph.models import Fact, MemoryDocument, PendingChange, Scope, Section, StoredProfile
from memgraph.rules.decide import accept, ended_by, find_pending
from memgraph.storage import open_storage

ADA = Scope("ada")

OSLO = Fact(id="f1", content="Lives in Oslo.")
TEA = Fact(id="f2", content="Likes tea.")
OWN = Fact(id="f3", content="Has a dog.", source="manual")
ROME = Fact(id="f1", content="Lives in Rome.", replaces=("f1", "f3"))
AGAIN = Fact(id="f9", content="likes TEA.")
CHANGE = PendingChange(
    id="q1", reason="too much", facts=(ROME, AGAIN), removes=("gone",), summaries={"workContext": "Cook."}
)
MEMORY = MemoryDocument(
    facts=(OSLO, TEA, OWN), pending=(CHANGE, PendingChange(id="q2", removes=("f2", "f3")))
).with_section("work_context", Section(summary="Engineer."))


def test_an_accepted_change_is_applied_as_a_whole() -> None:
    """What its facts replace is past, a manual fact too; known facts are not doubled."""
    memory = accept_pending(MEMORY, "q1")

    assert [fact.content for fact in memory.facts] == ["Likes tea.", "Lives in Rome."]
    assert [(fact.content, fact.reason) for fact in memory.past] == [
        ("Lives in Oslo.", "superseded"),
        ("Has a dog.", "superseded"),
    ]
    assert memory.user.work_context.summary == "Cook."
    assert [item.id for item in memory.pending] == ["q2"]


def test_a_removal_of_what_a_person_wrote_since_is_not_accepted_without_effect() -> None:
    memory = MEMORY.with_facts((OSLO, TEA.model_copy(update={"source": "manual"}), OWN))

    with pytest.raises(EditError, match="reject this change, or remove the fact yourself"):
        accept_pending(memory, "q2")


def test_what_a_person_agrees_to_remove_is_past() -> None:
    """Nothing that held is lost."""
    assert [(fact.content, fact.reason) for fact in accept_pending(MEMORY, "q2").past] == [("Likes tea.", "removed")]


def test_an_accepted_removal_removes_what_was_learned() -> None:
    """Not what a person wrote."""
    assert [fact.id for fact in accept_pending(MEMORY, "q2").facts] == ["f1", "f3"]


def test_an_accepted_wording_takes_the_place_of_what_a_person_wrote_since() -> None:
    """The fact keeps its id, and the words of the person are past."""
    held = PendingChange(id="q", facts=(Fact(id="f2", content="Likes coffee."),), removes=("f2",))
    since = TEA.model_copy(update={"content": "Likes green tea.", "source": "manual"})

    memory = accept_pending(MemoryDocument(facts=(since,), pending=(held,)), "q")

    assert [(fact.id, fact.content) for fact in memory.facts] == [("f2", "Likes coffee.")]
    assert [(fact.content, fact.reason) for fact in memory.past] == [("Likes green tea.", "superseded")]


def test_of_two_changes_of_a_fact_the_one_accepted_last_holds() -> None:
    """Also if the first was edited, and is a person's then."""
    waiting = [
        PendingChange(id=f"q{n}", facts=(Fact(id="f2", content=f"Likes blend {n}."),), removes=("f2",)) for n in (1, 2)
    ]

    memory = accept_pending(MemoryDocument(facts=(TEA,), pending=tuple(waiting)), "q1", text="Likes no blend.")
    memory = accept_pending(memory, "q2")

    assert [(fact.id, fact.content) for fact in memory.facts] == [("f2", "Likes blend 2.")]


IDS = [f"k{n}" for n in range(4)]
SOME_IDS = st.lists(st.sampled_from(IDS), max_size=3, unique=True).map(tuple)


@given(st.sets(st.sampled_from(IDS)), SOME_IDS, st.dictionaries(st.sampled_from([*IDS, "new"]), SOME_IDS, max_size=2))
def test_accepting_ends_exactly_what_is_shown_to_end(
    manual: set[str], removes: tuple[str, ...], added: dict[str, tuple[str, ...]]
) -> None:
    known = tuple(Fact(id=key, content=f"Knows {key}.", source="manual" if key in manual else "t1") for key in IDS)
    new = tuple(Fact(id=key, content=f"Learned {key}.", replaces=replaces) for key, replaces in added.items())
    change = PendingChange(id="q", facts=new, removes=removes)
    memory = MemoryDocument(facts=known, pending=(change,))

    after = accept(memory, change, at="2026-05-01T09:00:00Z")

    left = {fact.content for fact in after.facts}
    assert {fact.id for fact in known if fact.content not in left} == ended_by(memory, change)
    assert {fact.content for fact in new} <= left


def test_an_accepted_fact_can_be_edited() -> None:
    """It is a person's then."""
    held = PendingChange(id="q", facts=(Fact(content="Lives in Rome."),))

    (fact,) = accept_pending(MemoryDocument(pending=(held,)), "q", text="Lives in Rome, Italy.").facts

    assert (fact.content, fact.is_manual) == ("Lives in Rome, Italy.", True)


def test_an_accepted_summary_can_be_edited() -> None:
    held = PendingChange(id="q", summaries={"workContext": "Cook."})

    memory = accept_pending(MemoryDocument(pending=(held,)), "q", text="A cook.")

    assert memory.user.work_context.summary == "A cook."


@pytest.mark.parametrize(
    ("change_id", "text"), [("q1", "Two facts."), ("q2", "None."), ("q3", " "), ("q3", "x" * 3_000)]
)
def test_only_a_single_text_can_be_edited_within_the_limits(change_id: str, text: str) -> None:
    memory = MEMORY.with_pending(PendingChange(id="q3", facts=(Fact(content="Has a cat."),)))

    with pytest.raises(EditError):
        accept_pending(memory, change_id, text=text)


def test_an_accepted_value_is_in_the_profile() -> None:
    """None removes a field, and the others stay."""
    known = StoredProfile(values={"age": 33, "diet": "vegan", "city": "Oslo"})
    held = PendingChange(id="q", profile={"age": 34, "diet": None})

    memory = accept_pending(MemoryDocument(profile=known, pending=(held,)), "q")

    assert memory.profile.values == {"age": 34, "city": "Oslo"}


def test_a_rejected_change_is_not_proposed_again() -> None:
    """Also by another conversation."""
    memory = reject_pending(MEMORY, "q1").with_pending(CHANGE.model_copy(update={"thread": "t9"}))

    assert [item.id for item in memory.pending] == ["q2"]


def test_the_last_500_rejected_changes_are_remembered() -> None:
    memory = MemoryDocument(rejected=tuple(f"r{n}" for n in range(500)), pending=(CHANGE,))

    assert reject_pending(memory, "q1").rejected == (*(f"r{n}" for n in range(1, 500)), "q1")


def test_a_change_is_decided_once() -> None:
    """The second person is told."""
    storage = open_storage("memory:")
    storage.save(ADA, MEMORY)
    MemoryClient(storage, user_id="ada").decide("q1", "accept")

    with pytest.raises(AlreadyDecidedError, match="already decided"):
        MemoryClient(storage, user_id="ada").decide("q1", "reject")


def test_a_decision_is_in_the_history_and_can_be_undone() -> None:
    """An undone rejection waits again."""
    storage = open_storage("memory:")
    storage.save(ADA, MEMORY)
    MemoryClient(storage, user_id="ada").decide("q1", "reject")
    decided = storage.load(ADA)

    (latest, *_) = storage.revisions(ADA)
    MemoryClient(storage, user_id="ada").undo(decided.revision)

    assert [(one.item, one.verdict) for one in latest.decisions] == [("q1", "reject")]
    memory = storage.load(ADA)
    assert ([item.id for item in memory.pending], memory.rejected) == (["q1", "q2"], ())


def test_a_rejected_change_is_gone() -> None:
    """And changes nothing else."""
    memory = reject_pending(MEMORY, "q1")

    assert (memory.facts, [item.id for item in memory.pending]) == (MEMORY.facts, ["q2"])


@pytest.mark.parametrize("decide", [find_pending, accept_pending, reject_pending])
def test_an_unknown_change_is_an_error(decide: object) -> None:
    """Somebody else may have decided it."""
    with pytest.raises(AlreadyDecidedError, match="'q3' is pending"):
        decide(MEMORY, "q3")  # type: ignore[operator]


def test_a_document_keeps_its_quarantine() -> None:
    """What is not a change in it does no harm."""
    stored = MEMORY.model_dump(mode="json", by_alias=True)
    odd = {"quarantine": [3, {"facts": 3}, {"facts": [{"content": "x"}], "summaries": []}, {"id": None}]}

    assert MemoryDocument.model_validate(stored) == MEMORY
    assert [item.id for item in MemoryDocument.model_validate(odd).pending] == [""]
    assert MemoryDocument.model_validate({"quarantine": None}).pending == ()
