"""New facts are added, known ones confirmed, outdated ones replaced."""

from __future__ import annotations

import pytest
from update_values import AT, addition, contents, draft, fact

from memgraph.models import Addition, Evidence, Fact, MemoryDocument
from memgraph.policy import Policy
from memgraph.rules.add import MAX_EVIDENCE, add, merge_evidence, rejection_reason


def reasons(result: object) -> list[tuple[str, str]]:
    return [(refusal.item, refusal.reason) for refusal in result.refused]  # type: ignore[attr-defined]


def test_a_new_fact_has_its_thread_and_time() -> None:
    """Both are needed to judge it later."""
    proposed = addition(" Likes tea. ", category="preference", confidence=0.8)

    result = add(draft(additions=(proposed,)))

    assert result.memory.facts == (
        Fact(
            id="fact_00000001",
            content="Likes tea.",
            category="preference",
            confidence=0.8,
            created_at=AT,
            source="t1",
        ),
    )
    assert (result.refused, result.removed) == ((), ())


def test_a_thread_called_manual_makes_no_manual_facts() -> None:
    """A client chooses the id; only what a person wrote is protected from learning."""
    (learned,) = add(draft(additions=(addition("Likes tea."),), thread="manual")).memory.facts

    assert not learned.is_manual
    assert learned.source == "unknown"


def test_new_facts_follow_the_known_ones_in_their_order() -> None:
    """The document is a log that people read."""
    proposed = (addition("Has a dog.", id="n1"), addition("Has a cat.", id="n2"))

    assert contents(add(draft(MemoryDocument(facts=(fact("Likes tea."),)), additions=proposed)).memory) == [
        "Likes tea.",
        "Has a dog.",
        "Has a cat.",
    ]


@pytest.mark.parametrize(
    ("proposed", "reason"),
    [
        (addition("Likes tea.", confidence=0.69), "confidence 0.69 is below 0.70"),
        (addition("Wants this file sorted.", durable=False), "it matters only to the current task"),
        (addition("Tea grows in Assam.", about_user=False), "it is not about the user"),
        (addition("   "), "it is empty"),
        (addition("(nothing yet)"), "it says nothing"),
        (addition("   ", edited_by_user=True), "it is empty"),
        (addition("What are my goals? "), "it is a question"),
        (addition("我健身的目标是什么？"), "it is a question"),
        (addition("Is it? ", durable=False, about_user=False, confidence=0.1), "it is a question"),
        (addition("x", durable=False, about_user=False, confidence=0.1), "it matters only to the current task"),
        (addition("x", about_user=False, confidence=0.1), "it is not about the user"),
    ],
)
def test_what_fails_a_quality_check_is_refused_with_the_reason(proposed: Addition, reason: str) -> None:
    """Junk is worse than silence, and silence must be explained."""
    result = add(draft(additions=(proposed,)))

    assert not result.memory.facts
    assert reasons(result) == [(proposed.content, reason)]


def test_a_refused_fact_does_not_stop_the_next_one() -> None:
    """Items are judged one by one."""
    result = add(draft(additions=(addition("Why?", id="n1"), addition("Has a dog.", id="n2"))))

    assert contents(result.memory) == ["Has a dog."]


def test_what_a_reviewer_wrote_passes_every_quality_check() -> None:
    """It becomes a manual fact, at any length."""
    text = "Ask me: why? " * 200 + "Really?"
    written = addition(text, edited_by_user=True, confidence=0.1, durable=False, about_user=False)

    (kept,) = add(draft(additions=(written,))).memory.facts

    assert (kept.content, kept.source, kept.confidence) == (text, "manual", 0.1)


@pytest.mark.parametrize(("confidence", "accepted"), [(0.7, True), (0.6999, False)])
def test_the_threshold_is_inclusive(confidence: float, accepted: bool) -> None:  # noqa: FBT001
    """A fact exactly at the threshold is kept."""
    assert (rejection_reason(addition("x", confidence=confidence), Policy()) is None) is accepted


