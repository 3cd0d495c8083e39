"""build_prompt: render the prompt for the next batch of turns."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.langgraph_adapter import emit_progress
from memgraph.models import Turn
from memgraph.prompts.update_prompt import shorten, update_prompt
from memgraph.rules.watermark import first_batch
from memgraph.state import BuildPromptInput, Prompted
from memgraph.text.tokens import count_tokens


def build_prompt(state: BuildPromptInput, runtime: Runtime[RunContext]) -> Prompted:
    """Render the prompt for as many of the pending turns as one pass takes, with earlier turns as context."""
    policy = runtime.context.policy
    turns = state["turns"]
    known = len(turns) - state["pending_turns"]

    def cost(turn: Turn) -> int:
        return count_tokens(shorten(turn.text, policy.max_turn_chars))

    batch = first_batch(turns[known:], policy.batch_tokens, cost)
    prompt = update_prompt(
        state["memory"],
        turns[max(0, known - policy.context_turns) : known],
        batch,
        state["signals"],
        policy=policy,
        signals=runtime.context.signals,
        instructions=runtime.context.prompt,
    )
    emit_progress(runtime, "build_prompt", turns=len(batch), left=state["pending_turns"] - len(batch))
    return {"prompt": prompt, "batch": tuple(turn.id for turn in batch)}
