"""Which messages are kept word for word, and in which parts."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.episodes import MAX_ANSWER_CHARS, episode_id, episodes_of, kept_words
from memgraph.analysis.provenance import with_provenance
from memgraph.models import Episode, Turn
from memgraph.policy import Policy

AT = "2026-05-03T09:00:00Z"


def turn(name: str, text: str, role: Literal["human", "ai"] = "human", **fields: Any) -> Turn:
    return Turn(id=name, role=role, text=text, at=AT, **fields)


def kept(*turns: Turn, **policy: Any) -> list[str]:
    return [episode.text for episode in episodes_of(turns, thread="t1", policy=Policy(**policy))]


def test_an_episode_holds_the_users_words_their_time_and_their_origin() -> None:
    episodes = episodes_of([turn("m1", "I moved to Marrowby.")], thread="t1", policy=Policy())

    assert episodes == (
        Episode(id=episode_id("t1", "m1"), thread_id="t1", message_id="m1", at=AT, text="I moved to Marrowby."),
    )


def test_the_assistants_turns_are_not_kept() -> None:
    assert kept(turn("m1", "Hello."), turn("m2", "Hello, Ada.", "ai")) == ["Hello."]


def test_other_speakers_turns_are_not_kept() -> None:
    """They are not the words of the user."""
    assert kept(turn("m1", "I am Bob.", speaker="bob"), turn("m2", "I am Ada.")) == ["I am Ada."]


def test_with_exchange_the_last_answer_is_kept_as_the_assistants() -> None:
    """Of several messages of the assistant, the last one answers the user."""
    turns = [turn("m1", "Where to?"), turn("m2", "Hm.", "ai"), turn("m3", "Try Marrowby.", "ai"), turn("m4", "Fine.")]

    episodes = episodes_of(turns, thread="t1", policy=Policy(episodes="exchange"))

    assert [(episode.author, episode.text) for episode in episodes] == [
        ("user", "Where to?"),
        ("assistant", "Try Marrowby."),
        ("user", "Fine."),
    ]


def test_a_long_answer_is_cut() -> None:
    texts = kept(turn("m1", "Why?"), turn("m2", "Because. " * 200, "ai"), episodes="exchange")

    assert len(texts) == 2
    assert MAX_ANSWER_CHARS - 20 < len(texts[1]) <= MAX_ANSWER_CHARS


def test_nothing_is_kept_if_episodes_are_off() -> None:
    assert kept(turn("m1", "Hello."), turn("m2", "Hello.", "ai"), episodes="off") == []


def test_secrets_are_masked() -> None:
    """Also one that lies on the seam of two parts."""
    key = "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8t"
    texts = kept(turn("m1", f"{'word ' * 17}{key} is my key."), max_episode_chars=100)

    assert "sk-p***" in " ".join(texts)
    assert not any("abcdefgh" in text for text in texts)


def test_a_long_message_is_kept_in_numbered_parts() -> None:
    """Cut at the ends of sentences."""
    first, second = "One sentence. " * 7, "Another one. " * 7
    episodes = episodes_of([turn("m1", first + second)], thread="t1", policy=Policy(max_episode_chars=100))

    assert [episode.text for episode in episodes] == [first.strip(), second.strip()]
    assert [episode.id for episode in episodes] == [episode_id("t1", "m1"), episode_id("t1", "m1", 1)]
    assert {episode.message_id for episode in episodes} == {"m1"}


@given(text=st.text(), limit=st.integers(100, 300))
def test_no_part_of_a_message_is_lost(text: str, limit: int) -> None:
    texts = kept(turn("m1", text * 3), max_episode_chars=limit)

    assert all(0 < len(part) <= limit for part in texts)
    assert "".join("".join(texts).split()) == "".join(kept_words(text * 3).split())


@pytest.mark.parametrize("other", [("t1", "m2", 0), ("t2", "m1", 0), ("t1", "m1", 1)])
def test_the_id_differs_by_thread_message_and_part(other: tuple[str, str, int]) -> None:
    assert episode_id(*other) != episode_id("t1", "m1", 0) == episode_id("t1", "m1")


def test_the_id_never_changes() -> None:
    """Stored ids are compared with it, also by later versions."""
    assert episode_id("t1", "m1", 2) == "e_00dd9f57f4d75ac0dcc8-2"


def test_what_the_user_quotes_is_not_kept() -> None:
    """Only the user's own words are."""
    assert kept(with_provenance(turn("m1", "Look:\n> I live in Rome.\nI live in Oslo."))) == [
        "Look:\n\nI live in Oslo."
    ]


def test_a_turn_without_own_words_is_not_kept() -> None:
    assert kept(with_provenance(turn("m1", "> I live in Rome."))) == []
