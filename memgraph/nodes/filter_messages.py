"""filter_messages: extract the turns to learn from, and resolve the owner of the memory."""

from __future__ import annotations

from datetime import UTC, datetime

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.context.runtime import resolve_origin
from memgraph.models import Turn
from memgraph.report import Report
from memgraph.state import Conversation, Filtered, FilterOutput, MessageCalls, Signalled
from memgraph.text.provenance import with_provenance
from memgraph.text.signals import detect
from memgraph.text.turns import turns_of


def filter_messages(state: Conversation, runtime: Runtime[RunContext]) -> FilterOutput:
    """Keep the turns of user and assistant, with the parts that are not their own words.

    Without own words of the user, or if memory is disabled, the run ends here.
    """
    context = runtime.context
    turns = _turns(state, context) if context.enabled else ()
    has_words = any(turn.is_users and turn.own_words for turn in turns)
    output: FilterOutput = {"turns": turns, "origin": resolve_origin(context), "report": Report()}
    output["message_calls"] = MessageCalls()
    if not has_words:
        output["outcome"] = "nothing_new"
    return output


def _turns(state: Conversation, context: RunContext) -> tuple[Turn, ...]:
    now = datetime.now(UTC)
    turns = turns_of(
        state["messages"],
        acknowledgements=context.signals.acknowledgements,
        at=context.at if context.at and context.at <= now else now,
        user_names=context.user_names,
        now=now,
    )
    return tuple(map(with_provenance, turns))


def detect_signals(state: Filtered, runtime: Runtime[RunContext]) -> Signalled:
    """Detect signals in the last turns of the user."""
    return {"signals": last_signals(state["turns"], runtime.context)}


def last_signals(turns: tuple[Turn, ...], context: RunContext) -> tuple[str, ...]:
    """Return the names of the signals in the last of *turns*."""
    return detect(turns[-context.policy.signal_turns :], context.signals)
