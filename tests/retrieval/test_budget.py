"""Which facts fit, and that no memory exceeds the budget."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import Fact, MemoryDocument, recall
from memgraph.analysis.tokens import count_tokens
from memgraph.models import CATEGORIES, SECTIONS, Episode, Evidence, Section
from memgraph.retrieval.budget import SUMMARIES_SHARE, Candidates, Shares, fit
from memgraph.retrieval.memory_index import Ranking
from memgraph.retrieval.render import (
    DATED,
    GROUPS,
    MIN_LINE_TOKENS,
    QUOTES,
    Line,
    day_heading,
    episode_line,
    fact_line,
    render_lines,
    summary_line,
)

PIECES = st.sampled_from(
    [
        *("Likes tea. ", "喜欢龙井茶。", "👩\u200d👩\u200d👧🎉", "def f(x):\n    return x\n"),
        *("日本語、", "مرحبا ", "e\u0301"),
        *("</memory>", "<|endoftext|>", "&amp;", "- ", "- [context | 0.90] ", "[]", "http://example.com/a?b=c "),
        *("a" * 300, "茶" * 200, "🙂" * 50, "x=1;" * 40, "_" * 90, "0123456789", "...", "!!!\n", "'s"),
        *(" ", "  ", "\t\n", "\r\n", "\u2028", "\x00"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=12), max_size=12).map("".join)
DATES = st.sampled_from(["", "2026", "2026-05", "2026-05-03T10:00:00Z", "2025-12-31T23:59:59Z", "someday"])
SOME_FACTS = st.builds(
    Fact,
    content=TEXTS,
    category=st.sampled_from([*CATEGORIES, "odd"]),
    confidence=st.floats(0, 1),
    source=st.sampled_from(["t0", "t1", "manual"]),
    source_error=st.none() | TEXTS,
    said_at=DATES,
    valid_from=DATES,
    evidence=st.lists(st.builds(Evidence, episode=st.sampled_from(["e0", "e3", "gone"]), quote=TEXTS), max_size=2).map(
        tuple
    ),
)


@st.composite
def memories(draw: st.DrawFn) -> MemoryDocument:
    memory = MemoryDocument(facts=tuple(draw(st.lists(SOME_FACTS, max_size=25))))
    for name in SECTIONS:
        memory = memory.with_section(name, Section(summary=draw(TEXTS | st.just(""))))
    return memory


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Episode, ...]:
    said = draw(st.lists(st.tuples(TEXTS, DATES, st.sampled_from(["user", "assistant"])), max_size=12))
    return tuple(
        Episode(id=f"e{position}", thread_id="t", text=text, at=at, author=author)
        for position, (text, at, author) in enumerate(said)
    )


# -- selection ------------------------------------------------------------------------------------


def costing(tokens: float) -> Line | None:
    """A line of so many tokens, whose headings are free; None if they are infinite."""
    if math.isinf(tokens):
        return None
    line = Line("- x\n", DATED)
    vars(line)["tokens"] = int(tokens)
    return line


def candidates(lines: Sequence[Line | None], order: str = "", scores: Sequence[float] | None = None) -> Candidates:
    """The lines in the order of *order*, which is positions of one digit; by default the first scores best."""
    ranked = [int(position) for position in order] or list(range(len(lines)))
    descending = [1 - 0.1 * ranked.index(position) if position in ranked else 0 for position in range(len(lines))]
    found = np.array(descending if scores is None else scores)
    return Candidates(Ranking(ranked, found, found), lines.__getitem__)


@dataclass(frozen=True)
class Pairs:
    """Facts and the episodes that say the same."""

    same: frozenset[tuple[int, int]] = frozenset()

    def claims_in(self, episode: int) -> Sequence[int]:
        return ()

    def is_episode_covered(self, episode: int, facts: Container[int]) -> bool:
        return any(fact in facts for fact, other in self.same if other == episode)

    def is_fact_covered(self, fact: int, episodes: Container[int]) -> bool:
        return any(other in episodes for known, other in self.same if known == fact)


def select(
    costs: list[float],
    budget: int,
    *,
    order: str = "",
    preferred: str = "",
    guaranteed: int = 0,
    said: list[float] | None = None,
    scores: list[float] | None = None,
    unlearned: str = "",
    share: int = 0,
    same: frozenset[tuple[int, int]] = frozenset(),
    cutoff: float = 0.0,
    noise: int = 0,
) -> tuple[list[int], list[int]]:
    """The positions of the facts and of the episodes selected."""
    facts, episodes = fit(
        candidates([*map(costing, costs)], order),
        candidates([costing(cost) for cost in said or ()], scores=scores),
        unlearned=[int(position) for position in unlearned],
        guaranteed={int(position) for position in preferred},
        cutoff=cutoff,
        overlap=Pairs(same),
        shares=Shares(tokens=budget, unlearned=share, guaranteed=guaranteed, noise=noise),
    )
    return list(facts), list(episodes)


def select_facts(costs: list[float], budget: int, **options: Any) -> list[int]:
    return select(costs, budget, **options)[0]


@pytest.mark.parametrize(("budget", "selected"), [(0, []), (9, []), (10, [0]), (19, [0]), (20, [0, 1]), (99, [0, 1])])
def test_a_fact_that_fits_exactly_is_selected(budget: int, selected: list[int]) -> None:
    assert select_facts([10, 10], budget) == selected


def test_facts_are_selected_in_order() -> None:
    assert select_facts([10, 10, 10], 20, order="201") == [2, 0]


def test_a_fact_that_does_not_fit_blocks_no_other() -> None:
    assert select_facts([5, 50, 5, 7], 17) == [0, 2, 3]


def test_a_fact_without_a_line_is_never_selected() -> None:
    assert select_facts([math.inf, 5], 10**9) == [1]
    assert select_facts([math.inf], 10**9) == []


@pytest.mark.parametrize(
    ("guaranteed", "selected"), [(0, [0, 1]), (9, [0, 1]), (10, [0, 2]), (19, [0, 2]), (20, [2, 3]), (1_000, [2, 3])]
)
def test_preferred_facts_fill_their_share_first(guaranteed: int, selected: list[int]) -> None:
    """The share is within the budget, and the result in order of rank."""
    assert select_facts([10, 10, 10, 10], 20, preferred="23", guaranteed=guaranteed) == selected


def test_the_rest_of_the_budget_is_open_to_every_fact() -> None:
    """Preferred ones included."""
    assert select_facts([10, 10, 10, 10], 30, order="3210", preferred="32", guaranteed=10) == [3, 2, 1]


def test_an_unused_share_is_open_to_every_fact() -> None:
    assert select_facts([10, 10, 30], 20, preferred="2", guaranteed=20) == [0, 1]


def test_the_result_is_in_order_of_rank() -> None:
    """Not preferred facts first."""
    assert select_facts([10, 10, 10], 30, order="012", preferred="2", guaranteed=10) == [0, 1, 2]


def test_a_negative_budget_selects_nothing() -> None:
    """The summaries and the frame may take more than there is."""
    assert select([3, 3], -5, preferred="1", guaranteed=10, said=[3], unlearned="0", share=5) == ([], [])


def test_the_search_ends_after_many_lines_that_do_not_fit() -> None:
    """Or a recall over 10,000 facts would count the tokens of all of them."""
    looked_at = list[int]()

    def line_of(position: int) -> Line | None:
        looked_at.append(position)
        return costing(99 if position else 10)

    facts, episodes = fit(
        Candidates(Ranking(list(range(10_000)), np.ones(10_000), np.ones(10_000)), line_of),
        candidates([]),
        unlearned=(),
        guaranteed=set(),
        cutoff=0.0,
        overlap=Pairs(),
        shares=Shares(tokens=25, unlearned=0, guaranteed=0, noise=0),
    )

    assert (list(facts), list(episodes)) == ([0], [])
    assert max(looked_at) <= 25 // MIN_LINE_TOKENS


# -- facts and episodes ---------------------------------------------------------------------------


def test_facts_and_episodes_compete_by_their_scores() -> None:
    """Words that answer the question are worth more than facts that do not."""
    assert select([10] * 5, 30, said=[10] * 2, scores=[0.95, 0.85]) == ([0, 1], [0])


def test_of_equal_scores_the_fact_is_selected() -> None:
    assert select([10, 10], 10, said=[10], scores=[1.0]) == ([0], [])


def test_an_episode_that_does_not_match_is_left_out() -> None:
    """Tokens of a model call are spent on what the question needs."""
    assert select([10, 10], 100, said=[10, 90], scores=[0.5, 0.0]) == ([0, 1], [0])


def test_if_everything_fits_all_is_selected() -> None:
    """Whatever the question is."""
    assert select([10, 10], 40, said=[10, 10], scores=[0.0, 0.0]) == ([0, 1], [0, 1])


@pytest.mark.parametrize(("share", "selected"), [(9, []), (10, [3]), (29, [3, 2]), (100, [3, 2, 0, 1])])
def test_words_not_learned_yet_come_first_within_their_share(share: int, selected: list[int]) -> None:
    """The newest first, whatever the question is: what was just said is known at once."""
    assert select([10] * 9, 40, said=[10] * 4, scores=[0.0] * 4, unlearned="3201", share=share)[1] == selected


def test_an_episode_that_the_selected_facts_cover_is_left_out() -> None:
    assert select([10] * 2, 30, said=[10] * 3, same=frozenset({(0, 0)})) == ([0, 1], [1])


def test_a_fact_that_a_selected_episode_covers_is_left_out() -> None:
    same = frozenset({(1, 0)})

    assert select([10] * 3, 30, said=[10] * 2, scores=[0, 0], unlearned="0", share=10, same=same) == ([0, 2], [0])


def test_a_heading_costs_once_in_its_group() -> None:
    """The same day in another group has a heading of its own."""
    lines = [Line("- a\n", DATED, "2026-05-03"), Line("- b\n", DATED, "2026-05-03")]
    quotes = [Line("- c\n", QUOTES, "2026-05-03"), Line("- d\n", QUOTES, "2026-05-03")]
    needed = count_tokens(render_lines([*lines, *quotes]))

    def fits(tokens: int) -> tuple[list[int], list[int]]:
        facts, episodes = fit(
            candidates(lines),
            candidates(quotes),
            unlearned=(),
            guaranteed=set(),
            cutoff=0.0,
            overlap=Pairs(),
            shares=Shares(tokens=tokens, unlearned=0, guaranteed=0, noise=0),
        )
        return list(facts), list(episodes)

    assert fits(needed) == ([0, 1], [0, 1])
    assert sum(map(len, fits(needed - 1))) == 3


def test_summaries_may_take_half() -> None:
    assert SUMMARIES_SHARE == 0.5


# -- the promise ----------------------------------------------------------------------------------


@settings(max_examples=150)
@given(memories(), conversations(), TEXTS, st.integers(1, 700), st.floats(0, 1))
def test_no_memory_exceeds_the_budget(
    memory: MemoryDocument, episodes: tuple[Episode, ...], question: str, max_tokens: int, guaranteed: float
) -> None:
    """Tags, framing and headings counted, CJK, emoji and code included."""
    text = recall(memory, [question], episodes=episodes, max_tokens=max_tokens, guaranteed_share=guaranteed)

    assert count_tokens(text) <= max_tokens


HEADINGS = {"User Context:", "History:", *(group.strip() for group in GROUPS)}


@settings(max_examples=150)
@given(memories(), conversations(), TEXTS, st.integers(1, 700))
def test_no_memory_breaks_out_of_its_block(
    memory: MemoryDocument, episodes: tuple[Episode, ...], question: str, max_tokens: int
) -> None:
    """One opening, one closing tag, and every line one of ours."""
    lines = recall(memory, [question], episodes=episodes, max_tokens=max_tokens).split("\n")

    assert lines == [""] or (lines[0], lines[-1]) == ("<memory>", "</memory>")
    assert all(
        line.startswith("- ") or line in HEADINGS or re.fullmatch(r"\d{4}(-\d\d){0,2}:", line) for line in lines[3:-1]
    )
    assert not any("<" in line or ">" in line for line in lines[1:-1])


@settings(max_examples=100)
@given(memories(), conversations(), TEXTS)
def test_days_ascend_within_each_group(memory: MemoryDocument, episodes: tuple[Episode, ...], question: str) -> None:
    facts, _, quotes = recall(memory, [question], episodes=episodes).partition(QUOTES)

    for group in (facts, quotes):
        days = re.findall(r"^(\d{4}(?:-\d\d){0,2}):$", group, re.MULTILINE)
        assert days == sorted(set(days))


@settings(max_examples=200)
@given(
    st.lists(
        SOME_FACTS.map(fact_line) | TEXTS.map(lambda text: episode_line(Episode(id="e", text=text, at="2026-05-03"))),
        max_size=8,
    ),
    TEXTS,
)
def test_tokens_of_lines_and_headings_add_up(lines: list[Line | None], summary: str) -> None:
    """Why a line's tokens need to be counted once only: no token spans the end of a line and what follows."""
    known = [*filter(None, lines)]
    labels = {line.group: count_tokens(line.group) for line in known}
    days = {(line.group, line.day): count_tokens(day_heading(line.day)) for line in known}
    above = summary_line("Work", " ".join(summary.split()))
    parts = count_tokens(above) + sum(line.tokens for line in known) + sum(labels.values()) + sum(days.values())

    assert count_tokens(above + render_lines(known)) == parts


@pytest.mark.parametrize("run", ["a", "茶", "🙂", "=", " a", "\u0301", "9"])
@pytest.mark.parametrize("max_tokens", [100, 1_000, 5_000])
def test_a_run_without_a_break_does_not_break_the_budget(run: str, max_tokens: int) -> None:
    """Such a text is counted in pieces, and may take a token or two more with others around it."""
    memory = MemoryDocument(facts=tuple(Fact(content=run * length) for length in (10, 900, 1_990, 3_990, 4_001, 9_000)))

    assert count_tokens(recall(memory, [run], max_tokens=max_tokens)) <= max_tokens


def test_ten_thousand_facts_fill_the_budget_and_no_more() -> None:
    memory = MemoryDocument(facts=tuple(Fact(content=f"Fact number {n} about topic {n % 97}") for n in range(10_000)))

    assert 1_980 < count_tokens(recall(memory, ["topic 5"])) <= 2_000
