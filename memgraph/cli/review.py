"""memgraph review: list and decide pending changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_scope, pending_lines, pluralize, show_lines, shown_line
from memgraph.cli.input import prompt_edit, prompt_line
from memgraph.errors import AlreadyDecidedError, EditError, IdentityError, StorageError
from memgraph.models import MemoryDocument, PendingChange, Scope

if TYPE_CHECKING:
    from memgraph.review import PendingVerdict

    Waiting = tuple[Scope, PendingChange]

_PROMPT = "accept, reject, edit, quit? [a/r/e/q] "
_HELP = (
    "a: accept, k: accept further facts of its category too, r: reject, e: edit and accept, "
    "aa: accept all that follow, rr: reject them, q: quit"
)
_CHOICES = {
    **dict.fromkeys(("a", "accept"), "accept"),
    **dict.fromkeys(("k", "always"), "always"),
    **dict.fromkeys(("r", "reject"), "reject"),
    **dict.fromkeys(("e", "edit"), "edit"),
    **dict.fromkeys(("q", "quit"), "quit"),
    "aa": "accept all",
    "rr": "reject all",
}
_VERDICTS: dict[str, PendingVerdict] = {"always": "always", "reject": "reject"}
"""What an answer means; any other accepts."""


def review(
    ctx: CommandContext,
    *,
    user: str | None = None,
    agent: str | None = None,
    thread: str | None = None,
    change: str | None = None,
    accept: bool = False,
    always: bool = False,
    reject: bool = False,
    ask_again: str | None = None,
) -> object:
    """List pending changes, or decide them with --user.

    At a terminal, asks about each change. Accepted changes are saved at once, without a model call. Pending are what
    the setting review asks for, orders to the assistant, and what exceeds the limits of one update; none is recalled.

        memgraph review
        memgraph review --user ada
        memgraph review --user ada --accept
        memgraph review --user ada --change change_1a2b3c4d --reject
        memgraph review --user ada --change change_1a2b3c4d --always
        memgraph review --user ada --ask-again preference

    Args:
        user: Decide the changes to this user's memory.
        agent: Only changes to the memory of this agent.
        thread: Only changes from this conversation.
        change: Only this change.
        accept: Accept all changes without asking.
        always: Accept them, and further new facts of their categories without a review.
        reject: Reject all changes without asking.
        ask_again: Let new facts of this category wait for a review again.
    """
    if agent and not user:
        raise IdentityError("--agent needs --user: an agent's memory belongs to a user")
    choices = {"accept": accept, "always": always, "reject": reject, "ask again": ask_again is not None}
    verdicts = [name for name, given in choices.items() if given]
    if verdicts and not user:
        raise IdentityError("--accept, --always, --reject and --ask-again need --user")
    if len(verdicts) > 1:
        raise EditError("pass only one of --accept, --always and --reject, or --ask-again")
    operations = ctx.existing(user, agent) if user else None
    if operations and ask_again is not None:
        kinds = operations.ask_again(ask_again)
        ctx.output.line(f"New facts of {shown_line(ask_again)} wait for a review again.")
        return {"kinds": kinds}
    waiting = [
        (scope, item)
        for scope, item in _load_pending(ctx, user, agent)
        if change in (None, item.id) and thread in (None, item.conversation)
    ]
    if change and not waiting:
        raise AlreadyDecidedError(change)
    undecided, verdict = waiting, next(iter(verdicts), None)
    if waiting and user and (verdict or ctx.can_ask):
        undecided = decide(ctx, waiting, verdict)
    elif waiting:
        for scope, item in waiting:
            _show(ctx, scope, item)
        ctx.output.line()
        ctx.output.line("Decide with --user USER at a terminal, or add --accept, --always or --reject.", "dim")
    else:
        ctx.output.line("No pending changes.")
    kinds = operations.accepted_kinds() if operations else ()
    for kind in kinds:
        ctx.output.line(f"Always accepted: new facts of {shown_line(kind.category)} (undo with --ask-again)", "dim")
    decided = [pair for pair in waiting if pair not in undecided]
    return {"decided": [_dump(*pair) for pair in decided], "pending": [_dump(*pair) for pair in undecided]}


def decide(ctx: CommandContext, waiting: Sequence[Waiting], verdict: str | None = None) -> list[Waiting]:
    """Apply *verdict* to all changes, or ask about each; return the undecided ones.

    Raises:
        EditError: If *verdict* is not possible for some of them; the others are decided.
    """
    left: list[Waiting] = []
    problem, is_given = None, verdict is not None
    for index, (scope, item) in enumerate(waiting):
        _show(ctx, scope, item)
        answer, text = (verdict, None) if verdict else _ask(ctx, item)
        if answer == "quit":
            return [*left, *waiting[index:]]
        if answer in ("accept all", "reject all"):
            verdict = answer = answer.removesuffix(" all")
        try:
            _apply(ctx, scope, item, _VERDICTS.get(answer, "accept"), text)
        except EditError as error:
            ctx.output.notice(f"{item.id} stays pending: {error}")
            left, problem = [*left, (scope, item)], error
    if problem and is_given:
        raise problem
    return left


def decide_new(ctx: CommandContext, scope: Scope, known: MemoryDocument) -> None:
    """Ask about the changes that are pending since *known* at a terminal; else print how to decide them."""
    new = [(scope, item) for item in ctx.storage.reload(scope).pending if item not in known.pending]
    if new and ctx.can_ask:
        new = decide(ctx, new)
    if new:
        count = pluralize(len(new), "change")
        ctx.output.line(f"{count} pending; decide with: memgraph review --user {shown_line(scope.user_id)}")


def _load_pending(ctx: CommandContext, user: str | None, agent: str | None) -> Iterator[Waiting]:
    """Yield the pending changes with their memories, of all users or of one, with an agent or without."""
    for scope in ctx.storage.scopes():
        if user in (None, scope.user_id) and (not agent or agent.lower() == scope.agent_name):
            try:
                yield from ((scope, item) for item in ctx.storage.load(scope).pending)
            except StorageError as error:  # the changes of others can be decided
                ctx.output.notice(f"The changes of {format_scope(scope)} cannot be read: {shown_line(str(error))}")


def _show(ctx: CommandContext, scope: Scope, item: PendingChange) -> None:
    ctx.output.line()
    ctx.output.line(f"{item.id} pending for {format_scope(scope)}: {shown_line(item.reason)}", "bold")
    show_lines(ctx.output, pending_lines(item, ctx.storage.load(scope)))


def _ask(ctx: CommandContext, item: PendingChange) -> tuple[str, str | None]:
    """Ask until the answer is valid, and return it with the edited text; the end of input quits."""
    while True:
        line = prompt_line(_PROMPT)
        choice = "quit" if line is None else _CHOICES.get(line.strip().lower())
        if choice == "edit" and item.text is None:
            ctx.output.notice("This change has no single text to edit: accept or reject it.")
        elif choice == "always" and item.category is None:
            ctx.output.notice("Only new facts that wait for a review can always be accepted: accept or reject it.")
        elif choice == "edit":
            return choice, prompt_edit("text", item.text or "") or None
        elif choice:
            return choice, None
        else:
            ctx.output.line(_HELP, "dim")


def _apply(ctx: CommandContext, scope: Scope, item: PendingChange, verdict: PendingVerdict, text: str | None) -> None:
    try:
        ctx.operations(scope.user_id, scope.agent_name).decide(item.id, verdict, text=text)
    except AlreadyDecidedError:
        ctx.output.notice("This change was decided in the meantime; your answer was not applied.")
        return
    added = f": {pluralize(len(item.facts), 'fact')}" if item.facts and verdict != "reject" else ""
    ctx.output.line(f"{'Rejected' if verdict == 'reject' else 'Accepted'}{added}.")


def _dump(scope: Scope, item: PendingChange) -> dict[str, Any]:
    return {"user": scope.user_id, "agent": scope.agent_name, "change": item}
