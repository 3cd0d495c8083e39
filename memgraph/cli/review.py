"""memgraph review: what was proposed in the background, and what a person says to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph.cli.command import AgentOption, CommandContext, add_command
from memgraph.cli.jobs import OutboxOption, format_time, open_outbox

if TYPE_CHECKING:
    from memgraph.background import Outbox
    from memgraph.background.reviews import PendingReview


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, review)


def review(
    ctx: CommandContext,
    *,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="USER", help="Decide what is of this user.")
    ] = None,
    agent: AgentOption = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="THREAD", help="Only this conversation.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Accept all of it, without asking.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject all of it, without asking.")] = False,
    outbox: OutboxOption = None,
) -> None:
    """Show what waits for review, or, with --user, decide it.

    At a terminal each change is asked about; nothing is learned that was not accepted. What was decided is learned at
    once, without asking the model again.
    """
    _check(user, agent, accept=accept, reject=reject)
    with open_outbox(ctx, outbox) as opened:
        waiting = [each for each in _waiting(ctx, opened) if _is_meant(each, user, agent, thread)]
        left = waiting
        if waiting and user and (accept or reject or _can_ask(ctx)):
            left = _decide(ctx, opened, waiting, "accept" if accept else "reject" if reject else None)
        else:
            _list(ctx, waiting, opened.name)
        ctx.output.result(
            {
                "outbox": opened.name,
                "decided": [_document(each) for each in waiting if each not in left],
                "in_review": [_document(each) for each in left],
            }
        )


def _check(user: str | None, agent: str | None, *, accept: bool, reject: bool) -> None:
    from memgraph.errors import EditError, IdentityError

    if agent and not user:
        raise IdentityError("--agent needs --user: an agent's memory is one of a user's")
    if (accept or reject) and not user:
        raise IdentityError("say whose with --user: nobody decides about everybody at once")
    if accept and reject:
        raise EditError("--accept and --reject exclude each other")


def _can_ask(ctx: CommandContext) -> bool:
    from memgraph.cli.review_view import can_ask

    return can_ask(ctx.output)


def _waiting(ctx: CommandContext, outbox: Outbox) -> Sequence[PendingReview]:
    """What is in review, less what was proposed for memories that were deleted since."""
    from memgraph.background.reviews import discard_deleted, in_review

    discard_deleted(outbox, ctx.storage, now=time.time())
    return in_review(outbox)


def _is_meant(asked: PendingReview, user: str | None, agent: str | None, thread: str | None) -> bool:
    scope = asked.key.scope
    named = agent.lower() if agent else scope.agent_name
    return (
        user in (None, scope.user_id)
        and named == scope.agent_name
        and (thread is None or thread == asked.key.thread_id)
    )


def _list(ctx: CommandContext, waiting: Sequence[PendingReview], name: str) -> None:
    from memgraph.cli.review_view import show_proposal

    if not waiting:
        ctx.output.line(f"Nothing waits for review in {name}.")
        return
    for asked in waiting:
        show_proposal(ctx.output, asked.proposal)
    ctx.output.line()
    ctx.output.line("Decide with --user USER at a terminal, or with --user USER and --accept or --reject.", "dim")


def _decide(
    ctx: CommandContext, outbox: Outbox, waiting: Sequence[PendingReview], verdict: str | None
) -> list[PendingReview]:
    """Ask about each, or say *verdict* to all; return what still waits."""
    from memgraph.cli.review_view import ask_person, show_proposal

    for place, asked in enumerate(waiting):
        if verdict is not None:
            show_proposal(ctx.output, asked.proposal)
        answer = ask_person(ctx.output, asked.proposal) if verdict is None else verdict
        if answer is None:
            ctx.output.line("The rest waits on.")
            return list(waiting[place:])
        _apply(ctx, outbox, asked, answer)
    return []


def _apply(ctx: CommandContext, outbox: Outbox, asked: PendingReview, answer: object) -> None:
    """Keep what was decided, and learn it here, if this is where the memory is and nobody else is at it."""
    from memgraph.background.reviews import decide_review
    from memgraph.errors import NotInReviewError

    try:
        decide_review(outbox, asked.id, answer, now=time.time())
    except NotInReviewError:
        ctx.output.notice(
            "Somebody else has decided this meanwhile, or it is proposed anew; this answer does not count."
        )
        return
    _learn(ctx, outbox, asked)


def _learn(ctx: CommandContext, outbox: Outbox, asked: PendingReview) -> None:
    from memgraph.background.background_invoker import make_runner
    from memgraph.background.drain import apply_decision
    from memgraph.cli.update_view import show_changes
    from memgraph.report import diff

    scope, later = asked.key.scope, "it will be learned by the processes that submit"
    if asked.storage != ctx.storage.name:
        ctx.output.line(f"Decided; the memory is in {asked.storage}, so {later}.")
        return
    before = ctx.storage.load(scope)
    # what is left of the conversation needs a model, which is theirs who submit
    error = apply_decision(make_runner(outbox, ctx.settings, ctx.storage), asked.key, allow_model=False)
    after = ctx.storage.reload(scope)
    if error:
        ctx.output.notice(f"Decided, but it could not be saved yet ({error}): {later}.")
    elif after.revision == before.revision:
        ctx.output.line(f"Decided; {later}.")
    else:
        report = diff(before, after)
        ctx.output.line("Learned:" if report.changed else "Nothing of it was learned.", "bold")
        show_changes(ctx.output, report)


def _document(asked: PendingReview) -> dict[str, Any]:
    scope = asked.key.scope
    return {
        "id": asked.id,
        "user": scope.user_id,
        "agent": scope.agent_name,
        "thread": asked.key.thread_id,
        "proposed_at": format_time(asked.at),
        "proposal": asked.proposal.model_dump(mode="json"),
    }
