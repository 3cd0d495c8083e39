"""The change set in the model's answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from update_values import fact, origin, runtime, turn

from memgraph import MemoryDocument, Policy, UnreadableAnswerError, open_storage
from memgraph.analysis.episodes import episodes_of
from memgraph.models import Answer, Prompt, Rewrite, Section
from memgraph.report import Usage
from memgraph.testing import update_answer
from memgraph.update.parse_update import parse_update

MEMORY = MemoryDocument(facts=(fact("Likes tea.", id="f1"),)).with_section("work_context", Section(summary="Old."))


def parse(text: str, attempt: int = 1, policy: Policy | None = None, **state: Any) -> Any:
    storage = open_storage("memory:")
    given: dict[str, Any] = {
        "turns": (turn("m1"),),
        "origin": origin(storage),
        "memory": MEMORY,
        "pending_turns": 1,
        "prompt": Prompt(system="", human="I live in Oslo."),
        "batch": ("m1", "m2"),
        "response": Answer(text=text),
        "attempt": attempt,
        "usage": Usage(),
    }
    return parse_update({**given, **state}, runtime(storage, policy=policy or Policy()))  # type: ignore[typeddict-item]


def test_the_change_set_names_thread_messages_and_time() -> None:
    """So that it can be applied later, and once."""
    before = datetime.now(UTC).replace(microsecond=0)

    output = parse(update_answer("Has a dog.", workContext="New."))

    changes = output["changes"]
    assert list(output) == ["changes", "check", "change_digests"]
    assert (changes.thread, changes.message_ids) == ("t1", ("m1", "m2"))
    assert before <= datetime.fromisoformat(changes.at) <= before + timedelta(minutes=1)
    assert [addition.content for addition in changes.additions] == ["Has a dog."]
    assert changes.rewrites == (Rewrite(section="work_context", summary="New.", base="Old."),)


def test_a_conversation_without_a_thread_is_learned_under_unknown() -> None:
    """The source of its facts."""
    assert parse(update_answer(), origin=origin("s", thread_id=None))["changes"].thread == "unknown"


def test_a_fact_has_the_time_and_the_words_of_its_turn() -> None:
    """The update may run long after the conversation."""
    turns = (turn("m1").model_copy(update={"text": "I have a dog, Rex.", "at": "2023-05-03T10:00:00Z"}), turn("m2"))
    answer = '{"newFacts": [{"turn": 2, "quote": "I have a dog", "content": "Has a dog."}]}'

    (addition,) = parse(answer, turns=turns, prompt=Prompt(system="", human="", turn_ids=("m0", "m1")))[
        "changes"
    ].additions

    assert (addition.said_at, addition.evidence[0].quote) == ("2023-05-03T10:00:00Z", "I have a dog")


DOG = "I have a dog. " * 10 + "Its name is Rex, the password is hunter2secret."


def quoting(quote: str, policy: Policy | None = None) -> Any:
    """The evidence for a quote from DOG."""
    turns = (turn("m1").model_copy(update={"text": DOG}),)
    answer = json.dumps({"newFacts": [{"quote": quote, "content": "Has a dog."}]})
    prompt = Prompt(system="", human="", turn_ids=("m1",))
    (addition,) = parse(answer, policy=policy, turns=turns, prompt=prompt)["changes"].additions
    return addition.evidence


def test_evidence_names_the_episode_that_keeps_the_words() -> None:
    """A long message is kept in several."""
    policy = Policy(max_episode_chars=100)
    kept = episodes_of([turn("m1").model_copy(update={"text": DOG})], thread="t1", policy=policy)

    assert [item.episode for item in quoting("Its name is Rex", policy)] == [kept[1].id]
    assert [item.episode for item in quoting("Its name is Rex", Policy(episodes="off"))] == [""]


def test_a_secret_is_not_evidence() -> None:
    """It is masked in the episode, too."""
    assert quoting("the password is hunter2secret") == ()


def test_what_was_copied_from_the_example_is_refused() -> None:
    """Unless the conversation contains the same name."""
    copied = update_answer("Lives in Quillhaven.")

    (refusal,) = parse(copied)["changes"].refused
    assert refusal.reason == "it was copied from the examples or the rules in the prompt"
    assert parse(copied, prompt=Prompt(system="", human="I moved to quillhaven."))["changes"].refused == ()


def test_the_first_unreadable_answer_is_a_problem_for_the_retry() -> None:
    """The run goes on."""
    assert parse("") == {"problem": "the answer is empty"}


@pytest.mark.parametrize("attempt", [2, 3])
def test_the_second_unreadable_answer_ends_the_run(attempt: int) -> None:
    """With the problem in the error."""
    with pytest.raises(UnreadableAnswerError) as error:
        parse("", attempt)

    assert error.value.problem == "the answer is empty"
    assert str(error.value) == "the model's answer is not a memory update, even after a retry: the answer is empty"


def cut_off(text: str, turns: int, **state: Any) -> Any:
    """The answer about *turns* parts of a long turn, after an earlier turn."""
    prompt = Prompt(system="", human="", turn_ids=("m0", *["m1"] * turns))
    return parse("", prompt=prompt, response=Answer(text=text, cut_off=True), **state)


@pytest.mark.parametrize(("turns", "limit"), [(2, 1), (5, 2), (8, 4)])
def test_turns_whose_answer_was_cut_off_stay_pending(turns: int, limit: int) -> None:
    """What is closed is used; the next batch has half as many turns."""
    output = cut_off(update_answer("Has a dog.", "Has a cat.")[:-40], turns)

    assert output["batch_limit"] == limit
    assert output["changes"].message_ids == ()
    assert [addition.content for addition in output["changes"].additions] == ["Has a dog."]
    assert output["changes"].refused == ()


def test_an_answer_cut_off_before_its_first_item_is_not_an_error() -> None:
    """A smaller batch has a shorter answer."""
    output = cut_off('{"user": {', 3, attempt=2)

    assert (output["batch_limit"], output["changes"].message_ids, output["changes"].additions) == (1, (), ())


def test_a_single_turn_whose_answer_was_cut_off_is_learned_as_far_as_possible() -> None:
    """The report says that something is missing."""
    output = cut_off(update_answer("Has a dog.", "Has a cat.")[:-40], 1)

    assert list(output) == ["changes", "check", "change_digests"]
    assert output["changes"].message_ids == ("m1", "m2")
    assert [addition.content for addition in output["changes"].additions] == ["Has a dog."]
    assert "cut off" in output["changes"].refused[0].reason


def test_a_single_turn_whose_answer_ends_early_is_asked_about_again_and_never_marked() -> None:
    """Without a word of the provider, the rest may come the next time. Only the last brace may be missing."""
    whole = update_answer("Has a dog.", "Has a cat.")
    for end in range(1, len(whole)):
        output = parse(whole[:end], prompt=Prompt(system="", human="", turn_ids=("m1",)))

        read = [addition.content for addition in output["changes"].additions] if "changes" in output else None
        assert read in (None, ["Has a dog.", "Has a cat."]), whole[:end]
    with pytest.raises(UnreadableAnswerError):
        parse(whole[: whole.index("cat")], 2, prompt=Prompt(system="", human="", turn_ids=("m1",)))


def test_a_single_turn_without_a_readable_answer_is_not_learned() -> None:
    """The model is asked to be shorter; then the run ends, and the turn stays pending."""
    assert "cut off" in cut_off('{"user": {', 1)["problem"]
    with pytest.raises(UnreadableAnswerError):
        cut_off('{"user": {', 1, attempt=2)


def test_a_readable_second_answer_is_used() -> None:
    """That is what the retry is for."""
    assert "changes" in parse(update_answer(), 2)
