"""memgraph review: list and decide changes that were proposed in the background, and those in quarantine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph.cli.command import CommandContext, add_command
from memgraph.cli.jobs import AgentFilterOption, OutboxOption, format_time, open_outbox

if TYPE_CHECKING:
    from memgraph.background import Outbox
    from memgraph.background.reviews import PendingReview
    from memgraph.models import Quarantined, Scope


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, review)


def review(
    ctx: CommandContext,
    *,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="USER", help="Decide the changes to this user's memory.")
    ] = None,
    agent: AgentFilterOption = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="THREAD", help="Only this conversation.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Accept all changes without asking.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject all changes without asking.")] = False,
    change: Annotated[
        str | None, typer.Option("--change", metavar="ID", help="Decide only this change in quarantine.")
    ] = None,
    outbox: OutboxOption = None,
) -> None:
    """List changes in review and in quarantine, or decide them with --user.

    At a terminal, asks about each change. Only accepted changes are saved, at once and without another model call. In
    quarantine are orders to the assistant, and what exceeds the limits of one update; nothing of it is recalled.

        memgraph review
        memgraph review --user ada
        memgraph review --user ada --accept
        memgraph review --user ada --change change_1a2b3c4d --reject
    """
    from memgraph.cli.quarantine import decide_held, dump_held, held_changes
    from memgraph.errors import EditError

    _check(user, agent, accept=accept, reject=reject)
    verdict = "accept" if accept else "reject" if reject else None
    with open_outbox(ctx, outbox) as opened:
        pending: Sequence[PendingReview] = [] if change else _load_pending(ctx, opened)
        reviews = [review for review in pending if _matches(review, user, agent, thread)]
        held = [] if thread else [pair for pair in held_changes(ctx, user, agent) if change in (None, pair[1].id)]
        if change and not held:
            raise EditError(f"there is no change {change[:80]!r} in quarantine")
        undecided, undecided_held = reviews, held
        if (reviews or held) and user and (verdict or _can_ask(ctx)):
            undecided = _decide(ctx, opened, reviews, verdict)
            undecided_held = held if undecided else decide_held(ctx, held, verdict)
        else:
            _list(ctx, reviews, held, opened.name)
        ctx.output.result(
            {
                "outbox": opened.name,
                "decided": [_dump_review(review) for review in reviews if review not in undecided],
                "in_review": [_dump_review(review) for review in undecided],
                "in_quarantine": [dump_held(*pair) for pair in undecided_held],
            }
        )


def _check(user: str | None, agent: str | None, *, accept: bool, reject: bool) -> None:
    from memgraph.errors import EditError, IdentityError

    if agent and not user:
        raise IdentityError("--agent needs --user: an agent's memory belongs to a user")
    if (accept or reject) and not user:
        raise IdentityError("--accept and --reject need --user")
    if accept and reject:
        raise EditError("pass either --accept or --reject")


def _can_ask(ctx: CommandContext) -> bool:
    from memgraph.cli.review_view import can_ask

    return can_ask(ctx.output)


def _load_pending(ctx: CommandContext, outbox: Outbox) -> Sequence[PendingReview]:
    """Return the reviews in *outbox*, after discarding those of deleted memories."""
    from memgraph.background.reviews import discard_deleted, in_review

    discard_deleted(outbox, ctx.storage, now=time.time())
    return in_review(outbox)


def _matches(review: PendingReview, user: str | None, agent: str | None, thread: str | None) -> bool:
    scope = review.key.scope
    return (
        user in (None, scope.user_id)
        and (not agent or agent.lower() == scope.agent_name)
        and (thread is None or thread == review.key.thread_id)
    )


def _list(
    ctx: CommandContext,
    reviews: Sequence[PendingReview],
    held: Sequence[tuple[Scope, Quarantined]],
    outbox_name: str,
) -> None:
    from memgraph.cli.quarantine import show_held
    from memgraph.cli.review_view import show_proposal

    if not (reviews or held):
        ctx.output.line(f"No changes in review in {outbox_name}.")
        return
    for review in reviews:
        show_proposal(ctx.output, review.proposal)
    for scope, item in held:
        show_held(ctx, scope, item)
    ctx.output.line()
    ctx.output.line("Decide with --user USER at a terminal, or add --accept or --reject.", "dim")


def _decide(
    ctx: CommandContext, outbox: Outbox, reviews: Sequence[PendingReview], verdict: str | None
) -> list[PendingReview]:
    """Apply *verdict* to all reviews, or ask about each; return the undecided ones."""
    from memgraph.cli.review_view import ask_user, show_proposal

    for index, review in enumerate(reviews):
        if verdict is not None:
            show_proposal(ctx.output, review.proposal)
        answer = ask_user(ctx.output, review.proposal) if verdict is None else verdict
        if answer is None:
            ctx.output.line("The other changes stay in review.")
            return list(reviews[index:])
        _apply(ctx, outbox, review, answer)
    return []


def _apply(ctx: CommandContext, outbox: Outbox, review: PendingReview, answer: object) -> None:
    """Store the decision, and apply it in this process if possible."""
    from memgraph.background.reviews import decide_review
    from memgraph.errors import NotInReviewError

    try:
        decide_review(outbox, review.id, answer, now=time.time())
    except NotInReviewError:
        ctx.output.notice("This proposal was decided or replaced in the meantime; your answer was not applied.")
        return
    _save(ctx, outbox, review)


def _save(ctx: CommandContext, outbox: Outbox, review: PendingReview) -> None:
    from memgraph.background.background_invoker import make_runner
    from memgraph.background.drain import apply_decision
    from memgraph.cli.update_view import show_changes
    from memgraph.report import diff

    scope, later = review.key.scope, "a process that submits conversations will save it"
    if review.storage != ctx.storage.name:
        ctx.output.line(f"Decided. The memory is in {review.storage}: {later}.")
        return
    before = ctx.storage.load(scope)
    # The rest of the conversation needs a model, which only the submitting processes have.
    error = apply_decision(
        make_runner(outbox.for_storage(ctx.storage.name), ctx.settings, ctx.storage), review.key, allow_model=False
    )
    after = ctx.storage.reload(scope)
    if error:
        ctx.output.notice(f"Decided, but not saved yet ({error}): {later}.")
    elif after.revision == before.revision:
        ctx.output.line(f"Decided: {later}.")
    else:
        report = diff(before, after)
        ctx.output.line("Learned:" if report.changed else "Nothing was learned.", "bold")
        show_changes(ctx.output, report)


def _dump_review(review: PendingReview) -> dict[str, Any]:
    scope = review.key.scope
    return {
        "id": review.id,
        "user": scope.user_id,
        "agent": scope.agent_name,
        "thread": review.key.thread_id,
        "proposed_at": format_time(review.at),
        "proposal": review.proposal.model_dump(mode="json"),
    }