@pytest.mark.parametrize("again", ["likes TEA.", "Likes  tea.", "Ｌｉｋｅｓ tea.", "Likestea."])
def test_a_repetition_confirms_the_known_fact(again: str) -> None:
    """Case, width and spacing do not make another fact."""
    known = fact("Likes tea.", id="f1", confidence=0.8, confirmations=2)

    result = add(draft(MemoryDocument(facts=(known,)), additions=(addition(again),)))

    assert result.memory.facts == (
        known.model_copy(update={"confidence": 0.9, "confirmations": 3, "last_confirmed_at": AT}),
    )
    assert reasons(result) == [(again, "already known")]


def test_a_confirmation_never_lowers_the_confidence() -> None:
    """A hesitant repetition is still a repetition."""
    known = fact("Likes tea.", id="f1", confidence=0.95)

    (confirmed,) = add(
        draft(MemoryDocument(facts=(known,)), additions=(addition("likes tea.", confidence=0.7),))
    ).memory.facts

    assert (confirmed.confidence, confirmed.confirmations, confirmed.last_confirmed_at) == (0.95, 1, AT)


def test_only_the_repeated_fact_is_confirmed() -> None:
    """Its neighbours and their order stay."""
    facts = (fact("Has a dog.", id="f1"), fact("Likes tea.", id="f2"), fact("Has a cat.", id="f3"))

    result = add(draft(MemoryDocument(facts=facts), additions=(addition("Likes tea."),))).memory.facts

    assert (result[0], result[2]) == (facts[0], facts[2])
    assert (result[1].id, result[1].confirmations) == ("f2", 1)


def test_two_repetitions_in_one_answer_confirm_once() -> None:
    """A model that repeats itself has heard it once."""
    twice = (addition("Likes tea.", id="n1"), addition("likes tea.", id="n2"))

    result = add(draft(MemoryDocument(facts=(fact("Likes tea."),)), additions=twice))

    assert [known.confirmations for known in result.memory.facts] == [1]
    assert [reason for _, reason in reasons(result)] == ["already known", "already known"]


def test_two_wordings_in_one_answer_are_one_unconfirmed_fact() -> None:
    """A repetition within the answer is not a confirmation."""
    twice = (addition("Likes tea.", id="n1"), addition("LIKES TEA.", id="n2"))

    result = add(draft(additions=twice))

    assert [(known.id, known.content, known.confirmations) for known in result.memory.facts] == [
        ("n1", "Likes tea.", 0)
    ]
    assert reasons(result) == [("LIKES TEA.", "already known")]


def test_a_manual_fact_is_not_changed_by_a_repetition() -> None:
    """It stays as a person wrote it."""
    written = fact("Likes tea.", source="manual", confidence=0.5)

    result = add(draft(MemoryDocument(facts=(written,)), additions=(addition("likes tea."),)))

    assert result.memory.facts == (written,)
    assert reasons(result) == [("likes tea.", "already known")]


def test_a_fact_that_was_added_before_is_left_alone() -> None:
    """Applying the same change set to its own result adds, confirms and refuses nothing."""
    once = add(draft(additions=(addition("Likes tea."),)))

    twice = add(draft(once.memory, additions=(addition("Likes tea."),)))

    assert twice.memory == once.memory
    assert twice.refused == ()


def test_what_follows_a_fact_that_was_added_before_is_added() -> None:
    """A reviewer may have added to a change set."""
    once = add(draft(additions=(addition("Likes tea.", id="n1"),)))

    twice = add(draft(once.memory, additions=(addition("Likes tea.", id="n1"), addition("Has a dog.", id="n2"))))

    assert contents(twice.memory) == ["Likes tea.", "Has a dog."]


def test_only_corrections_keep_their_source_error() -> None:
    """On any other fact it would mean nothing."""
    both = (
        addition("Use pnpm.", id="n1", category="correction", source_error="Used npm."),
        addition("Likes tea.", id="n2", category="preference", source_error="Used npm."),
    )

    assert [known.source_error for known in add(draft(additions=both)).memory.facts] == ["Used npm.", None]


