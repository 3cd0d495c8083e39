"""filter_messages: extract the turns to learn from, and resolve the owner of the memory."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import ConfigError, IdentityError
from memgraph.models import Scope, validate_id
from memgraph.report import Report
from memgraph.state import Conversation, FilterOutput, Origin
from memgraph.text.turns import turns_of


def filter_messages(state: Conversation, runtime: Runtime[RunContext]) -> FilterOutput:
    """Keep the turns of user and assistant. Without a user turn, or if memory is disabled, the run ends here."""
    context = runtime.context
    turns = turns_of(state["messages"], acknowledgements=context.signals.acknowledgements) if context.enabled else ()
    output: FilterOutput = {"turns": turns, "origin": resolve_origin(context), "report": Report()}
    if not any(turn.role == "human" for turn in turns):
        output["outcome"] = "nothing_new"
    return output


def resolve_origin(context: RunContext) -> Origin:
    """Return the owner of the update.

    Raises:
        ConfigError: If the run asks for a review that its graph was not built for.
        IdentityError: If there is no user, or an id is invalid.
    """
    if context.review != "never" and not context.has_review_node:
        raise ConfigError(
            f"this run asks for review={context.review!r}, but its graph has no review node: "
            f"build it with build_graph(review={context.review!r})"
        )
    if not context.user_id:
        raise IdentityError(
            "no user_id: name the user by context=Context(user_id='ada'); 'default' is the memory without a user"
        )
    return Origin(
        scope=Scope(context.user_id, context.agent_name),
        thread_id=validate_id(context.thread_id, "thread_id") if context.thread_id else None,
        storage=context.storage.name,
        review=context.review,
    )
