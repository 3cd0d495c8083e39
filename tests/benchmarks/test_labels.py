"""The labelled conversations are well formed, and labels match the right facts."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as `python benchmarks/extraction.py` has it

from sets.labels import Conversation, Label, all_conversations, read_set

CONVERSATIONS = list(all_conversations())
each_conversation = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=[one.id for one in CONVERSATIONS])
one_word = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


# -- conversations --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "minimum"), [("en", 40), ("zh", 30)])
def test_set_is_large_enough(language: str, minimum: int) -> None:
    """With fewer conversations the intervals are too wide."""
    conversations = read_set(language)

    assert len(conversations) >= minimum
    assert sum(one.correction for one in conversations) >= 5
    assert sum(not one.should for one in conversations) >= 10


def test_ids_are_unique() -> None:
    """The id is also the user id."""
    ids = [one.id for one in CONVERSATIONS]

    assert len(set(ids)) == len(ids)


@each_conversation
def test_expected_facts_occur_in_the_conversation(conversation: Conversation) -> None:
    """A label with words that do not occur is misspelt, and no model could satisfy it."""
    text = " ".join(message.text for message in conversation.messages if message.role != "tool")

    missing = [label.any_of for label in conversation.should if not _without_exceptions(label).matches(text)]

    assert missing == []


def _without_exceptions(label: Label) -> Label:
    groups = (" ".join(word for word in group.split() if not word.startswith("!")) for group in label.any_of)
    return label.model_copy(update={"any_of": tuple(groups)})


@each_conversation
def test_known_facts_are_in_the_memory(conversation: Conversation) -> None:
    """A label of a known fact that matches none measures nothing."""
    facts = [known.content for known in conversation.memory]

    labels = (*conversation.known, *conversation.outdated)

    assert [label for label in labels if not any(label.matches(fact) for fact in facts)] == []


@each_conversation
def test_secrets_occur_in_the_conversation(conversation: Conversation) -> None:
    """A misspelt secret would never be found."""
    text = "".join(message.text for message in conversation.messages).replace(" ", "")

    assert all(secret.replace(" ", "") in text for secret in conversation.never)


@each_conversation
def test_corrections_have_a_category(conversation: Conversation) -> None:
    """Otherwise they could not be caught."""
    assert not conversation.correction or any(label.category for label in conversation.should)


# -- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "fact"),
    [
        ("tennis play*", "Plays tennis on Sundays."),
        ("test", "Writes tests first."),
        ("allerg*", "Is ALLERGIC to dust."),
        ("café", "Owns a ｃａｆé."),
        ("1:48", "Ran the half in 1:48."),
        ("c++", "Likes C++."),
        ("lives|moved oslo", "Moved to Oslo."),
        ("*n't meat", "Doesn\u2019t eat meat."),
        ("花生 过敏", "用户对花生过敏"),
        ("5条", "最多 5 条"),
        ("oslo !left", "Lives in Oslo."),
    ],
)
def test_label_matches(group: str, fact: str) -> None:
    """Case, width, endings and spaces are ignored."""
    assert Label(any_of=(group,)).matches(fact)


@pytest.mark.parametrize(
    ("group", "fact"),
    [
        ("cat", "Files by category."),
        ("oslo lives", "Visited Oslo."),
        ("oslo !left", "Left Oslo."),
        ("花生 过敏", "喜欢花生"),
        ("3.8", "Version 13.8."),
    ],
)
def test_label_does_not_match(group: str, fact: str) -> None:
    """Parts of other words and excluded words do not match."""
    assert not Label(any_of=(group,)).matches(fact)


@given(st.lists(one_word, min_size=1, max_size=5), st.randoms())
def test_words_match_in_any_order(words: list[str], draw: random.Random) -> None:
    """A paraphrase may reorder words."""
    fact = draw.sample(words, len(words))

    assert Label(any_of=(" ".join(words),)).matches(" ".join(fact).title())


@given(one_word, one_word)
def test_excluded_word_prevents_a_match(wanted: str, excluded: str) -> None:
    """A word after ! must not occur."""
    assert not Label(any_of=(f"{wanted} !{excluded}",)).matches(f"{wanted} {excluded}")


@pytest.mark.parametrize("label", [{"any_of": []}, {"any_of": ["!oslo"]}, {"any_of": ["a"], "category": "hobby"}])
def test_meaningless_label_is_rejected(label: dict[str, object]) -> None:
    """A label that matches everything or nothing, or an unknown category."""
    with pytest.raises(ValidationError):
        Label.model_validate(label)
