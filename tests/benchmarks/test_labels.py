"""The labelled conversations are well formed, and a label matches what it says."""

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
named = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=[one.id for one in CONVERSATIONS])
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


# -- the set --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "least"), [("en", 40), ("zh", 30)])
def test_there_are_enough_conversations(language: str, least: int) -> None:
    """With fewer the intervals say nothing."""
    conversations = read_set(language)

    assert len(conversations) >= least
    assert sum(one.correction for one in conversations) >= 5
    assert sum(not one.should for one in conversations) >= 10


def test_each_conversation_has_a_name_of_its_own() -> None:
    """It is also the user it is learned for."""
    ids = [one.id for one in CONVERSATIONS]

    assert len(set(ids)) == len(ids)


@named
def test_what_should_be_learned_was_said(conversation: Conversation) -> None:
    """A label whose words nobody said is misspelt, and no model could satisfy it."""
    said = " ".join(message.text for message in conversation.messages if message.role != "tool")

    unsaid = [label.any_of for label in conversation.should if not _without_exceptions(label).matches(said)]

    assert unsaid == []


def _without_exceptions(label: Label) -> Label:
    groups = (" ".join(word for word in group.split() if not word.startswith("!")) for group in label.any_of)
    return label.model_copy(update={"any_of": tuple(groups)})


@named
def test_what_was_known_is_in_the_memory(conversation: Conversation) -> None:
    """Labels of known facts that match none of them measure nothing."""
    facts = [known.content for known in conversation.memory]

    labels = (*conversation.known, *conversation.outdated)

    assert [label for label in labels if not any(label.matches(fact) for fact in facts)] == []


@named
def test_secrets_were_said(conversation: Conversation) -> None:
    """A misspelt secret would never be found."""
    said = "".join(message.text for message in conversation.messages).replace(" ", "")

    assert all(secret.replace(" ", "") in said for secret in conversation.never)


@named
def test_a_correction_says_where_it_belongs(conversation: Conversation) -> None:
    """Otherwise it could not be caught."""
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
def test_a_label_matches(group: str, fact: str) -> None:
    """Case, width, endings and blanks are the model's affair."""
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
def test_a_label_does_not_match(group: str, fact: str) -> None:
    """Parts of other words are no match, nor is what the label rules out."""
    assert not Label(any_of=(group,)).matches(fact)


@given(st.lists(words, min_size=1, max_size=5), st.randoms())
def test_a_fact_with_all_words_matches_in_any_order(said: list[str], draw: random.Random) -> None:
    """A paraphrase orders words as it likes."""
    fact = draw.sample(said, len(said))

    assert Label(any_of=(" ".join(said),)).matches(" ".join(fact).title())


@given(words, words)
def test_what_is_ruled_out_rules_out(wanted: str, unwanted: str) -> None:
    """A word after ! may not be there, whatever else is."""
    assert not Label(any_of=(f"{wanted} !{unwanted}",)).matches(f"{wanted} {unwanted}")


@pytest.mark.parametrize("label", [{"any_of": []}, {"any_of": ["!oslo"]}, {"any_of": ["a"], "category": "hobby"}])
def test_a_label_that_measures_nothing_is_refused(label: dict[str, object]) -> None:
    """One that everything matches, or nothing, or a category that does not exist."""
    with pytest.raises(ValidationError):
        Label.model_validate(label)
