"""A statement of the user becomes a fact in the third person, if that is safe; else it is shown as a quotation."""

from __future__ import annotations

import pytest

from memgraph import Fact, MemoryDocument, recall
from memgraph.llm.offline.extraction import in_third_person


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        ("I never eat pork", "never eats pork"),
        ("I've lived in Graz for three years", "has lived in Graz for three years"),
        ("I don't drive", "doesn't drive"),
        ("i teach maths", "teaches maths"),
        ("I studied law in Cork", "studied law in Cork"),
        ("I'd rather get a call than a mail", "would rather get a call than a mail"),
        ("I live with my sister", "lives with sister"),
        ("My daughter is allergic to sesame", "daughter is allergic to sesame"),
        ("I ski", "skis"),
        ("I fly only with window seats", "flies only with window seats"),
        ("I rely on a hearing aid", "relies on a hearing aid"),
        ("I apply sunscreen daily", "applies sunscreen daily"),
        ("I usually apply sunscreen", "usually applies sunscreen"),
        ("I even bake on Sundays", "even bakes on Sundays"),
        ("I have two goats and a pony", "has two goats and a pony"),
        ("I want to sail and see the Azores", "wants to sail and see the Azores"),
        ("我对芝麻过敏", "对芝麻过敏"),
        ("我最近开始学吉他", "最近开始学吉他"),
    ],
)
def test_the_first_person_is_left_out(said: str, stated: str) -> None:
    assert in_third_person(said) == stated


@pytest.mark.parametrize(
    "said",
    [
        "I work nights so my wife and I rarely meet",
        "My grandmother raised me",
        "we keep bees",
        "I put sugar in tea",
        "I run every day and have a bad knee",
        "I walk to work and buy a coffee there",
        "Bee stings put me in hospital",
        "我们住在成都",
        "我最爱吃我妈做的面",
    ],
)
def test_what_would_mean_something_else_stays_in_the_users_words(said: str) -> None:
    """Others are meant too, or the tense would be a guess."""
    assert in_third_person(said) is None


def test_a_fact_in_the_first_person_is_shown_as_a_quotation() -> None:
    """A model that reads "I hate jazz" in its prompt may speak of itself."""
    memory = MemoryDocument(
        facts=tuple(Fact(content=text, confidence=0.9) for text in ("I hate jazz, we both do.", "Likes tea in the US."))
    )

    lines = recall(memory, ["Hi!"]).splitlines()

    assert '- "I hate jazz, we both do."' in lines
    assert "- Likes tea in the US." in lines
