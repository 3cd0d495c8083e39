"""Spans that an application marks in its messages."""

from __future__ import annotations

from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage

from memgraph.analysis.marks import SPANS_KEY, change_marked
from memgraph.analysis.message import read_messages
from memgraph.analysis.secrets import mask
from memgraph.analysis.turns import turns_of
from memgraph.models import Span

RELAYED = {"start": 0, "end": 8, "origin": "relayed"}


def marked(content: Any, *spans: object) -> HumanMessage:
    return HumanMessage(content, id="m1", additional_kwargs={"memgraph_spans": list(spans)} if spans else {})


def own(message: HumanMessage) -> str:
    return turns_of([message])[0].own_words


def test_an_application_marks_what_it_added() -> None:
    assert own(marked("CONTEXT. I live in Porto.", RELAYED)) == "I live in Porto."


def test_a_block_of_content_names_its_origin() -> None:
    context = {"type": "text", "text": "I live in Rome.", "memgraph_origin": "relayed"}

    assert own(marked([context, {"type": "text", "text": "I live in Porto."}])) == "I live in Porto."


def test_marks_follow_the_text_when_something_is_removed_before_it() -> None:
    """Injected memory, uploads and hidden characters are not part of a turn."""
    text = "<memory>x</memory>\u200b Yes. CONTEXT. I live in Porto."
    start = text.index("CONTEXT")

    assert own(marked(text, {**RELAYED, "start": start, "end": start + 8})) == "Yes.\n\nI live in Porto."


def test_marked_words_that_the_user_wrote_before_are_marked_in_their_place() -> None:
    assert own(marked("Porto, Porto", {**RELAYED, "start": 7, "end": 12})) == "Porto,"


def test_marked_text_that_changed_takes_the_rest_with_it() -> None:
    """What is marked never becomes the user's words."""
    text = "Yes. a<memory>b</memory>c I live in Rome."

    assert own(marked(text, {**RELAYED, "start": 5, "end": 15})) == ""


@pytest.mark.parametrize(
    "span", ["x", None, 3, {}, {**RELAYED, "start": -1}, {**RELAYED, "origin": "x"}, {**RELAYED, "more": 1}]
)
def test_an_invalid_mark_is_ignored_and_logged(span: object, caplog: pytest.LogCaptureFixture) -> None:
    """A turn is never lost by it, and no text is in the log."""
    assert own(marked("I live in Porto.", span)) == "I live in Porto."
    assert "memgraph_spans of a message is ignored" in caplog.text
    assert "Porto" not in caplog.text


def test_a_valid_mark_beside_an_invalid_one_counts() -> None:
    assert own(marked("CONTEXT. I live in Porto.", "x", RELAYED)) == "I live in Porto."


def test_an_unknown_origin_of_a_block_is_ignored_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    block = {"type": "text", "text": "I live in Porto.", "memgraph_origin": "moon"}

    assert own(marked([block])) == "I live in Porto."
    assert "memgraph_origin of a message is ignored" in caplog.text


def test_a_mark_beyond_the_end_ends_with_the_text() -> None:
    (message,) = read_messages([marked("a b", {"start": 2, "end": 99, "origin": "quoted"})])

    assert message
    assert message.spans == (Span(start=2, end=3, origin="quoted"),)


def test_marks_move_with_the_text_when_secrets_are_masked() -> None:
    """A submission is masked before it is stored, and read later."""
    content = "PIN is 4821. The page: password is x9y8z7w6. I live in Oslo."
    marks = {SPANS_KEY: [{"start": 13, "end": 44, "origin": "relayed"}], "other": 1}

    changed, additional = change_marked(content, marks, mask)

    assert changed == "PIN is ***. The page: password is ***. I live in Oslo."
    (span,) = cast("list[dict[str, int]]", additional[SPANS_KEY])
    assert changed[span["start"] : span["end"]] == "The page: password is ***."
    assert additional["other"] == 1
