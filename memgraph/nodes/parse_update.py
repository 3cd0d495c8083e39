"""parse_update: parse the model's answer into a change set."""

from __future__ import annotations

from datetime import UTC, datetime

from memgraph.errors import UnreadableAnswerError
from memgraph.models import timestamp
from memgraph.prompts.parse import UnreadableError, leaked_example_words, parse_answer
from memgraph.state import Parsed, ParseInput

_MAX_ATTEMPTS = 2


def parse_update(state: ParseInput) -> Parsed:
    """Parse the answer. After the first unreadable answer the model is asked again; the second ends the run."""
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
        if state["attempt"] >= _MAX_ATTEMPTS:
            raise UnreadableAnswerError(str(error)) from error
        return {"problem": str(error)}
    return {"changes": changes}
