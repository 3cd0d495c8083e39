"""The results of recall are values."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from memgraph.models import Episode, Fact
from memgraph.retrieval.results import Ranked, RankedItem, RecallResult, ScoredEpisode, ScoredFact, Selection

RESULTS = [
    ScoredFact(fact=Fact(content="Likes tea"), score=0.5, similarity=1),
    ScoredEpisode(episode=Episode(id="e1", text="I like tea."), score=0.5, similarity=1, matched=("tea",)),
    Ranked(facts=(RankedItem(id="fact_1", score=0.5, similarity=1),)),
    Selection(summaries={"work_context": "Builds things."}),
    RecallResult(text="<memory>", tokens=3),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_survives_json(result: BaseModel) -> None:
    """A checkpointer stores it, and the API sends it."""
    assert type(result).model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_cannot_be_changed_or_extended(result: BaseModel) -> None:
    with pytest.raises(ValidationError):
        result.facts = ()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValidationError):
        type(result).model_validate({**result.model_dump(), "typo": 1})


def test_an_empty_selection_needs_nothing() -> None:
    assert (Selection().summaries, Selection().facts) == ({}, ())
    assert (RecallResult(text="", tokens=0).facts, RecallResult(text="", tokens=0).episodes) == ((), ())
