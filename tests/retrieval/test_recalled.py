"""What memory gave a conversation is recognised when it comes back."""

from __future__ import annotations

import pytest

from memgraph import Fact, MemoryDocument
from memgraph.models import Episode, Evidence, PastFact, Section, Turn
from memgraph.retrieval.budget import fit_summaries
from memgraph.retrieval.recalled import Entries, find_recalled, with_recalled
from memgraph.retrieval.render import episode_line, fact_line, past_line, render

FACTS = (
    Fact(content="Lives in Lisbon."),
    Fact(content="Prefers uv over pip for Python projects.", category="preference"),
    Fact(content="I drink oat milk.", evidence=(Evidence(quote="oat milk is all I drink"),)),
    Fact(content="用户住在杭州，喜欢喝龙井茶"),
    Fact(content="Works at Acme since 2019.", confidence=0.5),
)
MEMORY = MemoryDocument(facts=FACTS).with_section(
    "work_context", Section(summary="Data engineer at Acme. Leads a team of four.")
)


PAST = (
    PastFact(content="Lived in Marrowby.", valid_from="2025-01", ended_at="2026-05-03", reason="superseded"),
    PastFact(content="养过一只叫年糕的猫。", said_at="2024-02-01T00:00:00Z", reason="evicted"),
)


def own(text: str, role: str = "human") -> str:
    turn = Turn.model_validate({"id": "m1", "role": role, "text": text})
    return with_recalled([turn], MEMORY)[0].own_words


@pytest.mark.parametrize(
    "text",
    [
        "Lives in Lisbon.",
        "The user lives in Lisbon.",
        "User prefers uv over pip for Python projects",
        "- Lives in Lisbon.",
        "- I drink oat milk.\n- Lives in Lisbon.",
        "1. oat milk is all I drink\n2. Prefers uv over pip.",
        "Works at Acme since 2019. (uncertain)",
        "Work: Data engineer at Acme.",
        "- Work: Leads a team of four.",
        "用户住在杭州，喜欢喝龙井茶。",
        "该用户喜欢喝龙井茶，住在杭州",
        "In the user's words:\n2026-05-03:\n- I moved to Rome.",
    ],
)
@pytest.mark.parametrize("role", ["human", "ai"])
def test_what_is_in_memory_is_no_news(text: str, role: str) -> None:
    """With or without the form in which it was rendered, in words that are nearly the same."""
    assert own(text, role) == ""


@pytest.mark.parametrize(
    "text",
    [
        "I live in Lisbon.",
        "I prefer uv over pip for Python projects.",
        "Yes, Lisbon is where I live.",
        "- I drink oat milk.",
        "- I live in Rome.\n- I am vegan.",
        "He lives in Lisbon.",
        "Lives in Rome now.",
        "Works at Acme since 2020.",
        "Is Lisbon nice?",
        "Always use uv over pip for Python projects!",
        "我住在杭州，喜欢喝龙井茶。",
        "Preferences:\n- short answers\n- no emojis",
    ],
)
def test_a_users_own_sentence_is_theirs(text: str) -> None:
    """Who restates a fact confirms it; what differs in a name or a number is news."""
    assert own(text) == text


def test_a_pasted_memory_block_is_recognised_without_its_tags() -> None:
    """As the renderer makes it, whatever it has: also episodes, which are not in the document."""
    lines = [
        *map(fact_line, FACTS),
        episode_line(Episode(id="e1", text="I fell off a ladder.", at="2026-05-03T09:00:00Z")),
    ]
    summaries = fit_summaries(MEMORY, 500).texts
    block = render(summaries, [line for line in lines if line], today="2026-05-10")

    assert own(block.removeprefix("<memory>\n").removesuffix("</memory>") + "\nWhat now?") == "What now?"


def test_words_around_recalled_ones_stay() -> None:
    assert (
        own("You noted this: Lives in Lisbon. I moved to Porto.")
        == "You noted this: Lives in Lisbon. I moved to Porto."
    )
    assert own("You noted:\nLives in Lisbon. I moved to Porto.") == "You noted:\n\nI moved to Porto."


def test_an_empty_memory_recognises_nothing() -> None:
    assert find_recalled("- Lives in Lisbon.\n- Likes tea.", Entries(MemoryDocument())) == ()


@pytest.mark.parametrize("others", [2, 60])
def test_a_list_of_any_length_is_compared(others: int) -> None:
    """Few words are searched for in memory, many are looked up in an index."""
    lines = [f"- Buy item{number} at shop{number}." for number in range(others)]
    known = ["- Lives in Lisbon.", "- 用户住在杭州，喜欢喝龙井茶"]

    assert own("\n".join([known[0], *lines, known[1]])) == "\n".join(lines)


def test_turns_that_repeat_nothing_are_returned_as_they_are() -> None:
    turns = (Turn(id="m1", role="human", text="I live in Lisbon."),)

    assert with_recalled(turns, MEMORY)[0] is turns[0]


@pytest.mark.parametrize("number", range(len(PAST)))
def test_a_line_about_the_past_is_no_news_when_it_comes_back(number: int) -> None:
    """As recall rendered it: with the month until which it held, or in which it was said."""
    entries = Entries(MEMORY.model_copy(update={"past": PAST}))
    line = past_line(PAST[number])
    assert line

    (span,) = find_recalled(f"Look:\n{line.text}And now?", entries)

    assert (span.start, span.end, span.origin) == (6, 5 + len(line.text), "recalled")


@pytest.mark.parametrize("text", ["- Lived in Marrowby.\n- Likes tea.", "- until 2026-05: Worked at Acme."])
def test_what_the_user_lists_of_the_past_is_his_own(text: str) -> None:
    """Without a month it may hold again; with one it may be new."""
    assert find_recalled(text, Entries(MemoryDocument(past=PAST))) == ()
