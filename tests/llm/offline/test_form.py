"""In which form a statement is kept: a fact only if it is clear by itself."""

from __future__ import annotations

import pytest

from memgraph import MemoryClient, MemoryDocument, Scope, open_storage


def learn(*said: str) -> MemoryDocument:
    """Return the memory after the user said these, one after the other."""
    storage = open_storage("memory:")
    with MemoryClient(storage, user_id="ada", model="offline") as client:
        for text in said:
            client.add(text)
    return storage.load(Scope("ada"))


@pytest.mark.parametrize("said", ["They put two screws in my hip in 2019.", "It's only asthma, says my doctor."])
def test_a_statement_about_what_it_does_not_name_is_no_plain_fact(said: str) -> None:
    """Later it is not known who "she" is; with the day and the words of its conversation it stays of use."""
    memory = learn(said)

    assert memory.facts == ()


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I am a vegan.", "Forget that I'm a vegan."),
        ("I play the cello.", "Please forget that I play the cello."),
        ("我对花粉过敏。", "请忘掉我对花粉过敏。"),
    ],
)
def test_what_the_user_asks_to_forget_holds_no_longer_and_the_request_is_no_fact(known: str, said: str) -> None:
    before, after = learn(known), learn(known, said)

    assert len(before.facts) == 1
    assert after.facts == ()
    assert [fact.content for fact in after.past] == [fact.content for fact in before.facts]


def test_a_request_to_forget_what_is_not_known_teaches_nothing() -> None:
    memory = learn("I play the cello.", "Forget that I have a dog.")

    assert [fact.content for fact in memory.facts] == ["Plays the cello."]
    assert memory.as_said == ()
