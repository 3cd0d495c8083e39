"""What an update may and may not do to a memory."""

from __future__ import annotations

import pytest

from memgraph.models import Addition, Fact, Memory, MemoryUpdate, Removal, Rewrite, Section, Watermark
from memgraph.policy import Policy
from memgraph.rules.apply import apply

AT = "2026-05-01T10:00:00Z"
POLICY = Policy()


def update(**parts: object) -> MemoryUpdate:
    """A change set of thread t1 that learned from message m2."""
    return MemoryUpdate.model_validate({"at": AT, "thread": "t1", "message_ids": ("m1", "m2")} | parts)


def fact(content: str, **fields: object) -> Fact:
    """A learned fact."""
    return Fact.model_validate({"content": content, "confidence": 0.9, "source": "t0"} | fields)


def addition(content: str, **fields: object) -> Addition:
    """A proposed fact that is good enough."""
    return Addition.model_validate({"id": "fact_00000001", "content": content, "confidence": 0.9} | fields)


def contents(memory: Memory) -> list[str]:
    return [fact.content for fact in memory.facts]


def test_a_new_fact_carries_its_thread_and_time() -> None:
    """Where and when something was learned is needed to judge it later."""
    changes = update(additions=(addition(" Likes tea. ", category="preference"),))

    (learned,) = apply(changes, Memory(), POLICY).memory.facts

    assert (learned.content, learned.source, learned.created_at) == ("Likes tea.", "t1", AT)


@pytest.mark.parametrize(
    ("proposed", "why"),
    [
        (addition("Likes tea.", confidence=0.69), "confidence 0.69 is below 0.70"),
        (addition("Wants this file sorted.", durable=False), "it matters only to the current task"),
        (addition("Tea grows in Assam.", about_user=False), "it is not about the user"),
        (addition("   "), "it is empty"),
        (addition("What are my goals?"), "it is a question"),
        (addition("我健身的目标是什么？"), "it is a question"),
    ],
)
def test_what_is_not_good_enough_is_refused_with_the_reason(proposed: Addition, why: str) -> None:
    """Junk is worse than silence, and silence must be explained."""
    result = apply(update(additions=(proposed,)), Memory(), POLICY)

    assert not result.memory.facts
    assert [refusal.reason for refusal in result.refused] == [why]


def test_a_fact_at_the_threshold_is_kept() -> None:
    """The bound is inclusive."""
    changes = update(additions=(addition("Likes tea.", confidence=0.7),))

    assert contents(apply(changes, Memory(), POLICY).memory) == ["Likes tea."]


@pytest.mark.parametrize("again", ["likes TEA.", "Likes  tea.", "Ｌｉｋｅｓ tea.", "Likestea."])
def test_a_repetition_confirms_the_known_fact_instead_of_doubling_it(again: str) -> None:
    """Case, width and spacing make no other fact."""
    memory = Memory(facts=(fact("Likes tea.", confidence=0.8),))

    (confirmed,) = apply(update(additions=(addition(again),)), memory, POLICY).memory.facts

    assert (confirmed.confirmations, confirmed.last_confirmed_at, confirmed.confidence) == (1, AT, 0.9)


def test_two_repetitions_in_one_answer_confirm_once() -> None:
    """A model that says it twice has heard it once."""
    memory = Memory(facts=(fact("Likes tea."),))
    twice = (addition("Likes tea.", id="fact_1"), addition("likes tea.", id="fact_2"))

    (confirmed,) = apply(update(additions=twice), memory, POLICY).memory.facts

    assert confirmed.confirmations == 1


def test_two_wordings_in_one_answer_are_one_fact() -> None:
    """Repetition is also looked for within the batch."""
    twice = (addition("Likes tea.", id="fact_1"), addition("LIKES TEA.", id="fact_2"))

    assert contents(apply(update(additions=twice), Memory(), POLICY).memory) == ["Likes tea."]


def test_what_went_wrong_is_kept_on_corrections_only() -> None:
    """On any other fact it would mean nothing."""
    both = (
        addition("Use pnpm.", id="fact_1", category="correction", source_error="Used npm."),
        addition("Likes tea.", id="fact_2", category="preference", source_error="Used npm."),
    )

    first, second = apply(update(additions=both), Memory(), POLICY).memory.facts

    assert (first.source_error, second.source_error) == ("Used npm.", None)


def test_a_contradicted_fact_goes_with_the_reason() -> None:
    """The report must be able to say why."""
    memory = Memory(facts=(fact("Lives in Oslo.", id="fact_1"),))
    changes = update(removals=(Removal(id="fact_1", reason="moved"),))

    result = apply(changes, memory, POLICY)

    assert not result.memory.facts
    assert [(removed.fact.id, removed.why) for removed in result.removed] == [("fact_1", "moved")]


def test_what_a_person_wrote_is_neither_removed_nor_replaced_nor_changed() -> None:
    """A model must not overrule a person."""
    written = fact("Lives in Oslo.", id="fact_1", source="manual")
    changes = update(
        removals=(Removal(id="fact_1"),),
        additions=(
            addition("lives in oslo.", id="fact_2"),
            addition("Lives in Rome.", id="fact_3", replaces=("fact_1",)),
        ),
    )

    memory = apply(changes, Memory(facts=(written,)), POLICY).memory

    assert written in memory.facts


