"""Which facts fit, and that no memory exceeds the budget."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import Fact, Memory, recall
from memgraph.models import CATEGORIES, SECTIONS, Section
from memgraph.retrieval.budget import SUMMARIES_SHARE, fit
from memgraph.retrieval.render import fact_lines, summary_line
from memgraph.text.tokens import count_tokens

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
FACTS = st.builds(
    Fact,
    content=TEXTS,
    category=st.sampled_from([*CATEGORIES, "odd"]),
    confidence=st.floats(0, 1),
    source=st.sampled_from(["t0", "t1", "manual"]),
    source_error=st.none() | TEXTS,
)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    memory = Memory(facts=tuple(draw(st.lists(FACTS, max_size=25))))
    for name in SECTIONS:
        memory = memory.with_section(name, Section(summary=draw(TEXTS | st.just(""))))
    return memory


# -- selection ------------------------------------------------------------------------------------


def select(costs: list[float], budget: int, *, order: str = "", preferred: str = "", guaranteed: int = 0) -> list[int]:
    """The positions selected; *order* and *preferred* are positions of one digit."""
    return fit(
        [int(position) for position in order] or list(range(len(costs))),
        costs,
        {int(position) for position in preferred},
        min_cost=min(costs, default=math.inf),
        max_tokens=budget,
        guaranteed_tokens=guaranteed,
    )


@pytest.mark.parametrize(("budget", "selected"), [(0, []), (9, []), (10, [0]), (19, [0]), (20, [0, 1]), (99, [0, 1])])
def test_a_fact_that_fits_exactly_is_selected(budget: int, selected: list[int]) -> None:
    assert select([10, 10], budget) == selected


def test_facts_are_selected_in_order() -> None:
    assert select([10, 10, 10], 20, order="201") == [2, 0]


def test_a_fact_that_does_not_fit_blocks_no_other() -> None:
    assert select([5, 50, 5, 7], 17) == [0, 2, 3]


def test_a_fact_of_infinite_cost_is_never_selected() -> None:
    assert select([math.inf, 5], 10**9) == [1]
    assert select([math.inf], 10**9) == []


@pytest.mark.parametrize(
    ("guaranteed", "selected"), [(0, [0, 1]), (9, [0, 1]), (10, [0, 2]), (19, [0, 2]), (20, [2, 3]), (1_000, [2, 3])]
)
def test_preferred_facts_fill_their_share_first(guaranteed: int, selected: list[int]) -> None:
    """The share is within the budget, and the result in order of rank."""
    assert select([10, 10, 10, 10], 20, preferred="23", guaranteed=guaranteed) == selected


def test_the_rest_of_the_budget_is_open_to_every_fact() -> None:
    """Preferred ones included."""
    assert select([10, 10, 10, 10], 30, order="3210", preferred="32", guaranteed=10) == [3, 2, 1]


def test_an_unused_share_is_open_to_every_fact() -> None:
    assert select([10, 10, 30], 20, preferred="2", guaranteed=20) == [0, 1]


def test_the_result_is_in_order_of_rank() -> None:
    """Not preferred facts first."""
    assert select([10, 10, 10], 30, order="012", preferred="2", guaranteed=10) == [0, 1, 2]


def test_a_negative_budget_selects_nothing() -> None:
    """The summaries and the frame may take more than there is."""
    assert select([1, 1], -5, preferred="1", guaranteed=10) == []


def test_the_search_ends_when_nothing_can_fit() -> None:
    """Or a recall over 10,000 facts would look at all of them."""
    looked_at = list[int]()

    class Costs(list[float]):
        def __getitem__(self, position: int) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
            looked_at.append(position)
            return super().__getitem__(position)

    costs = Costs([10, 10, 10, 10, 10])

    assert fit(range(5), costs, set(), min_cost=10, max_tokens=25, guaranteed_tokens=0) == [0, 1]
    assert set(looked_at) == {0, 1}


def test_summaries_may_take_half() -> None:
    assert SUMMARIES_SHARE == 0.5


# -- the promise ----------------------------------------------------------------------------------


@settings(max_examples=150)
@given(memories(), TEXTS, st.integers(1, 700), st.floats(0, 1))
def test_no_memory_exceeds_the_budget(memory: Memory, question: str, max_tokens: int, share: float) -> None:
    """Tags and framing counted, CJK, emoji and code included."""
    text = recall(memory, [question], max_tokens=max_tokens, guaranteed_share=share)

    assert count_tokens(text) <= max_tokens


@settings(max_examples=150)
@given(memories(), TEXTS, st.integers(1, 700))
def test_no_memory_breaks_out_of_its_block(memory: Memory, question: str, max_tokens: int) -> None:
    """One opening, one closing tag, and every line one of ours."""
    lines = recall(memory, [question], max_tokens=max_tokens).split("\n")

    assert lines == [""] or (lines[0], lines[-1]) == ("<memory>", "</memory>")
    assert all(line.startswith("- ") or line in {"User Context:", "History:", "Facts:"} for line in lines[2:-1])
    assert not any("<" in line or ">" in line for line in lines[1:-1])


@settings(max_examples=200)
@given(
    st.lists(
        FACTS.map(lambda fact: fact_lines([fact])[0]) | TEXTS.map(lambda text: summary_line("Work", text.strip("\n"))),
        max_size=8,
    )
)
def test_tokens_of_lines_add_up(lines: list[str]) -> None:
    """Why a fact's tokens need to be counted once only: no token spans the end of a line and what follows."""
    lines = [line for line in lines if "\n" not in line[:-1] and "\r" not in line]

    assert count_tokens("".join(lines)) == sum(map(count_tokens, lines))


@pytest.mark.parametrize("run", ["a", "茶", "🙂", "=", " a", "\u0301", "9"])
@pytest.mark.parametrize("max_tokens", [100, 1_000, 5_000])
def test_a_run_without_a_break_does_not_break_the_budget(run: str, max_tokens: int) -> None:
    """Such a text is counted in pieces, and may take a token or two more with others around it."""
    memory = Memory(facts=tuple(Fact(content=run * length) for length in (10, 900, 1_990, 3_990, 4_001, 9_000)))

    assert count_tokens(recall(memory, [run], max_tokens=max_tokens)) <= max_tokens


def test_ten_thousand_facts_fill_the_budget_and_no_more() -> None:
    memory = Memory(facts=tuple(Fact(content=f"Fact number {n} about topic {n % 97}") for n in range(10_000)))

    assert 1_980 < count_tokens(recall(memory, ["topic 5"])) <= 2_000
