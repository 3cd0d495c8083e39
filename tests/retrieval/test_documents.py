"""What is searched of facts and episodes."""

from __future__ import annotations

import pytest

from memgraph.models import Episode, Evidence, Fact
from memgraph.retrieval.documents import PRECEDING_WEIGHT, QUOTE_WEIGHT, Document
from memgraph.retrieval.episode_index import episode_documents, preceding_turns
from memgraph.retrieval.fact_index import fact_documents, searchable_text
from memgraph.retrieval.lexical import texts_of


def episode(name: str, text: str, thread: str = "t", at: str = "") -> Episode:
    return Episode(id=name, thread_id=thread, text=text, at=at)


def test_the_weights_are_those_that_were_measured() -> None:
    assert (QUOTE_WEIGHT, PRECEDING_WEIGHT) == (0.5, 0.25)


def test_a_fact_is_found_by_its_quotes_and_the_turns_before_them() -> None:
    evidence = (Evidence(episode="e1", quote="yes, two of them"), Evidence(episode="e2", quote="Rex"))
    fact = Fact(content="Has two dogs", source="t", evidence=evidence)

    (document,) = fact_documents([fact], {"e1": "Do you have pets?", "e3": "unrelated"})

    assert document == Document(
        "Has two dogs", (("yes, two of them", 0.5), ("Rex", 0.5), ("Do you have pets?", 0.25)), "t"
    )
    assert texts_of(document) == ("Has two dogs", "yes, two of them", "Rex", "Do you have pets?")


def test_a_turn_that_two_quotes_follow_counts_once() -> None:
    evidence = (Evidence(episode="e1", quote="a"), Evidence(episode="e1", quote="b"))

    (document,) = fact_documents([Fact(content="x", evidence=evidence)], {"e1": "before"})

    assert [text for text, _ in document.context] == ["a", "b", "before"]


def test_the_error_to_avoid_is_searched_too() -> None:
    assert searchable_text(Fact(content="Use Polars", source_error="pandas")) == "Use Polars\npandas"
    assert searchable_text(Fact(content="Use Polars")) == "Use Polars"


@pytest.mark.parametrize("source", ["manual", "unknown", ""])
def test_what_is_of_no_conversation_has_no_thread(source: str) -> None:
    """A person wrote it, or nothing is known of where it comes from."""
    assert fact_documents([Fact(content="x", source=source)], {})[0].thread == ""
    assert episode_documents([episode("e", "x", source)], {})[0].thread == ""


def test_the_dates_of_a_fact_are_when_it_was_said_and_held() -> None:
    fact = Fact(content="x", said_at="2026-05-03T10:00:00Z", valid_from="2026", valid_until="2026-06")

    assert fact_documents([fact], {})[0].dates == ("2026-05-03T10:00:00Z", "2026", "2026-06")


def test_an_episode_is_found_by_the_turn_before() -> None:
    said = [episode("e1", "Pets?", at="2026-05-03T10:00:00Z"), episode("e2", "Two dogs.")]

    assert episode_documents(said, preceding_turns(said)) == (
        Document("Pets?", thread="t", dates=("2026-05-03T10:00:00Z",)),
        Document("Two dogs.", (("Pets?", 0.5),), "t"),
    )


def test_the_turn_before_is_of_the_same_thread() -> None:
    """Conversations may alternate; one without a thread has no order."""
    said = [
        *(episode("a1", "one", "a"), episode("b1", "two", "b"), episode("a2", "three", "a")),
        *(episode("u1", "four", "unknown"), episode("u2", "five", "unknown")),
    ]

    assert preceding_turns(said) == {"a2": "one"}


def test_the_turn_before_may_be_known_already() -> None:
    said = [episode("a1", "one", "a"), episode("b1", "two", "b"), episode("a2", "three", "a")]

    assert preceding_turns(said[2:], before=said[:2]) == {"a2": "one"}
