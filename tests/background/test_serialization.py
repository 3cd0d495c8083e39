"""The JSON in which messages wait, and the times of their submission."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memgraph import ConversationError
from memgraph.analysis.turns import turns_of
from memgraph.background.serialization import (
    dump_messages,
    dump_submission,
    load_messages,
    load_raw,
    with_submission_time,
)
from memgraph.models import timestamp

NOW = datetime(2026, 5, 1, 10, tzinfo=UTC)
MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def times(text: str) -> list[str]:
    """The times of the turns in stored messages."""
    return [turn.at for turn in turns_of(load_messages(load_raw(text)), now=NOW)]


def test_messages_submitted_with_a_time_have_it_unless_they_have_their_own() -> None:
    """A conversation of 2023 is replayed."""
    said: list[BaseMessage] = [
        HumanMessage("I live in Oslo."),
        AIMessage("Nice!", response_metadata={"created_at": "2023-05-09T00:00:00Z"}),
        HumanMessage("And I row.", additional_kwargs={"timestamp": "2199-01-01"}),
    ]

    text = dump_submission(said, MAY_8, NOW.timestamp())

    assert times(text) == ["2023-05-08T13:56:00Z", "2023-05-09T00:00:00Z", "2023-05-08T13:56:00Z"]


def test_submission_without_a_time_is_stored_as_it_is() -> None:
    """The outbox keeps the time of each submission anyway."""
    said = [HumanMessage("I live in Oslo.", id="m1")]

    assert dump_submission(said, None, NOW.timestamp()) == dump_messages(said)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (None, NOW),
        (MAY_8, MAY_8),
        (datetime(2023, 5, 8, 13, 56), MAY_8),  # noqa: DTZ001 - without a zone it is UTC
        (datetime(2199, 1, 1, tzinfo=UTC), NOW),
    ],
)
def test_submission_has_the_given_time_unless_it_is_in_the_future(at: datetime | None, expected: datetime) -> None:
    (dated,) = with_submission_time([{"type": "human", "content": "Hi"}], at, NOW.timestamp())

    assert dated["additional_kwargs"] == {"submitted_at": timestamp(expected)}


@pytest.mark.parametrize("at", ["soon", True, float("nan"), datetime(1969, 1, 1, tzinfo=UTC)])
def test_what_is_not_a_time_is_an_error_of_the_caller(at: object) -> None:
    with pytest.raises(ConversationError, match="not a time since 1970"):
        dump_submission([HumanMessage("Hi")], at, NOW.timestamp())


def test_time_of_submission_is_not_replaced() -> None:
    """A job that failed runs again hours later."""
    raw = with_submission_time(load_raw(dump_messages([HumanMessage("Hi")])), MAY_8, NOW.timestamp())

    assert with_submission_time(raw, NOW, NOW.timestamp()) == raw


@pytest.mark.parametrize("extra", [{}, {"additional_kwargs": None}, {"additional_kwargs": {"x": 1}}])
def test_messages_of_any_stored_form_get_a_time(extra: dict[str, object]) -> None:
    """Older versions stored the queue, and people edit it; other keys are kept."""
    message = json.loads('{"type": "human", "content": "Hi"}') | extra

    (dated,) = with_submission_time([message], MAY_8, NOW.timestamp())

    assert dated["additional_kwargs"] == {
        **(extra.get("additional_kwargs") or {}),
        "submitted_at": "2023-05-08T13:56:00Z",
    }  # type: ignore[dict-item]


def test_secrets_of_messages_are_masked_wherever_they_are() -> None:
    """In blocks, tool calls and metadata, but ids and times stay as they are."""
    said = [
        HumanMessage(
            [{"type": "text", "text": "My wifi password is Sunshine42."}],
            id="m1",
            additional_kwargs={"draft": "The PIN is 4821.", "created_at": "2023-05-08T13:56:00Z"},
        ),
        AIMessage(
            "", tool_calls=[{"name": "note", "args": {"text": "The PIN is 4821."}, "id": "call_4111111111111111"}]
        ),
    ]

    first, second = load_raw(dump_messages(said))

    assert first["content"] == [{"type": "text", "text": "My wifi password is ***."}]
    assert first["additional_kwargs"] == {"draft": "The PIN is ***.", "created_at": "2023-05-08T13:56:00Z"}
    assert second["tool_calls"][0]["args"] == {"text": "The PIN is ***."}
    assert [first["id"], second["tool_calls"][0]["id"]] == ["m1", "call_4111111111111111"]
