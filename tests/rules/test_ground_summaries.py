"""A new summary says only what facts say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import addition, fact, update

from memgraph import MemoryDocument, Policy
from memgraph.analysis.sentences import sentences
from memgraph.models import SECTIONS, Refusal, Rewrite, Section, Turn
from memgraph.rules.draft import Draft
from memgraph.rules.ground_summaries import ground_summaries

KNOWN = (fact("Moved to Oslo.", id="f1"), fact("Is a nurse with two sons.", id="f2"))
REASON = "it states more than the facts that it rests on"


def apply(summary: str, *, memory: MemoryDocument | None = None, **parts: object) -> Draft:
    """Ground one new summary of a memory with the KNOWN facts."""
    known = (memory or MemoryDocument()).with_facts(KNOWN if memory is None else (*memory.facts, *KNOWN))
    rewrite = Rewrite(section="work_context", summary=summary, base=known.section("work_context").summary)
    changes = update(**{"rewrites": (rewrite,)} | parts)
    turns = (Turn(id="m1", role="human", text="I bank with Halvorsen."),)
    return ground_summaries(Draft(memory=known, changes=changes, policy=Policy(), turns=turns))


def summaries(draft: Draft) -> list[str]:
    return [rewrite.summary for rewrite in draft.changes.rewrites]


@pytest.mark.parametrize(
    "summary", ["Moved to Oslo.", "The user is a nurse, and has two sons.", "A nurse with two sons who moved to Oslo."]
)
def test_a_sentence_that_facts_say_stays(summary: str) -> None:
    assert summaries(apply(summary)) == [summary]


@pytest.mark.parametrize(
    "summary",
    [
        "Moved to Oslo for a man.",
        "Is a nurse with three sons.",
        "Is not a nurse.",
        "Might be a nurse with two sons.",
        "Was a nurse.",
        "Has a sister who is a nurse.",
    ],
)
def test_a_sentence_that_adds_to_the_facts_is_left_out(summary: str) -> None:
    """A cause, a number, a denial, a doubt, a time, a person."""
    assert summaries(apply(summary)) == []


def test_the_words_of_the_user_alone_are_left_out_and_reported() -> None:
    draft = apply("Moved to Oslo. Banks with Halvorsen.")

    assert summaries(draft) == ["Moved to Oslo. "]
    assert draft.refused == (Refusal(item="Banks with Halvorsen.", reason=REASON),)


def test_a_summary_without_a_true_sentence_is_not_rewritten() -> None:
    assert summaries(apply("Banks with Halvorsen.")) == []


def test_a_sentence_of_the_summary_before_stays() -> None:
    before = MemoryDocument().with_section("work_context", Section(summary="Restores harpsichords in Antwerp."))

    new = "Restores harpsichords in Antwerp. Moved to Oslo."
    assert summaries(apply(new, memory=before)) == [new]


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
    st.lists(
        st.sampled_from(["Moved to Oslo. ", "Banks with Halvorsen. ", "住在上海。", "Is a nurse with two sons.\n"]),
        max_size=6,
    )
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
