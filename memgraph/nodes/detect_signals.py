"""detect_signals: look for corrections, praise, preferences and the like."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.models import Turn
from memgraph.state import Filtered, Signalled
from memgraph.text.signals import detect


def detect_signals(state: Filtered, runtime: Runtime[RunContext]) -> Signalled:
    """Detect signals in the last turns of the user."""
    return {"signals": last_signals(state["turns"], runtime.context)}


def last_signals(turns: tuple[Turn, ...], context: RunContext) -> tuple[str, ...]:
    """Return the names of the signals in the last of *turns*."""
    return detect(turns[-context.policy.signal_turns :], context.signals)
