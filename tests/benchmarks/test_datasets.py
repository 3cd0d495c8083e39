"""The readers of published conversations: dates, speakers, photos, and whose facts they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/recall.py` has it

from locomo import LOCOMO, read_conversations
from memory_bank import FILES, read_users

SESSIONS = {
    "speaker_a": "Ann",
    "speaker_b": "Ben",
    "session_10_date_time": "12:09 am on 13 September, 2023",
    "session_10": [{"dia_id": "D10:1", "speaker": "Ben", "text": "I moved."}],
    "session_2_date_time": "1:56 pm on 8 May, 2023",
    "session_2": [{"dia_id": "D2:1", "speaker": "Ann", "text": "Look!", "blip_caption": "a red boat"}],
}
OBSERVATION = {
    "session_10_observation": {"Ben": [["Ben moved.", "D10:1"]]},
    "session_2_observation": {"Ann": [["Ann has a boat.", "D2:1"]]},
}
QUESTIONS = [{"question": "Who moved?", "evidence": ["D10:1"], "category": 4}]


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"conversation": SESSIONS, "observation": OBSERVATION, "qa": QUESTIONS}]), "utf-8")
    return path


def test_turns_have_the_time_of_their_session_and_their_speaker(locomo: Path) -> None:
    """Sessions are ordered by number: `session_10` comes after `session_2`."""
    (conversation,) = read_conversations(locomo)

    assert [(turn.id, turn.at, turn.speaker) for turn in conversation.turns] == [
        ("D2:1", "2023-05-08T13:56:00Z", "Ann"),
        ("D10:1", "2023-09-13T00:09:00Z", "Ben"),
    ]


def test_caption_of_a_photo_is_part_of_the_text(locomo: Path) -> None:
    """Some questions are about what a photo shows."""
    (conversation,) = read_conversations(locomo)

    assert conversation.turns[0].text == "Look! [image: a red boat]"


def test_facts_have_the_time_of_their_session(locomo: Path) -> None:
    """Questions that ask when something happened need it."""
    (conversation,) = read_conversations(locomo)

    assert [fact.said_at for fact in conversation.facts] == ["2023-05-08T13:56:00Z", "2023-09-13T00:09:00Z"]


def test_facts_of_one_speaker_keep_their_evidence(locomo: Path) -> None:
    """A memory is one person's."""
    (conversation,) = read_conversations(locomo)

    of_ben = conversation.of_speaker("Ben")

    assert [fact.content for fact in of_ben.facts] == ["Ben moved."]
    assert of_ben.learned_from == (frozenset({"D10:1"}),)
    assert of_ben.turns == conversation.turns


def test_days_of_a_user_are_in_order_and_messages_have_the_date(tmp_path: Path) -> None:
    """A replayed conversation is learned at the time it was written."""
    exchange = [{"query": "Hello.", "response": "Hello, Eve."}]
    path = tmp_path / "bank.json"
    path.write_text(json.dumps({" Eve ": {"history": {"2023-05-01": exchange, "2023-04-27": exchange}}}), "utf-8")

    (user,) = read_users(path)

    assert user.name == "Eve"
    assert [day.date for day in user.days] == ["2023-04-27", "2023-05-01"]
    assert {message.additional_kwargs["timestamp"] for message in user.days[0].messages} == {"2023-04-27"}


@pytest.mark.skipif(not LOCOMO.exists(), reason=f"{LOCOMO} is missing")
def test_all_evidence_of_locomo_is_found_among_dated_turns() -> None:
    """997 questions of the five conversations have evidence; each turn of it has a time."""
    conversations = read_conversations(LOCOMO)

    dated = [{turn.id for turn in conversation.turns if turn.at} for conversation in conversations]

    assert sum(len(conversation.questions) for conversation in conversations) == 997
    assert all(
        question.evidence <= ids
        for ids, conversation in zip(dated, conversations, strict=True)
        for question in conversation.questions
    )


@pytest.mark.skipif(not all(path.exists() for path in FILES.values()), reason="MemoryBank is missing")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_memory_bank_has_fifteen_users_of_ten_days(language: str) -> None:
    users = read_users(FILES[language])

    assert [len(user.days) for user in users] == [10] * 15
