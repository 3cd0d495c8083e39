"""build_prompt: render the prompt for the next batch of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from langgraph.runtime import Runtime

from memgraph.analysis.sentences import sentences
from memgraph.analysis.tokens import count_tokens
from memgraph.context import RunContext
from memgraph.langgraph_adapter import emit_progress
from memgraph.models import Turn
from memgraph.policy import Policy
from memgraph.prompts.update_prompt import last_part, update_prompt
from memgraph.rules.watermark import first_batch, progress_id, progress_of, unlearned_turns
from memgraph.state import BuildPromptInput, Prompted

_MAX_CHARS_PER_TOKEN = 16  # of one turn, more characters than these are not even looked at in one pass


def build_prompt(state: BuildPromptInput, runtime: Runtime[RunContext]) -> Prompted:
    """Render the prompt for as many of the pending turns as one pass takes, with earlier turns as context."""
    policy = runtime.context.policy
    turns, memory = state["turns"], state["memory"]
    watermark = memory.threads.get(state["origin"].thread)
    pending = [(turn, progress_of(turn.id, watermark)) for turn in unlearned_turns(turns, watermark)]
    parts = [part for turn, learned_chars in pending for part in _split_turn(turn, learned_chars, policy)]
    batch = _fit_batch(parts, policy)[: state.get("batch_limit")]
    parts_by_id: dict[str, list[TurnPart]] = {}
    for part in batch:
        parts_by_id.setdefault(part.turn.id, []).append(part)
    prompt = update_prompt(
        memory,
        _with_context(turns, parts_by_id, policy),
        frozenset(parts_by_id),
        state["signals"],
        policy=policy,
        signals=runtime.context.signals,
        slots=runtime.context.slots,
        now=datetime.now(UTC),
        timezone=runtime.context.timezone,
        instructions=runtime.context.prompt,
    )
    last_parts = [shown[-1] for shown in parts_by_id.values()]
    message_ids = tuple(part.message_id for part in last_parts)
    completed = sum(part.is_last for part in last_parts)
    emit_progress(runtime, "build_prompt", turns=len(last_parts), left=state["pending_turns"] - completed)
    shown = {turn.id: turn for turn in turns if turn.id in prompt.turn_ids and len(turn.text) > policy.max_turn_chars}
    checked = {name: _checked_part(turn, parts_by_id.get(name, ()), policy) for name, turn in shown.items()}
    return {"prompt": prompt.model_copy(update={"parts": checked}), "batch": message_ids}


def count_passes(turns: Sequence[Turn], policy: Policy) -> int:
    """Return in how many passes *turns* are learned, if `max_calls` is no limit: each calls the model at least once."""
    parts = [part for turn in turns for part in _split_turn(turn, 0, policy, stop=len(turn.text))]
    passes = 0
    while parts:
        parts = parts[len(_fit_batch(parts, policy)) :]
        passes += 1
    return passes


class TurnPart(NamedTuple):
    """A turn, or a part of a long one."""

    turn: Turn
    """With the text of the part."""
    end: int
    """Where the part ends in the turn."""
    is_last: bool

    @property
    def message_id(self) -> str:
        """The id that a watermark keeps after learning the turn up to this part."""
        return self.turn.id if self.is_last else progress_id(self.turn.id, self.end)


def _checked_part(turn: Turn, parts: Sequence[TurnPart], policy: Policy) -> tuple[int, int]:
    """Return from which to which character an answer is checked: the parts shown, and `max_turn_chars` before them.

    Words may be quoted across the border, and the end of a long turn is no short answer.
    """
    start, end = (parts[0].end - len(parts[0].turn.text), parts[-1].end) if parts else (len(turn.text),) * 2
    return max(0, start - policy.max_turn_chars), end


def _split_turn(turn: Turn, start: int, policy: Policy, *, stop: int | None = None) -> list[TurnPart]:
    """Return the parts of *turn* after its first *start* characters, each with at most `max_turn_chars` characters.

    Those that begin after *stop* are left out; default: what one pass takes at most.
    """
    text, limit = turn.text, policy.max_turn_chars
    if not start and len(text) <= limit:
        return [TurnPart(turn, len(text), is_last=True)]
    parts: list[TurnPart] = []
    stop = start + policy.batch_tokens * _MAX_CHARS_PER_TOKEN if stop is None else stop
    while True:
        window = text[start : start + limit]
        is_last = start + limit >= len(text)
        part = window if is_last else window[: _break_position(window)]
        start += len(part)
        parts.append(TurnPart(turn.slice(start - len(part), start), start, is_last))
        if is_last or start >= stop:
            return parts


def _break_position(window: str) -> int:
    """Return where to break a text: after a sentence, else after a word, in its second half; else at its end."""
    *complete, _ = sentences(window)
    for position in (sum(map(len, complete)), window.rfind(" ") + 1):
        if position >= len(window) // 2:
            return position
    return len(window)


def _with_context(turns: Sequence[Turn], parts: Mapping[str, Sequence[TurnPart]], policy: Policy) -> list[Turn]:
    """Return the new parts, each turn with the context before it, in the order of the conversation.

    Of a long turn that gives context its last part is shown, which the next turn most often refers to.
    """
    shown = {
        position
        for index, turn in enumerate(turns)
        if turn.id in parts
        for position in range(max(0, index - policy.context_turns), index + 1)
    }
    return [
        turn
        for index in sorted(shown)
        for turn in (
            [part.turn for part in parts.get(turns[index].id, ())] or [last_part(turns[index], policy.max_turn_chars)]
        )
    ]


def _fit_batch(pending: Sequence[TurnPart], policy: Policy) -> Sequence[TurnPart]:
    """Return the first of the pending parts that fit into one pass."""
    turns = [part.turn for part in pending]
    batch = first_batch(turns, policy.batch_tokens, lambda turn: count_tokens(turn.text), _highest_token_count)
    return pending[: len(batch)]


def _highest_token_count(turn: Turn) -> int:
    """Return the number of bytes: a token has at least one."""
    return len(turn.text.encode())
