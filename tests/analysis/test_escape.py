"""Text that users wrote, inside a tagged block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.normalize import escape, unescape


@given(st.text())
def test_escaped_text_opens_and_closes_no_tag(text: str) -> None:
    """A user must not be able to write outside the block that quotes them."""
    escaped = escape(text)

    assert "<" not in escaped
    assert ">" not in escaped
    assert unescape(escaped) == text
