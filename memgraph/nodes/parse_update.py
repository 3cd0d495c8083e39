"""parse_update: what the model proposed, or what is wrong with its answer."""

from __future__ import annotations

from datetime import UTC, datetime

from memgraph.errors import UnreadableAnswerError
from memgraph.models import timestamp
from memgraph.prompts.parse import UnreadableError, leaked_example_words, parse_answer
from memgraph.state import Answered, Filtered, Loaded, Parsed, Prompted

_ATTEMPTS = 2


class ParseInput(Filtered, Loaded, Prompted, Answered):
    """What parse_update reads."""


def parse_update(state: ParseInput) -> Parsed:
    """Understand the answer. The first that cannot be read is asked for again; the second ends the run."""
    try:
        changes = parse_answer(
            state["response"],
            state["memory"],
            at=timestamp(datetime.now(UTC)),
            thread=state["origin"].thread,
            message_ids=state["batch"],
            example_words=leaked_example_words(state["prompt"]),
        )
    except UnreadableError as error:
        if state["attempt"] >= _ATTEMPTS:
            raise UnreadableAnswerError(str(error)) from error
        return {"problem": str(error)}
    return {"changes": changes}
