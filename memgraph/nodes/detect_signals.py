"""detect_signals: look for corrections, praise, preferences and the like."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.state import Filtered, Signalled
from memgraph.text.signals import detect


def detect_signals(state: Filtered, runtime: Runtime[RunContext]) -> Signalled:
    """Detect signals in the last turns of the user."""
    last = state["turns"][-runtime.context.policy.signal_turns :]
    return {"signals": detect(last, runtime.context.signals)}
