"""parse_update: parse the model's answer into a change set."""

from __future__ import annotations

from datetime import UTC, datetime

from memgraph.errors import UnreadableAnswerError
from memgraph.models import MemoryUpdate, Refusal, timestamp
from memgraph.prompts.parse import UnreadableError, is_incomplete, leaked_example_words, parse_answer
from memgraph.prompts.update_prompt import read_turns
from memgraph.state import Parsed, ParseInput

_MAX_ATTEMPTS = 2
_CUT_OFF = Refusal(
    item="the rest of the answer",
    reason="the model was cut off at its length limit, even for a single turn; allow it a longer answer",
)


def parse_update(state: ParseInput) -> Parsed:
    """Parse the answer. After the first unreadable answer the model is asked again; the second ends the run.

    If the answer was cut off, what it contains is used, but its turns stay pending: they are shown again in smaller
    batches. A single turn is not shown again, since its answer would be cut off again.
    """
    answer = state["response"]
    shown = sum(turn.is_new for turn in read_turns(state["prompt"].human))
    can_split = is_incomplete(answer) and shown > 1
    at, thread = timestamp(datetime.now(UTC)), state["origin"].thread
    try:
        changes = parse_answer(
            answer,
            state["memory"],
            at=at,
            thread=thread,
            message_ids=() if can_split else state["batch"],
            example_words=leaked_example_words(state["prompt"]),
        )
    except UnreadableError as error:
        if can_split:
            return {"changes": MemoryUpdate(at=at, thread=thread, message_ids=()), "batch_limit": shown // 2}
        if state["attempt"] >= _MAX_ATTEMPTS:
            raise UnreadableAnswerError(str(error)) from error
        return {"problem": str(error)}
    if can_split:
        return {"changes": changes, "batch_limit": shown // 2}
    if is_incomplete(answer):
        changes = changes.model_copy(update={"refused": (*changes.refused, _CUT_OFF)})
    return {"changes": changes}