def test_an_unknown_category_becomes_context() -> None:
    """A client may have edited the change set."""
    proposed = addition("Use pnpm.", category="odd", source_error="Used npm.")

    (kept,) = add(draft(additions=(proposed,))).memory.facts

    assert (kept.category, kept.source_error) == ("context", None)


def test_a_long_fact_is_cut_at_a_sentence_end() -> None:
    """At exactly the limit it is kept."""
    fits, too_long = "x" * 99 + ".", "Builds ships. " * 8
    policy = Policy(max_fact_chars=100)

    result = add(draft(policy=policy, additions=(addition(fits, id="n1"), addition(too_long, id="n2"))))

    assert contents(result.memory) == [fits, ("Builds ships. " * 7).strip()]


def test_a_replaced_fact_is_removed_and_named_by_its_successor() -> None:
    """The report says by which fact; unknown ids are dropped."""
    old = fact("Lives in Oslo.", id="f1", slot="home")
    proposed = addition("Lives in Rome.", id="n1", slot="home", replaces=("f1", "f_unknown"))

    result = add(draft(MemoryDocument(facts=(old,)), additions=(proposed,)))

    assert [(known.id, known.replaces) for known in result.memory.facts] == [("n1", ("f1",))]
    assert [(removed.fact, removed.why) for removed in result.removed] == [
        (old, "replaced by n1: there is one home at a time")
    ]


def test_a_manual_fact_is_not_replaced() -> None:
    """The new fact is added beside it, and the refusal says why."""
    written = fact("Lives in Oslo.", id="f1", source="manual")

    result = add(
        draft(MemoryDocument(facts=(written,)), additions=(addition("Lives in Rome.", id="n1", replaces=("f1",)),))
    )

    assert [known.id for known in result.memory.facts] == ["f1", "n1"]
    assert reasons(result) == [("Lives in Oslo.", "a person wrote it, so it is not replaced")]
    assert result.removed == ()


def test_a_refused_fact_replaces_nothing() -> None:
    """The old one is better than none."""
    old = fact("Lives in Oslo.", id="f1")

    result = add(
        draft(MemoryDocument(facts=(old,)), additions=(addition("Lives in Rome.", confidence=0.1, replaces=("f1",)),))
    )

    assert result.memory.facts == (old,)
    assert result.removed == ()


def test_a_repetition_still_replaces_other_facts() -> None:
    """The known fact takes the place; it never replaces itself."""
    facts = (fact("Lives in Rome.", id="f1"), fact("Lives in Oslo.", id="f2"))
    proposed = addition("lives in rome.", id="n1", replaces=("f1", "f2"))

    result = add(draft(MemoryDocument(facts=facts), additions=(proposed,)))

    assert [known.id for known in result.memory.facts] == ["f1"]
    assert [(removed.fact.id, removed.why) for removed in result.removed] == [
        ("f2", "replaced by f1: the model named it")
    ]


def test_facts_of_the_same_update_do_not_replace_each_other() -> None:
    """A model that invents ids must not delete what it has just added."""
    proposed = (addition("Lives in Rome.", id="n1"), addition("Has a dog.", id="n2", replaces=("n1",)))

    result = add(draft(additions=proposed))

    assert contents(result.memory) == ["Lives in Rome.", "Has a dog."]
    assert result.removed == ()


def test_a_replacement_worded_as_a_fact_that_was_just_replaced_is_added() -> None:
    """Otherwise both what it replaces and what it says would be gone."""
    oslo, dog = fact("Lives in Oslo.", id="f1"), fact("Has a dog.", id="f2")
    rome = addition("Lives in Rome.", id="n1", replaces=("f1",))
    back = addition("Lives in Oslo.", id="n2", replaces=("f2",))

    result = add(draft(MemoryDocument(facts=(oslo, dog)), additions=(rome, back)))

    assert contents(result.memory) == ["Lives in Rome.", "Lives in Oslo."]


# -- dates and evidence ---------------------------------------------------------------------------

QUOTE = Evidence(episode="e1", quote="I moved to Oslo two days ago.")


