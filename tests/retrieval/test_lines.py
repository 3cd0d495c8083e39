"""Facts and episodes as lines: their groups, their days, and how they are ordered."""

from __future__ import annotations

import pytest

from memgraph.analysis.tokens import count_tokens
from memgraph.models import Episode, Fact
from memgraph.retrieval.render import (
    CERTAIN,
    CORRECTIONS,
    DATED,
    FACTS,
    PREFERENCES,
    QUOTES,
    Line,
    day_heading,
    episode_line,
    fact_line,
    one_line,
    render_lines,
)

SAID = "2026-05-03T23:30:00Z"
LISBON = "Europe/Lisbon"


# -- facts ----------------------------------------------------------------------------------------


def test_a_fact_is_a_bare_line() -> None:
    fact = Fact(content="Likes <b>tea</b> &\n coffee", confidence=0.8)

    assert fact_line(fact) == Line("- Likes &lt;b&gt;tea&lt;/b&gt; &amp; coffee\n", FACTS)


def test_preferences_and_corrections_have_groups_of_their_own() -> None:
    """Without days: they hold until they are changed."""
    liked = Fact(content="Likes tea", category="preference", confidence=0.9, said_at=SAID)
    corrected = Fact(content="Use Polars", category="correction", confidence=1, source_error="sug\ngested <pandas>")

    assert fact_line(liked) == Line("- Likes tea\n", PREFERENCES)
    assert fact_line(corrected) == Line("- Use Polars (avoid: sug gested &lt;pandas&gt;)\n", CORRECTIONS)


@pytest.mark.parametrize(("confidence", "mark"), [(0.79, " (uncertain)"), (CERTAIN, ""), (1.0, "")])
def test_a_fact_of_low_confidence_is_marked(confidence: float, mark: str) -> None:
    assert fact_line(Fact(content="x", confidence=confidence)) == Line(f"- x{mark}\n", FACTS)


def test_a_fact_stands_under_the_day_on_which_it_was_said() -> None:
    """In the time zone of the user."""
    fact = Fact(content="x", confidence=1, said_at=SAID, valid_from="2026-01")

    assert fact_line(fact) == Line("- x\n", DATED, "2026-05-03")
    assert fact_line(fact, LISBON) == Line("- x\n", DATED, "2026-05-04")


def test_a_fact_of_which_only_the_beginning_is_known_stands_under_that() -> None:
    assert fact_line(Fact(content="x", confidence=1, valid_from="2026-01")) == Line("- x\n", DATED, "2026-01")


def test_a_fact_without_content_has_no_line() -> None:
    assert fact_line(Fact(content=" \u200b", source_error="y")) is None


# -- episodes -------------------------------------------------------------------------------------


def test_an_episode_stands_under_the_day_on_which_it_was_said() -> None:
    assert episode_line(Episode(id="e", text="I like\n<tea>", at=SAID), LISBON) == Line(
        "- I like &lt;tea&gt;\n", QUOTES, "2026-05-04"
    )


def test_the_words_of_the_assistant_are_marked() -> None:
    line = episode_line(Episode(id="e", text="You like tea.", author="assistant"))

    assert line == Line("- assistant: You like tea.\n", QUOTES)


def test_an_episode_without_text_has_no_line() -> None:
    assert episode_line(Episode(id="e", text="\u200b ")) is None


@pytest.mark.parametrize(
    ("at", "day"),
    [
        (SAID, "2026-05-04"),
        ("2026-05-03T12:00:00Z", "2026-05-03"),
        ("2026", "2026"),
        ("2026-05", "2026-05"),
        ("", ""),
        ("last summer", ""),
        ("0001-01-01T00:00:00+23:59", ""),
    ],
)
def test_the_day_of_a_time_is_that_of_the_time_zone(at: str, day: str) -> None:
    """A partial date is of no time zone, and a text that is not a time has no day."""
    said = Episode(id="e", text="Tea.").model_copy(update={"at": at})

    line = episode_line(said, LISBON)

    assert line == Line("- Tea.\n", QUOTES, day)


# -- the order ------------------------------------------------------------------------------------


def test_groups_and_days_have_their_headings_once_and_days_ascend() -> None:
    lines = [
        *(Line("- later\n", DATED, "2026-05-03"), Line("- said\n", QUOTES, "2026-05-03")),
        *(Line("- undated\n", FACTS), Line("- earlier\n", DATED, "2026-05-01"), Line("- last\n", DATED, "2026-05-03")),
        *(Line("- tea\n", PREFERENCES), Line("- polars\n", CORRECTIONS), Line("- when?\n", QUOTES)),
    ]

    assert render_lines(lines) == (
        "Preferences:\n- tea\nCorrections:\n- polars\nFacts:\n- undated\n"
        "2026-05-01:\n- earlier\n2026-05-03:\n- later\n- last\n"
        "In the user's words:\n- when?\n2026-05-03:\n- said\n"
    )
    assert render_lines([]) == ""


def test_a_day_has_a_heading() -> None:
    assert day_heading("2026-05") == "2026-05:\n"
    assert day_heading("") == ""


# -- any text -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  a \t b\n\nc\u2028d ", "a b c d"),
        ("a\u200b\u202eb\ufeffc\x07", "abc"),
        ("＜b＞﹤/b﹥", "&lt;b&gt;&lt;/b&gt;"),
        ("\"quoted\" & 'single'", "\"quoted\" &amp; 'single'"),
        ("half \ud800 \0pair", "half \ufffd pair"),
        ("👩\u200d👧 \u200c", "👩\u200d👧"),
    ],
)
def test_text_becomes_one_harmless_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_line_is_counted_apart_from_its_headings() -> None:
    """A group without a label and a line without a day cost nothing."""
    lines = [Line("- tea\n", QUOTES, "2026-05-03"), Line("- tea\n", DATED, "2026"), Line("- tea\n", FACTS)]

    assert [line.tokens for line in lines] == [count_tokens("- tea\n")] * 3
    assert count_tokens(DATED) == count_tokens(day_heading("")) == 0
