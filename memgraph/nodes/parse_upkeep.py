"""parse_upkeep: parse the model's answer to the upkeep into a change set."""

from __future__ import annotations

from datetime import UTC, datetime

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import UnreadableAnswerError
from memgraph.models import timestamp
from memgraph.nodes.parse_update import MAX_ATTEMPTS
from memgraph.prompts.parse import UnreadableError
from memgraph.prompts.parse_upkeep import parse_upkeep_answer
from memgraph.review import item_digests
from memgraph.state import UpkeepParsed, UpkeepParseInput


def parse_upkeep(state: UpkeepParseInput, runtime: Runtime[RunContext]) -> UpkeepParsed:
    """Parse the answer. After the first unreadable answer the model is asked again; the second ends the run.

    Raises:
        UnreadableAnswerError: If the second answer is unreadable too.
    """
    at, thread = timestamp(datetime.now(UTC)), state["origin"].thread
    try:
        changes = parse_upkeep_answer(
            state["response"],
            state["memory"],
            state["candidates"],
            at=at,
            thread=thread,
            sections=runtime.context.policy.section_names,
        )
    except UnreadableError as error:
        if state["attempt"] >= MAX_ATTEMPTS:
            raise UnreadableAnswerError(str(error)) from error
        return {"problem": str(error)}
    return {"changes": changes, "change_digests": item_digests(changes)}
