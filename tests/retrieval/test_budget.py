"""The budget is never exceeded, whatever the memory holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import Fact, Memory, recall
from memgraph.models import CATEGORIES, SECTIONS, Section
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


@settings(max_examples=150)
@given(memories(), TEXTS, st.integers(1, 700), st.floats(0, 1))
def test_no_memory_exceeds_the_budget(memory: Memory, asked: str, max_tokens: int, share: float) -> None:
    """Tags and framing counted, CJK, emoji and code included."""
    text = recall(memory, [asked], max_tokens=max_tokens, guaranteed_share=share)

    assert count_tokens(text) <= max_tokens


@settings(max_examples=150)
@given(memories(), TEXTS, st.integers(1, 700))
def test_no_memory_breaks_out_of_its_block(memory: Memory, asked: str, max_tokens: int) -> None:
    """One opening, one closing tag, and every line one of ours."""
    lines = recall(memory, [asked], max_tokens=max_tokens).split("\n")

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
