"""Scores of a model follow from the facts it stored."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import Fact, MemoryDocument, Section

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/extraction.py` has it

from sets import scoring
from sets.intervals import hit_row, wilson
from sets.labels import Conversation
from sets.scoring import Judged, failed, judge

CONVERSATION = Conversation.model_validate(
    {
        "id": "talk",
        "language": "en",
        "kind": "made up",
        "memory": [
            {"content": "Lives in Oslo.", "category": "context"},
            {"content": "Has a dog.", "category": "context"},
        ],
        "messages": [{"human": "No, I moved to Rome. I bake. The code is 4711."}],
        "should": [{"any_of": ["rome"], "category": "correction|context"}, "bake*|baking"],
        "may": ["bread"],
        "must_not": ["oslo", "rome moon"],
        "known": ["dog"],
        "outdated": ["oslo"],
        "never": ["4711"],
        "correction": True,
    }
)
OLD = tuple(Fact(id=f"fact_{number}", content=known.content) for number, known in enumerate(CONVERSATION.memory))
BEFORE = MemoryDocument(facts=OLD)


def stored(*contents: str, kept: tuple[Fact, ...] = OLD, category: str = "context") -> Judged:
    new = tuple(Fact(content=content, category=category) for content in contents)
    return judge(CONVERSATION, BEFORE, BEFORE.with_facts((*kept, *new)))


def verdicts(judged: Judged) -> list[str]:
    return [verdict for _, verdict in judged.facts]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (["Lives in Rome."], ["right"]),
        (["Bakes."], ["right"]),
        (["Likes bread."], ["right"]),
        (["Lives in Rome.", "Moved to Rome."], ["right", "duplicate"]),
        (["Lives in Rome.", "Bakes in Rome."], ["right", "right"]),
        (["Owns a dog."], ["duplicate"]),
        (["Left Oslo."], ["forbidden"]),
        (["Lives in Rome on the moon."], ["forbidden"]),
        (["Wears a hat."], ["junk"]),
    ],
)
def test_fact_gets_its_verdict(contents: list[str], expected: list[str]) -> None:
    """Forbidden statements take precedence over allowed ones; a fact that adds nothing is a duplicate."""
    assert verdicts(stored(*contents)) == expected


def test_missing_facts_are_reported() -> None:
    """Recall counts labels, not facts."""
    assert list(stored("Lives in Rome.", "Is in Rome.").found) == [True, False]


def test_shares_follow_from_the_verdicts() -> None:
    """A duplicate is true, so it counts as precise."""
    judged = [stored("Lives in Rome.", "Is in Rome.", "Wears a hat.", "Left Oslo.")]

    assert (scoring.precision(judged), scoring.recall(judged)) == (0.5, 0.5)
    assert (scoring.junk(judged), scoring.duplicates(judged)) == (0.5, 0.25)
    assert scoring.f1(judged) == pytest.approx(0.5)


def test_removed_outdated_fact_is_retired() -> None:
    """The true fact remains."""
    judged = stored("Lives in Rome.", kept=OLD[1:])

    assert (list(judged.retired), judged.lost) == ([True], 0)


def test_removed_true_fact_is_lost() -> None:
    """Removing facts does not improve precision."""
    judged = stored("Lives in Rome.", kept=OLD[:1])

    assert (list(judged.retired), judged.lost) == ([False], 1)


def test_rephrased_true_fact_is_not_lost() -> None:
    """A model may rephrase a known fact."""
    judged = stored("Owns a dog named Rex.", kept=OLD[:1])

    assert judged.lost == 0


@pytest.mark.parametrize(("category", "caught"), [("correction", True), ("context", True), ("goal", False)])
def test_correction_is_caught_in_an_allowed_category(category: str, *, caught: bool) -> None:
    """In another category it does not prevent the mistake."""
    judged = stored("Lives in Rome.", category=category)

    assert judged.caught is caught
    assert judged.filed_as_correction is (category == "correction")


def test_secret_in_a_summary_is_a_leak() -> None:
    """The whole document can appear in prompts."""
    after = BEFORE.with_section("work_context", Section(summary="The code is 4711."))

    assert judge(CONVERSATION, BEFORE, after).leaked == 1


def test_failed_update_scores_zero() -> None:
    """A model that does not answer must not look better than one that does."""
    judged = [failed(CONVERSATION, "no answer")]

    assert scoring.recall(judged) == 0
    assert scoring.caught(judged) == 0
    assert scoring.retired(judged) == 0


# -- intervals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hits", "of", "expected"), [(8, 10, (0.490, 0.943)), (0, 10, (0, 0.278)), (10, 10, (0.722, 1)), (0, 0, (0, 1))]
)
def test_wilson_matches_published_values(hits: int, of: int, expected: tuple[float, float]) -> None:
    """Values from tables."""
    assert wilson(hits, of) == pytest.approx(expected, abs=0.001)


@given(st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_interval_contains_the_share(counted: tuple[int, int]) -> None:
    """It also stays within [0, 1]."""
    hits, of = counted

    low, high = wilson(hits, of)

    assert 0 <= low <= hits / of + 1e-9
    assert hits / of - 1e-9 <= high <= 1


def test_share_of_one_is_uncertain() -> None:
    """The next one may miss."""
    row = hit_row("all", [True] * 10)

    assert (row.value, row.high) == (1, 1)
    assert row.low == pytest.approx(0.722, abs=0.001)


def test_interval_of_a_share_is_never_a_point() -> None:
    """Seven of seven do not make the eighth certain."""
    low, high = scoring.precision.interval([stored("Lives in Rome.")] * 7)

    assert low < 0.7
    assert high == 1
