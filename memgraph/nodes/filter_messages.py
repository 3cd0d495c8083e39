"""filter_messages: what people said, and whose memory it is for."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import ConfigError, IdentityError
from memgraph.models import Scope, validate_id
from memgraph.report import Report
from memgraph.state import Conversation, FilterOutput, Origin
from memgraph.text.turns import turns_of


def filter_messages(state: Conversation, runtime: Runtime[RunContext]) -> FilterOutput:
    """Keep what people said, and note whose memory it is for; a run without any, or switched off, ends here."""
    given = runtime.context
    begun: FilterOutput = {
        "turns": turns_of(state["messages"], acknowledgements=given.signals.acknowledgements) if given.enabled else (),
        "origin": resolve_origin(given),
        "report": Report(),
    }
    if not any(turn.role == "human" for turn in begun["turns"]):
        begun["outcome"] = "nothing_new"
    return begun


def resolve_origin(context: RunContext) -> Origin:
    """Whose update this is.

    Raises:
        ConfigError: If the run asks for a review that its graph was not built for.
        IdentityError: If there is no user, or an id may not be used.
    """
    if context.review != "never" and not context.has_review_node:
        raise ConfigError(
            f"this run asks for review={context.review!r}, but its graph has no node that asks: "
            f"build it with build_graph(review={context.review!r})"
        )
    if not context.user_id:
        raise IdentityError(
            "no user_id: say whose memory this is, as in context=Context(user_id='ada'); "
            "'default' is the memory without a user"
        )
    return Origin(
        scope=Scope(context.user_id, context.agent_name),
        thread_id=validate_id(context.thread_id, "thread_id") if context.thread_id else None,
        storage=context.storage.name,
        review=context.review,
    )
