"""build_upkeep_prompt: render the prompt of the upkeep."""

from __future__ import annotations

from datetime import UTC, datetime

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.prompts.upkeep_prompt import upkeep_prompt
from memgraph.state import UpkeepPrompted, UpkeepPromptInput


def build_upkeep_prompt(state: UpkeepPromptInput, runtime: Runtime[RunContext]) -> UpkeepPrompted:
    """Render the prompt that asks about the candidates."""
    context = runtime.context
    prompt = upkeep_prompt(
        state["memory"],
        state["candidates"],
        policy=context.policy,
        now=datetime.now(UTC),
        timezone=context.timezone,
    )
    return {"prompt": prompt}
