"""What is searched of facts and episodes."""

from __future__ import annotations

import pytest

from memgraph.models import Episode, Evidence, Fact
from memgraph.retrieval.memory_index import episode_documents, fact_documents, searchable_text
from memgraph.retrieval.query import Document


def test_a_fact_is_searched_by_its_content_and_its_quotes() -> None:
    """Each quote once; a model compares the content alone."""
    quotes = ("yes, two of them", "Rex", "", "Rex")
    fact = Fact(content="Has two dogs", source="t", evidence=tuple(Evidence(quote=quote) for quote in quotes))

    (document,) = fact_documents([fact])

    assert document == Document("Has two dogs", ("yes, two of them", "Rex"), "t")
    assert document.words == "Has two dogs\nyes, two of them\nRex"


def test_the_error_to_avoid_is_searched_too() -> None:
    assert searchable_text(Fact(content="Use Polars", source_error="pandas")) == "Use Polars\npandas"
    assert searchable_text(Fact(content="Use Polars")) == "Use Polars"


@pytest.mark.parametrize("source", ["manual", "unknown", ""])
def test_what_is_of_no_conversation_has_no_thread(source: str) -> None:
    """A person wrote it, or nothing is known of where it comes from."""
    assert fact_documents([Fact(content="x", source=source)])[0].thread == ""
    assert episode_documents([Episode(id="e", text="x", thread_id=source)])[0].thread == ""


@pytest.mark.parametrize(
    ("held", "dates"),
    [
        ({}, ("2026-05-03T10:00:00Z",)),
        ({"valid_from": "2019"}, ("2019",)),
        ({"valid_from": "2026", "valid_until": "2026-06"}, ("2026", "2026-06")),
    ],
)
def test_a_fact_is_about_the_time_that_it_states_else_about_the_day_on_which_it_was_said(
    held: dict[str, str], dates: tuple[str, ...]
) -> None:
    """What happened in 2019 did not go on until it was told."""
    fact = Fact(content="x", said_at="2026-05-03T10:00:00Z").model_copy(update=held)

    assert fact_documents([fact])[0].dates == dates


def test_an_episode_is_searched_by_its_text_and_the_day_on_which_it_was_said() -> None:
    said = [
        Episode(id="e1", thread_id="t", text="Pets?", at="2026-05-03T10:00:00Z"),
        Episode(id="e2", thread_id="t", text="Two dogs."),
    ]

    assert episode_documents(said) == (
        Document("Pets?", thread="t", dates=("2026-05-03T10:00:00Z",)),
        Document("Two dogs.", thread="t"),
    )
