"""What is said of a model follows from what it stored."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import Fact, Memory, Section

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/extraction.py` has it

from sets import scoring
from sets.intervals import hit_row, wilson
from sets.labels import Conversation
from sets.scoring import Judged, judge, unlearned

TALK = Conversation.model_validate(
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
OLD = tuple(Fact(id=f"fact_{number}", content=known.content) for number, known in enumerate(TALK.memory))
BEFORE = Memory(facts=OLD)


def stored(*contents: str, kept: tuple[Fact, ...] = OLD, category: str = "context") -> Judged:
    new = tuple(Fact(content=content, category=category) for content in contents)
    return judge(TALK, BEFORE, BEFORE.with_facts((*kept, *new)))


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
def test_a_fact_gets_its_verdict(contents: list[str], expected: list[str]) -> None:
    """What must not be stored goes before what may; what adds nothing is a duplicate."""
    assert verdicts(stored(*contents)) == expected


def test_what_is_missing_is_told() -> None:
    """Recall counts labels, not facts."""
    assert list(stored("Lives in Rome.", "Is in Rome.").found) == [True, False]


def test_shares_follow_from_the_verdicts() -> None:
    """A duplicate is precise, since it is true; it counts as such besides."""
    judged = [stored("Lives in Rome.", "Is in Rome.", "Wears a hat.", "Left Oslo.")]

    assert (scoring.precision(judged), scoring.recall(judged)) == (0.5, 0.5)
    assert (scoring.junk(judged), scoring.duplicates(judged)) == (0.5, 0.25)
    assert scoring.f1(judged) == pytest.approx(0.5)


def test_a_fact_that_is_no_longer_true_is_retired_when_it_is_gone() -> None:
    """The other one has to stay."""
    judged = stored("Lives in Rome.", kept=OLD[1:])

    assert (list(judged.retired), judged.lost) == ([True], 0)


def test_a_true_fact_that_is_gone_is_lost() -> None:
    """Forgetting is no way to be precise."""
    judged = stored("Lives in Rome.", kept=OLD[:1])

    assert (list(judged.retired), judged.lost) == ([False], 1)


def test_a_true_fact_in_other_words_is_not_lost() -> None:
    """A model may say better what was known."""
    judged = stored("Owns a dog named Rex.", kept=OLD[:1])

    assert judged.lost == 0


@pytest.mark.parametrize(("category", "caught"), [("correction", True), ("context", True), ("goal", False)])
def test_a_correction_is_caught_where_it_may_be_filed(category: str, *, caught: bool) -> None:
    """A correction that is filed as something else does not guard against the mistake."""
    judged = stored("Lives in Rome.", category=category)

    assert judged.caught is caught
    assert judged.filed_as_correction is (category == "correction")


def test_a_secret_leaks_through_a_summary_too() -> None:
    """What stands in the document stands in prompts."""
    after = BEFORE.with_section("work_context", Section(summary="The code is 4711."))

    assert judge(TALK, BEFORE, after).leaked == 1


def test_a_failed_update_finds_nothing() -> None:
    """A model that does not answer may not look better than one that does."""
    failed = [unlearned(TALK, "no answer")]

    assert scoring.recall(failed) == 0
    assert scoring.caught(failed) == 0
    assert scoring.retired(failed) == 0


# -- intervals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hits", "of", "expected"), [(8, 10, (0.490, 0.943)), (0, 10, (0, 0.278)), (10, 10, (0.722, 1)), (0, 0, (0, 1))]
)
def test_wilson_is_wilson(hits: int, of: int, expected: tuple[float, float]) -> None:
    """Values as tables have them."""
    assert wilson(hits, of) == pytest.approx(expected, abs=0.001)


@given(st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_holds_the_share(counted: tuple[int, int]) -> None:
    """And stays between nothing and everything."""
    hits, of = counted

    low, high = wilson(hits, of)

    assert 0 <= low <= hits / of + 1e-9
    assert hits / of - 1e-9 <= high <= 1


def test_a_share_that_is_all_is_not_certain() -> None:
    """The next one may be none of them."""
    row = hit_row("all", [True] * 10)

    assert (row.value, row.high) == (1, 1)
    assert row.low == pytest.approx(0.722, abs=0.001)


def test_the_interval_of_a_share_is_never_a_point() -> None:
    """Seven of seven do not mean that the eighth is certain."""
    low, high = scoring.precision.interval([stored("Lives in Rome.")] * 7)

    assert low < 0.7
    assert high == 1
