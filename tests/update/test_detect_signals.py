"""Signals in the last turns of the user."""

from __future__ import annotations

import pytest
from update_values import origin, runtime, turn

from memgraph import Policy
from memgraph.analysis.provenance import with_provenance
from memgraph.update.nodes import detect_signals

WRONG = "No, that's wrong."


@pytest.mark.parametrize(("limit", "expected"), [(1, ()), (2, ()), (3, ("correction",)), (6, ("correction",))])
def test_only_the_last_turns_are_read(limit: int, expected: tuple[str, ...]) -> None:
    """An old correction was learned long ago."""
    turns = (turn("m1", WRONG), turn("m2", "Noted.", role="ai"), turn("m3", "It rains here."))

    context = runtime(policy=Policy(signal_turns=limit))

    assert detect_signals({"turns": turns, "origin": origin("s")}, context) == {"signals": expected}


def test_the_assistant_gives_no_signals() -> None:
    """Its own apologies are not corrections of the user."""
    turns = (turn("m1", "It rains here."), turn("m2", WRONG, role="ai"))

    assert detect_signals({"turns": turns, "origin": origin("s")}, runtime()) == {"signals": ()}


def test_a_quotation_gives_no_signals() -> None:
    """Its correction is not the user's."""
    turns = (with_provenance(turn("m1", f'Bob wrote: "{WRONG}" What do you think?')),)

    assert detect_signals({"turns": turns, "origin": origin("s")}, runtime()) == {"signals": ()}
