"""A new summary says only what the user said, or what is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import addition, fact, update

from memgraph import MemoryDocument, Policy
from memgraph.models import SECTIONS, Refusal, Rewrite, Section, Turn
from memgraph.rules.draft import Draft
from memgraph.rules.ground_summaries import ground_summaries
from memgraph.text.sentences import sentences

SAID = "I moved to Oslo and started as a nurse."
REASON = "the words of the user and the facts do not support it"


def apply(summary: str, *, memory: MemoryDocument | None = None, said: str = SAID, **parts: object) -> Draft:
    """Ground one new summary."""
    known = memory or MemoryDocument()
    rewrite = Rewrite(section="work_context", summary=summary, base=known.section("work_context").summary)
    changes = update(**{"rewrites": (rewrite,)} | parts)
    turns = (Turn(id="m1", role="human", text=said), Turn(id="m2", role="ai", text="The Halvorsen page is about Rome."))
    return ground_summaries(Draft(memory=known, changes=changes, policy=Policy(), turns=turns))


def summaries(draft: Draft) -> list[str]:
    return [rewrite.summary for rewrite in draft.changes.rewrites]


def test_a_sentence_in_the_users_words_stays() -> None:
    assert summaries(apply("Moved to Oslo. Started as a nurse.")) == ["Moved to Oslo. Started as a nurse."]


def test_a_sentence_from_nowhere_is_left_out_and_reported() -> None:
    draft = apply("Moved to Oslo. Banks with Halvorsen.")

    assert summaries(draft) == ["Moved to Oslo. "]
    assert draft.refused == (Refusal(item="Banks with Halvorsen.", reason=REASON),)


def test_a_summary_without_a_true_sentence_is_not_rewritten() -> None:
    assert summaries(apply("Banks with Halvorsen.")) == []


def test_a_sentence_of_the_summary_before_stays() -> None:
    before = MemoryDocument().with_section("work_context", Section(summary="Restores harpsichords in Antwerp."))

    new = "Restores harpsichords in Antwerp. Moved to Oslo."
    assert summaries(apply(new, memory=before)) == [new]


def test_a_sentence_on_a_known_fact_stays() -> None:
    assert summaries(apply("Plays the oboe.", memory=MemoryDocument(facts=(fact("Plays the oboe in Ghent."),)))) == [
        "Plays the oboe."
    ]


def test_a_sentence_on_an_accepted_addition_stays() -> None:
    accepted = addition("Is an expert in triage.")

    assert summaries(apply("Is an expert in triage.", additions=(accepted,))) == ["Is an expert in triage."]


def test_a_summary_of_a_reviewer_passes() -> None:
    rewrite = Rewrite(section="work_context", summary="Banks with Halvorsen.", base="", edited_by_user=True)

    assert summaries(apply("", rewrites=(rewrite,))) == ["Banks with Halvorsen."]


def test_without_grounding_all_sentences_stay() -> None:
    rewrite = Rewrite(section="work_context", summary="Banks with Halvorsen.", base="")
    draft = Draft(memory=MemoryDocument(), changes=update(rewrites=(rewrite,)), policy=Policy(grounding="off"))

    assert ground_summaries(draft) is draft


@given(
    st.lists(st.sampled_from(["Moved to Oslo. ", "Banks with Halvorsen. ", "住在上海。", "Is a nurse.\n"]), max_size=6)
)
@pytest.mark.parametrize("section", list(SECTIONS)[:1])
def test_what_stays_and_what_is_reported_are_all_sentences(section: str, parts: list[str]) -> None:
    """In their order; none is changed."""
    summary = "".join(parts)
    draft = apply(summary, rewrites=(Rewrite.model_validate({"section": section, "summary": summary, "base": ""}),))

    kept = [sentence.strip() for text in summaries(draft) for sentence in sentences(text)]
    dropped = [refusal.item for refusal in draft.refused]
    given = [stripped for sentence in sentences(summary) if (stripped := sentence.strip())]
    assert sorted([*kept, *dropped]) == sorted(given)
    assert [sentence for sentence in given if sentence in kept] == kept
