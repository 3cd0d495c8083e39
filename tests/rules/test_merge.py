"""An addition that states what is known in other words confirms it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import AT, addition, contents, draft, fact, turn, update

from memgraph.analysis.names import numbers_of
from memgraph.analysis.slots import load_slots
from memgraph.models import Evidence, Fact, MemoryDocument, MemoryUpdate, Turn
from memgraph.policy import Policy
from memgraph.rules.apply import apply
from memgraph.rules.merge import merge

OFF = Policy(grounding="off")


def learn(memory: MemoryDocument, *additions: object, at: str = AT) -> MemoryDocument:
    """Return *memory* after an update with *additions*."""
    changes = MemoryUpdate.model_validate({"at": at, "thread": at, "message_ids": (at,), "additions": additions})
    return apply(changes, memory, OFF).memory


def test_other_words_for_a_known_fact_confirm_it() -> None:
    known = fact("Lives in Lisbon.", id="f1", said_at="2026-03-01T09:00:00Z")

    after = learn(
        MemoryDocument(facts=(known,)), addition("The user is based in Lisbon.", said_at="2026-04-01T09:00:00Z")
    )

    assert [(each.id, each.content, each.confirmations) for each in after.facts] == [("f1", "Lives in Lisbon.", 1)]


def test_the_richer_wording_is_kept_with_all_quotes() -> None:
    known = fact("Has a dog.", id="f1", evidence=({"quote": "my dog"},))
    again = addition("Has a dog called Max.", evidence=({"quote": "Max, my dog"},))

    (after,) = learn(MemoryDocument(facts=(known,)), again).facts

    assert (after.id, after.content) == ("f1", "Has a dog called Max.")
    assert after.evidence == (Evidence(quote="my dog"), Evidence(quote="Max, my dog"))


def test_a_longer_wording_that_lacks_a_number_or_name_is_not_richer() -> None:
    known = fact("Has 2 dogs, Max and Bo.", id="f1")

    (after,) = learn(
        MemoryDocument(facts=(known,)), addition("Has dogs, Max and Bo, happy lively Labrador dogs.")
    ).facts

    assert after.content == "Has 2 dogs, Max and Bo."


def test_a_manual_fact_keeps_its_wording() -> None:
    written = fact("Lives in Lisbon.", source="manual")

    assert learn(MemoryDocument(facts=(written,)), addition("Is based in Lisbon.")).facts == (written,)


def test_what_says_more_than_a_manual_fact_is_added() -> None:
    """The manual wording cannot take it up, so that it would be lost."""
    written = fact("Has a dog.", source="manual")

    assert contents(learn(MemoryDocument(facts=(written,)), addition("Has a dog called Max."))) == [
        "Has a dog.",
        "Has a dog called Max.",
    ]


def test_what_a_reviewer_wrote_is_not_merged() -> None:
    known = fact("Has a dog.", id="f1")

    after = learn(MemoryDocument(facts=(known,)), addition("Has a dog called Max.", edited_by_user=True))

    assert contents(after) == ["Has a dog.", "Has a dog called Max."]


@pytest.mark.parametrize(
    ("known", "fields"),
    [
        ({"content": "Went to Rome."}, {"content": "Went to Rome again.", "category": "correction"}),
        (
            {"content": "Visited Rome.", "valid_from": "2024-05"},
            {"content": "Went to Rome.", "valid_from": "2026-05"},
        ),
        ({"content": "Visits Rome."}, {"content": "Goes to Rome.", "valid_until": "2026-12"}),
        (
            {"content": "Visits Rome.", "valid_until": "2027-12"},
            {"content": "Goes to Rome.", "valid_until": "2028-12"},
        ),
        ({"content": "Likes tea.", "slot": "drink"}, {"content": "Loves tea.", "slot": "hobby"}),
    ],
)
def test_similar_words_about_something_else_are_added(known: dict[str, str], fields: dict[str, str]) -> None:
    """A correction may deny what it repeats; what happened at another time is another event."""
    after = learn(MemoryDocument(facts=(fact(**known),)), addition(**fields))

    assert contents(after) == [known["content"], fields["content"]]


def test_another_value_of_a_slot_is_no_other_wording() -> None:
    known = fact("Doctor is Dr. Zhang.", id="f1", slot="doctor", said_at="2026-03-01T09:00:00Z")
    new = addition("Doctor is Dr. Liu.", slot="doctor", said_at="2026-04-01T09:00:00Z")

    after = learn(MemoryDocument(facts=(known,)), new)

    assert (contents(after), [one.id for one in after.past]) == (["Doctor is Dr. Liu."], ["f1"])


def test_a_slot_of_a_users_own_table_has_one_value_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("subject: {}", encoding="utf-8")
    new = addition("Takes photos of rivers.", slot="subject", said_at="2026-04-01T09:00:00Z")
    birds = fact("Takes photos of birds.", id="f1", slot="subject", said_at="2026-03-01T09:00:00Z")
    known = MemoryDocument(facts=(birds,))

    after = [apply(update(additions=(new,)), known, OFF, slots=slots).memory for slots in (None, load_slots(tmp_path))]

    assert [len(memory.past) for memory in after] == [0, 1]


def test_what_replaces_a_fact_in_similar_words_still_replaces_it() -> None:
    """The model has seen both, and decided."""
    known = fact("Has a dog.", id="f1")

    after = learn(MemoryDocument(facts=(known,)), addition("Has a dog called Max.", replaces=("f1",)))

    assert contents(after) == ["Has a dog called Max."]
    assert [past.id for past in after.past] == ["f1"]


def test_what_replaces_a_fact_is_not_merged_into_another_one() -> None:
    facts = (fact("Has a dog.", id="f1"), fact("Lives in Lisbon.", id="f2"))

    after = learn(MemoryDocument(facts=facts), addition("Is based in Lisbon.", id="n1", replaces=("f1",)))

    assert contents(after) == ["Lives in Lisbon.", "Is based in Lisbon."]


def test_two_wordings_of_one_update_both_leave_their_quotes() -> None:
    known = fact("Lives in Lisbon.", evidence=({"quote": "Lisbon is home"},))
    twice = (
        addition("Is based in Lisbon.", id="n1", evidence=({"quote": "based in Lisbon"},)),
        addition("Resides in Lisbon.", id="n2", evidence=({"quote": "I reside in Lisbon"},)),
    )

    (after,) = learn(MemoryDocument(facts=(known,)), *twice).facts

    assert [one.quote for one in after.evidence] == ["Lisbon is home", "based in Lisbon", "I reside in Lisbon"]


def test_additions_that_repeat_each_other_become_one() -> None:
    twice = (
        addition("Has a dog.", id="n1", evidence=({"quote": "my dog"},)),
        addition("Has a dog called Max.", id="n2", evidence=({"quote": "Max, my dog"},)),
    )

    (added,) = learn(MemoryDocument(), *twice).facts

    assert (added.id, added.content, added.confirmations) == ("n1", "Has a dog called Max.", 0)
    assert len(added.evidence) == 2


@pytest.mark.parametrize("said", [("Has a dog.", "Has a dog called Max."), ("Has a dog called Max.", "Has a dog.")])
def test_the_note_of_a_repetition_names_the_wording_that_is_dropped(said: tuple[str, str]) -> None:
    twice = tuple(addition(content, id=f"n{number}") for number, content in enumerate(said))

    changes = MemoryUpdate(at=AT, thread="t", message_ids=("m",), additions=twice)

    assert [refusal.item for refusal in apply(changes, MemoryDocument(), OFF).refused] == ["Has a dog."]


def test_a_repetition_on_the_same_day_adds_its_quote_and_counts_nothing() -> None:
    """An eager talker is not a second witness."""
    known = fact("Lives in Lisbon.", id="f1", said_at="2026-03-01T09:00:00Z")
    again = addition("Is based in Lisbon.", said_at="2026-03-01T18:00:00Z", evidence=({"quote": "based in Lisbon"},))

    (after,) = learn(MemoryDocument(facts=(known,)), again).facts

    assert (after.confirmations, after.evidence) == (0, (Evidence(quote="based in Lisbon"),))


def test_confirmations_count_the_days_on_which_it_was_said() -> None:
    memory = MemoryDocument(facts=(fact("Lives in Lisbon.", said_at="2026-03-01T09:00:00Z"),))

    for number, day in enumerate(("2026-03-02", "2026-03-02", "2026-03-05")):
        again = addition("Is based in Lisbon.", id=f"n{number}", said_at=f"{day}T09:00:00Z")
        memory = learn(memory, again, at=f"{day}T1{number}:00:00Z")

    assert [(each.confirmations, each.last_confirmed_at) for each in memory.facts] == [(2, "2026-03-05T09:00:00Z")]


def test_an_echo_of_the_assistant_in_other_words_confirms_nothing() -> None:
    """The user said it in an earlier turn; only the assistant has repeated it since."""
    known = fact("Lives in Lisbon.", said_at="2026-03-01T09:00:00Z")
    turns = (
        turn("m0", "I live in Lisbon."),
        Turn(id="m1", role="ai", text="You are based in Lisbon."),
        turn("m2", "What is the weather?"),
    )
    changes = draft(additions=(addition("Is based in Lisbon.", quote="I live in Lisbon"),)).changes

    after = apply(changes, MemoryDocument(facts=(known,)), Policy(), turns).memory

    assert after.facts == (known,)


def test_a_fact_that_was_refused_rewords_nothing() -> None:
    known = fact("Has a dog.")

    after = learn(MemoryDocument(facts=(known,)), addition("Has a dog called Max.", confidence=0.2))

    assert after.facts == (known,)


SENTENCES = st.lists(
    st.sampled_from(
        [
            *("Lives in Lisbon.", "Is based in Lisbon.", "Sister lives in Lisbon.", "No longer lives in Lisbon."),
            *(
                "Has 2 dogs.",
                "Has two dogs called Max and Bo.",
                "Likes tea.",
                "Dislikes tea.",
                "住在上海。",
                "家在上海。",
            ),
        ]
    ),
    max_size=6,
)


@given(SENTENCES, SENTENCES)
def test_no_number_is_lost_and_no_fact_disappears(known: list[str], new: list[str]) -> None:
    """What a merge removes, another fact states."""
    facts = tuple(Fact(id=f"f{number}", content=text) for number, text in enumerate(known))
    proposed = tuple(addition(text, id=f"n{number}") for number, text in enumerate(new))

    after = learn(MemoryDocument(facts=facts), *proposed)

    kept = (*after.facts, *after.past)  # what another home superseded is in the past
    assert {each.id for each in facts} <= {each.id for each in kept}
    numbers = {number for each in kept for number in numbers_of(each.content, in_words=True)}
    assert all(numbers_of(text, in_words=True) <= numbers for text in [*known, *new])


def test_an_update_without_additions_compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memgraph.rules.merge.SimilarityIndex", None)

    before = draft(MemoryDocument(facts=(fact("Has a dog."),)))

    assert merge(before) == before


def test_what_the_model_found_to_repeat_a_fact_confirms_it() -> None:
    known = fact("Lives in Lisbon.", id="f1")

    (after,) = learn(MemoryDocument(facts=(known,)), addition("Still where the trams are yellow.", repeats="f1")).facts

    assert (after.id, after.confirmations) == ("f1", 1)