def test_a_replaced_fact_goes_when_the_new_one_is_kept() -> None:
    """The new one remembers whose place it took."""
    memory = Memory(facts=(fact("Lives in Oslo.", id="fact_1"),))
    changes = update(additions=(addition("Lives in Rome.", replaces=("fact_1", "fact_unknown")),))

    (kept,) = apply(changes, memory, POLICY).memory.facts

    assert (kept.content, kept.replaces) == ("Lives in Rome.", ("fact_1",))


def test_a_replaced_fact_stays_when_the_new_one_is_refused() -> None:
    """Also when the model asked for its removal in the same breath."""
    memory = Memory(facts=(fact("Lives in Oslo.", id="fact_1"),))
    changes = update(
        additions=(addition("Lives in Rome.", confidence=0.5, replaces=("fact_1",)),),
        removals=(Removal(id="fact_1"),),
    )

    assert contents(apply(changes, memory, POLICY).memory) == ["Lives in Oslo."]


def test_the_least_sure_and_oldest_go_first_and_corrections_last() -> None:
    """What was learned the hard way is worth most."""
    policy = Policy(max_facts=10)
    facts = [fact(f"Fact {n}.", confidence=0.9, created_at=f"2026-01-{n + 10}T00:00:00Z") for n in range(8)]
    unsure = fact("Unsure.", confidence=0.7, created_at="2026-02-01T00:00:00Z")
    correction = fact("Use pnpm.", category="correction", confidence=0.7, created_at="2020-01-01T00:00:00Z")
    changes = update(additions=(addition("New 1.", id="n1", confidence=0.7), addition("New 2.", id="n2")))

    kept = contents(apply(changes, Memory(facts=(*facts, unsure, correction)), policy).memory)

    assert kept == [f"Fact {n}." for n in range(1, 8)] + ["Use pnpm.", "New 1.", "New 2."]


def test_what_a_person_wrote_takes_no_room_from_learned_facts() -> None:
    """max_facts limits what was learned."""
    written = tuple(fact(f"Written {n}.", source="manual") for n in range(20))
    changes = update(additions=tuple(addition(f"New {n}.", id=f"n{n}") for n in range(10)))

    memory = apply(changes, Memory(facts=written), Policy(max_facts=10)).memory

    assert len(memory.facts) == 30


def test_a_summary_gets_its_new_text_and_time() -> None:
    """Unknown keys of the section stay."""
    old = Section.model_validate({"summary": "Old.", "note": "mine"})
    memory = Memory().with_section("work_context", old)
    changes = update(rewrites=(Rewrite(section="work_context", summary="New.", base="Old."),))

    section = apply(changes, memory, POLICY).memory.user.work_context

    assert section.model_dump(by_alias=True) == {"summary": "New.", "updatedAt": AT, "note": "mine"}


def test_a_summary_that_someone_wrote_after_the_model_saw_it_keeps_its_text() -> None:
    """The model could not know what it would overwrite."""
    memory = Memory().with_section("work_context", Section(summary="Written meanwhile."))
    changes = update(rewrites=(Rewrite(section="work_context", summary="New.", base="Old."),))

    result = apply(changes, memory, POLICY)

    assert result.memory.user.work_context.summary == "Written meanwhile."
    assert [refusal.item for refusal in result.refused] == ["work_context"]


def test_an_endless_summary_is_cut_at_a_sentence_end() -> None:
    """The document stays readable, and the prompt stays small."""
    changes = update(rewrites=(Rewrite(section="work_context", summary="Builds ships. " * 1_000, base=""),))

    summary = apply(changes, Memory(), Policy(max_summary_tokens=50)).memory.user.work_context.summary

    assert 100 < len(summary) < 300
    assert summary.endswith("Builds ships.")


def test_an_endless_fact_is_cut_at_a_sentence_end() -> None:
    """A fact has at most 2,000 characters."""
    changes = update(additions=(addition("Builds ships. " * 1_000),))

    (learned,) = apply(changes, Memory(), POLICY).memory.facts

    assert 1_900 < len(learned.content) <= 2_000
    assert learned.content.endswith("Builds ships.")


def test_progress_is_noted_also_when_nothing_was_kept() -> None:
    """Else the same turns would be paid for again."""
    memory = apply(update(), Memory(), POLICY).memory

    assert memory.threads["t1"].last_message_id == "m2"
    assert memory.last_updated == ""


def test_only_the_newest_threads_are_remembered() -> None:
    """The document does not grow with every conversation there ever was."""
    threads = {f"old{n}": Watermark(last_message_id="m", at=f"2026-01-{n + 10}T00:00:00Z") for n in range(5)}

    memory = apply(update(), Memory(threads=threads), Policy(max_threads=3)).memory

    assert sorted(memory.threads) == ["old3", "old4", "t1"]


def test_the_memory_that_was_given_is_not_changed() -> None:
    """Values in, value out."""
    memory = Memory(facts=(fact("Likes tea."),))
    before = memory.model_dump_json()

    apply(update(additions=(addition("likes tea."), addition("Has a dog.", id="fact_2"))), memory, POLICY)

    assert memory.model_dump_json() == before
