"""The limits of what a person writes, and the messages beyond them."""

from __future__ import annotations

import re

import pytest

from memgraph import EditError
from memgraph.rules.validation import (
    validate_category,
    validate_confidence,
    validate_source_error,
    validate_summary,
    validate_text,
)


@pytest.mark.parametrize("text", ["x", "x" * 2_000, "Line\n\ttwo"])
def test_a_text_within_the_limits_is_returned_stripped(text: str) -> None:
    """Both limits are inclusive; line breaks and tabs are allowed."""
    assert validate_text(f" \n{text} ", "a fact") == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a fact has 1 to 2,000 characters, not 0"),
        (" \n ", "a fact has 1 to 2,000 characters, not 0"),
        ("x" * 2_001, "a fact has 1 to 2,000 characters, not 2,001"),
        ("a\x00b", "a fact may not contain hidden characters: a<U+0000>b"),
        ("a\x1bb" + "c" * 100, "a fact may not contain hidden characters: a<U+001B>b" + "c" * 70),
        ("a\ud800", "a fact may not contain hidden characters: a<U+D800>"),
    ],
)
def test_a_text_beyond_the_limits_is_an_error(text: str, message: str) -> None:
    """The message says what is allowed, and quotes at most 80 characters."""
    with pytest.raises(EditError, match=f"^{re.escape(message)}$"):
        validate_text(text, "a fact")


def test_a_summary_of_1000_tokens_is_returned_stripped() -> None:
    """The limit is inclusive."""
    text = "tea " * 999 + "tea"

    assert validate_summary(f" {text}\n") == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "a summary may not be empty; reject it to keep the current one"),
        ("tea " * 1_000 + "tea", "a summary has at most 1,000 tokens, not 1,001"),
        ("a\x07", "a summary may not contain hidden characters: a<U+0007>"),
    ],
)
def test_a_summary_beyond_the_limits_is_an_error(text: str, message: str) -> None:
    """An empty one is not a way to delete a summary in review."""
    with pytest.raises(EditError, match=f"^{re.escape(message)}$"):
        validate_summary(text)


def test_a_category_has_to_exist() -> None:
    """The message lists all, and quotes at most 80 characters."""
    assert validate_category("goal") == "goal"

    with pytest.raises(EditError) as error:
        validate_category("x" * 100)

    assert str(error.value) == (
        f"there is no category '{'x' * 80}'; there are preference, knowledge, context, behavior, goal, correction"
    )


@pytest.mark.parametrize("confidence", [0, 0.5, 1])
def test_a_confidence_within_0_and_1_is_a_float(confidence: float) -> None:
    """Both limits are inclusive."""
    assert validate_confidence(confidence) == confidence
    assert isinstance(validate_confidence(confidence), float)


@pytest.mark.parametrize(
    ("confidence", "shown"), [(-0.01, "-0.01"), (1.01, "1.01"), (float("nan"), "nan"), (float("inf"), "inf")]
)
def test_a_confidence_beyond_0_and_1_is_an_error(confidence: float, shown: str) -> None:
    """NaN compares with nothing, and is refused too."""
    with pytest.raises(EditError, match=f"^confidence is from 0 to 1, not {shown}$"):
        validate_confidence(confidence)


def test_only_a_correction_has_a_source_error() -> None:
    """None is allowed anywhere."""
    assert validate_source_error(None, "goal") is None
    assert validate_source_error(" Used npm. ", "correction") == "Used npm."

    with pytest.raises(EditError, match=r"^only a correction has a source_error, not a fact of category goal$"):
        validate_source_error("Used npm.", "goal")
    with pytest.raises(EditError, match=r"^source_error has 1 to 2,000 characters, not 0$"):
        validate_source_error(" ", "correction")
