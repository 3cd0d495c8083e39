"""The memory update as LangGraph Server runs it: langgraph.json points here.

Who is remembered comes with the run, as `context: {"user_id": ...}`; the rest is what `memgraph.yaml` and the
environment say. The server brings its own checkpointer and store, so none is compiled in.
"""

from __future__ import annotations

from memgraph.config import load_settings, make_context
from memgraph.graph import assemble
from memgraph.state import (
    Answered,
    Applied,
    FilterOutput,
    LoadOutput,
    Parsed,
    Prompted,
    Reviewed,
    Saved,
    Scrubbed,
    Signalled,
)


class Stages(  # pyright: ignore[reportIncompatibleVariableOverride] - optional in one stage, required in another
    FilterOutput, Signalled, LoadOutput, Prompted, Answered, Parsed, Applied, Scrubbed, Reviewed, Saved
):
    """Every stage but the messages that came in: with a narrower schema the server would stream nulls."""


graph = assemble(make_context(load_settings()), Stages)
