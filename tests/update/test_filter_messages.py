"""The turns to learn from, and the owner of the memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from update_values import ADA, runtime, turn

from memgraph import IdentityError, Scope, open_storage
from memgraph.report import Report
from memgraph.state import MessageCalls, Origin
from memgraph.update.nodes import filter_messages

MAY_8 = "2023-05-08T13:56:00Z"
SAID = [HumanMessage("I live in Oslo.", id="m1"), AIMessage("Nice!", id="m2"), HumanMessage("ok", id="m3")]


def test_turns_owner_and_an_empty_report_are_written() -> None:
    """An acknowledgement is not a turn; the report of an earlier run on the thread is cleared."""
    storage = open_storage("memory:")

    output = filter_messages({"messages": SAID}, runtime(storage, at=MAY_8))

    said = (turn("m1"), turn("m2", "Nice!", role="ai"))
    assert output == {
        "turns": tuple(each.model_copy(update={"at": MAY_8}) for each in said),
        "origin": Origin(scope=ADA, thread_id="t1", storage=storage.name),
        "report": Report(),
        "message_calls": MessageCalls(),
    }


@pytest.mark.parametrize("messages", [[], [HumanMessage("ok")], [AIMessage("Hello?", id="m1")]])
def test_without_a_user_turn_the_run_ends(messages: list[object]) -> None:
    """Turns of the assistant alone teach nothing about the user."""
    assert filter_messages({"messages": messages}, runtime())["outcome"] == "nothing_new"  # type: ignore[typeddict-item]


def test_a_disabled_memory_reads_no_message() -> None:
    """The run ends as if nothing had been said."""
    output = filter_messages({"messages": SAID}, runtime(enabled=False))

    assert (output["turns"], output["outcome"]) == ((), "nothing_new")


def test_the_context_decides_what_acknowledges() -> None:
    """Users add phrases of their own."""
    context = runtime()
    signals = context.context.signals
    object.__setattr__(context.context, "signals", type(signals)(signals.table, frozenset({"i live in oslo"})))

    assert filter_messages({"messages": SAID[:1]}, context)["turns"] == ()


def test_the_owner_has_agent_thread_and_review() -> None:
    """What the run is started with counts also if it is resumed without its context."""
    origin = filter_messages({"messages": SAID}, runtime(agent_name="Coder", review="corrections"))["origin"]

    assert (origin.scope, origin.review, origin.thread) == (Scope("ada", "coder"), "corrections", "t1")


@pytest.mark.parametrize("thread_id", [None, ""])
def test_a_conversation_without_a_thread_has_a_watermark_too(thread_id: str | None) -> None:
    """It is kept under the name `unknown`."""
    origin = filter_messages({"messages": SAID}, runtime(thread_id=thread_id))["origin"]

    assert (origin.thread_id, origin.thread) == (None, "unknown")


@pytest.mark.parametrize("user_id", [None, ""])
def test_a_run_without_a_user_is_an_error(user_id: str | None) -> None:
    """The message shows how to name one."""
    with pytest.raises(IdentityError, match=r"^no user_id: name the user by context=Context\(user_id='ada'\);"):
        filter_messages({"messages": SAID}, runtime(user_id=user_id))


def test_an_invalid_thread_id_is_an_error() -> None:
    """The message names the field."""
    with pytest.raises(IdentityError, match=r"^thread_id 'a.*b' contains a control character$"):
        filter_messages({"messages": SAID}, runtime(thread_id="a\nb"))


def test_message_with_its_own_time_keeps_it() -> None:
    """A conversation of 2023 that is imported today was held in 2023."""
    said = HumanMessage("I live in Oslo.", id="m1", additional_kwargs={"timestamp": "2023-05-07T10:00:00Z"})

    output = filter_messages({"messages": [said]}, runtime(at=MAY_8))

    assert [each.at for each in output["turns"]] == ["2023-05-07T10:00:00Z"]


@pytest.mark.parametrize("at", [None, datetime.now(UTC) + timedelta(days=400)])
def test_without_a_credible_time_a_message_is_from_now(at: datetime | None) -> None:
    """A time in the future is ignored, not an error."""
    before = datetime.now(UTC).replace(microsecond=0)

    output = filter_messages({"messages": SAID[:1]}, runtime(at=at))

    assert before <= datetime.fromisoformat(output["turns"][0].at) <= datetime.now(UTC)


def test_words_of_another_speaker_alone_teach_nothing() -> None:
    """Her friend's home is not where Ada lives."""
    output = filter_messages({"messages": [HumanMessage("I live in Rome.", name="Bea")]}, runtime())

    assert [each.speaker for each in output["turns"]] == ["Bea"]
    assert output["outcome"] == "nothing_new"


@pytest.mark.parametrize("name", ["ada", "Ada", "Countess Lovelace", "user"])
def test_messages_under_a_name_of_the_user_are_her_own(name: str) -> None:
    """Her id and her known names, in any case, and the name of the role."""
    output = filter_messages(
        {"messages": [HumanMessage("I live in Oslo.", name=name)]}, runtime(user_names=("Countess Lovelace",))
    )

    assert [each.speaker for each in output["turns"]] == [""]
    assert "outcome" not in output


def test_turns_name_what_is_not_the_users() -> None:
    message = HumanMessage("My sister wrote:\n> I live in Rome.\nI live in Oslo.", id="m1")

    (found,) = filter_messages({"messages": [message]}, runtime())["turns"]

    assert found.own_words == "My sister wrote:\n\nI live in Oslo."


def test_without_own_words_of_the_user_the_run_ends() -> None:
    """A pasted page teaches nothing about who pasted it."""
    message = HumanMessage("> I live in Rome.", id="m1")

    assert filter_messages({"messages": [message]}, runtime())["outcome"] == "nothing_new"