def test_new_fact_has_the_dates_and_quotes_of_what_was_said() -> None:
    """They may be years before the update that learned it."""
    proposed = addition(
        "Lives in Oslo.",
        said_at="2023-05-03T10:00:00Z",
        valid_from="2023-05-01",
        valid_until="2024",
        evidence=(QUOTE,),
        slot="home",
    )

    (learned,) = add(draft(additions=(proposed,))).memory.facts

    assert (learned.said_at, learned.valid_from, learned.valid_until) == ("2023-05-03T10:00:00Z", "2023-05-01", "2024")
    assert (learned.evidence, learned.slot) == ((QUOTE,), "home")
    assert learned.created_at == AT


@pytest.mark.parametrize(
    ("valid_from", "valid_until", "expected"),
    [
        ("2023-02-30", "2024", ("", "2024")),
        ("soon", "", ("", "")),
        ("2023-05", "2022", ("2023-05", "")),
        ("2023-05", "2023", ("2023-05", "2023")),
    ],
)
def test_impossible_dates_are_dropped(valid_from: str, valid_until: str, expected: tuple[str, str]) -> None:
    """A model counts days badly; the fact itself is kept."""
    proposed = addition("Lives in Oslo.", valid_from=valid_from, valid_until=valid_until)

    (learned,) = add(draft(additions=(proposed,))).memory.facts

    assert (learned.valid_from, learned.valid_until) == expected


@pytest.mark.parametrize(
    ("known", "repeated", "earliest"),
    [
        ("2023-05-03T10:00:00Z", "2026-05-01T10:00:00Z", "2023-05-03T10:00:00Z"),
        ("2026-05-01T10:00:00Z", "2023-05-03T10:00:00Z", "2023-05-03T10:00:00Z"),
        ("", "2023-05-03T10:00:00Z", "2023-05-03T10:00:00Z"),
        ("2023-05-03T10:00:00Z", "", "2023-05-03T10:00:00Z"),
        ("", "", ""),
    ],
)
def test_confirmed_fact_was_said_when_it_was_said_first(known: str, repeated: str, earliest: str) -> None:
    """An old conversation may be imported after a new one."""
    memory = MemoryDocument(facts=(fact("Lives in Oslo.", said_at=known),))

    result = add(draft(memory, additions=(addition("Lives in Oslo.", said_at=repeated),)))

    assert result.memory.facts[0].said_at == earliest


def test_confirmation_adds_quotes_and_what_was_unknown() -> None:
    """The dates that are known stay."""
    memory = MemoryDocument(facts=(fact("Lives in Oslo.", evidence=[QUOTE], valid_from="2023-05"),))
    again = Evidence(episode="e2", quote="Oslo is home now.")
    proposed = addition("Lives in Oslo.", evidence=(again,), valid_from="2024", slot="home")

    (confirmed,) = add(draft(memory, additions=(proposed,))).memory.facts

    assert confirmed.evidence == (QUOTE, again)
    assert (confirmed.valid_from, confirmed.slot) == ("2023-05", "home")


def test_same_quote_is_kept_once() -> None:
    """A conversation that is learned again brings the same words, perhaps spaced differently."""
    again = Evidence(episode="e2", quote="I moved to  Oslo two days ago. ")

    assert merge_evidence((QUOTE,), (again,)) == (QUOTE,)


def test_quotes_are_few_and_short() -> None:
    """They are stored with every fact."""
    new = [Evidence(episode=f"e{number}", quote=f"{number} " + "x" * 1_000) for number in range(9)]

    merged = merge_evidence((QUOTE,), [Evidence(quote=" "), *new])

    assert [one.episode for one in merged] == ["e1", "e0", "e1"]
    assert len(merged) == MAX_EVIDENCE
    assert max(len(one.quote) for one in merged) == 400


def test_manual_fact_keeps_its_dates() -> None:
    """A person wrote it."""
    memory = MemoryDocument(facts=(fact("Lives in Oslo.", source="manual"),))

    result = add(draft(memory, additions=(addition("Lives in Oslo.", said_at=AT, evidence=(QUOTE,)),)))

    assert result.memory == memory
