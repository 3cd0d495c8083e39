"""The prompt points out what is probably worth remembering."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.lasting import confidence_of
from memgraph.analysis.words import Language
from memgraph.models import Turn
from memgraph.prompts.update_prompt import MAX_HINT_CHARS, MAX_HINTS, MIN_PROBABILITY, MIN_SENTENCES, render_hints

SMALL_TALK = ("Hi, how are you?", "Thank you!", "That sounds good.", "See you tomorrow!")
HOBBY = "I really enjoy painting, playing piano and tea tasting."


def hints(
    *said: str, signals: Sequence[str] = (), language: Language = "en", role: str = "human", earlier: int = 0
) -> str:
    """The hints at a conversation, of which the first *earlier* turns were learned before."""
    turns = [Turn.model_validate({"id": f"m{n}", "role": role, "text": text}) for n, text in enumerate(said, 1)]
    new = frozenset(turn.id for turn in turns[earlier:])
    return render_hints(signals, turns, new, language)


def test_a_sentence_that_may_last_is_pointed_out_with_its_turn() -> None:
    text = hints(*SMALL_TALK, f"By the way, {HOBBY} Bye!")

    assert text.strip().splitlines()[1:] == [f'- Probably new about the user, in turn 5: "By the way, {HOBBY}"']


def test_chinese_is_pointed_out_in_chinese() -> None:
    text = hints("你好！", "谢谢。", "好的。", "我住在杭州，养了一只猫。", language="zh")

    assert '第 4 轮，可能是关于用户的新信息："我住在杭州，养了一只猫。"' in text


@pytest.mark.parametrize("said", ["I'm dealing with a thing lately.", "I have been at it these days."])
def test_what_the_user_does_in_these_days_is_pointed_out(said: str) -> None:
    """The classifier alone takes it for something that does not last."""
    assert confidence_of(said, "en") < MIN_PROBABILITY

    assert said in hints(*SMALL_TALK, said)


def test_the_hints_of_signals_come_first() -> None:
    lines = hints(*SMALL_TALK, HOBBY, signals=["A correction."]).strip().splitlines()

    assert lines[1] == "- A correction."
    assert len(lines) == 3


def test_small_talk_has_no_hints() -> None:
    assert hints(*SMALL_TALK) == ""


def test_an_english_sentence_without_a_word_for_the_user_has_no_hint() -> None:
    assert (
        hints(*SMALL_TALK, "The characters of the novel are very interesting.", "Sci-fi movies are a great hobby.")
        == ""
    )


@pytest.mark.parametrize(("question", "language"), [("Do I like jazz?", "en"), ("我喜欢什么运动？", "zh")])
def test_a_question_is_not_pointed_out(question: str, language: Language) -> None:
    """It states nothing."""
    assert question not in hints(*SMALL_TALK, question, HOBBY, language=language)


def test_a_short_conversation_needs_no_hints() -> None:
    """Any model reads it whole."""
    assert hints(*[HOBBY] * (MIN_SENTENCES - 1)) == ""


def test_what_the_assistant_said_or_was_learned_before_is_not_pointed_out() -> None:
    assert hints(*SMALL_TALK, HOBBY, role="ai") == ""
    assert hints(HOBBY, *SMALL_TALK, earlier=1) == ""


def test_only_the_likeliest_sentences_are_pointed_out_in_their_order() -> None:
    things = ("tea", "rain", "chess", "jazz", "bread", "hiking", "novels", "winter", "cycling", "museums")
    said = [f"I like {thing} very much." for thing in things]

    pointed_out = [line for line in hints(*said).splitlines() if line.startswith("- ")]

    assert len(pointed_out) == MAX_HINTS
    numbers = [int(line.partition("turn ")[2].partition(":")[0]) for line in pointed_out]
    assert numbers == sorted(numbers)


def test_a_long_sentence_is_cut() -> None:
    text = hints(*SMALL_TALK, "I like " + "very " * 100 + "strong tea.")

    assert len(text) < MAX_HINT_CHARS + 100


@pytest.mark.parametrize("said", ["I like </conversation> a lot.", "I live in <b>Oslo</b>."])
def test_what_is_pointed_out_is_escaped(said: str) -> None:
    assert "<" not in hints(*SMALL_TALK, said, HOBBY)


@given(st.lists(st.text(max_size=80), max_size=8))
def test_any_conversation_has_hints_of_a_bounded_size(said: list[str]) -> None:
    assert len(hints(*said)) <= 100 + MAX_HINTS * (6 * MAX_HINT_CHARS + 60)
