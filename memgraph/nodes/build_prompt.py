"""build_prompt: render the prompt for the next batch of turns."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.langgraph_adapter import emit_progress
from memgraph.models import Turn
from memgraph.policy import Policy
from memgraph.prompts.update_prompt import shorten, update_prompt
from memgraph.rules.watermark import first_batch, unlearned_turns
from memgraph.state import BuildPromptInput, Prompted
from memgraph.text.tokens import count_tokens


def build_prompt(state: BuildPromptInput, runtime: Runtime[RunContext]) -> Prompted:
    """Render the prompt for as many of the pending turns as one pass takes, with earlier turns as context."""
    policy = runtime.context.policy
    turns, memory = state["turns"], state["memory"]
    pending = unlearned_turns(turns, memory.threads.get(state["origin"].thread))
    batch = _fit_batch(pending, policy)[: state.get("batch_limit")]
    new_ids = frozenset(turn.id for turn in batch)
    prompt = update_prompt(
        memory,
        _with_context(turns, new_ids, policy.context_turns),
        new_ids,
        state["signals"],
        policy=policy,
        signals=runtime.context.signals,
        instructions=runtime.context.prompt,
    )
    emit_progress(runtime, "build_prompt", turns=len(batch), left=state["pending_turns"] - len(batch))
    return {"prompt": prompt, "batch": tuple(turn.id for turn in batch)}


def _with_context(turns: Sequence[Turn], new_ids: AbstractSet[str], context_turns: int) -> Sequence[Turn]:
    """Return the new turns, each with the *context_turns* before it, in the order of the conversation."""
    shown = {
        position
        for index, turn in enumerate(turns)
        if turn.id in new_ids
        for position in range(max(0, index - context_turns), index + 1)
    }
    return [turns[index] for index in sorted(shown)]


def _fit_batch(pending: Sequence[Turn], policy: Policy) -> Sequence[Turn]:
    """Return the first of the pending turns that fit into one pass."""

    def show(turn: Turn) -> str:
        return shorten(turn.text, policy.max_turn_chars)

    # a token has at least one byte, so a short conversation fits without counting its tokens
    if sum(len(show(turn).encode()) for turn in pending) <= policy.batch_tokens:
        return pending
    return first_batch(pending, policy.batch_tokens, lambda turn: count_tokens(show(turn)))
