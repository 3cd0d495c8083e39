"""detect_signals: what the user's way of talking hints at."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.state import Filtered, Signalled
from memgraph.text.signals import detect


def detect_signals(state: Filtered, runtime: Runtime[RunContext]) -> Signalled:
    """Look for corrections, praise, preferences and the like in the last turns."""
    last = state["turns"][-runtime.context.policy.signal_turns :]
    return {"signals": detect(last, runtime.context.signals)}
