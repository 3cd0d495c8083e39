"""memgraph status: what learns, what finds, in which storage, and what would make it better."""

from __future__ import annotations

import time

from memgraph.background import open_outbox
from memgraph.cli.command import CommandContext
from memgraph.config import checks_folder, choose_model, describe_finding, make_chat_model

BY_RULES = "the rules alone"
BETTER = "run `memgraph setup` to choose a chat model: it learns more than the built-in one"


def status(ctx: CommandContext) -> None:
    """Show what learns, what finds, in which storage, and what would make it better.

    memgraph status
    """
    choice, settings = choose_model(ctx.settings), ctx.settings
    with open_outbox(settings.outbox, storage=ctx.storage) as outbox:
        waiting = len(outbox.for_storage(ctx.storage.name).pending(now=time.time())) if outbox.may_have_jobs() else 0
    better, finding = [BETTER] if choice.is_fallback else [], describe_finding(settings)
    document = {
        "learning": choice.name,
        "learning_reason": choice.reason,
        "checking": checked_by(ctx),
        "finding": finding,
        "keeping": ctx.storage.name,
        "waiting": waiting,
        "better": better,
    }
    line = ctx.output.line
    line(f"Learning: {document['learning']} ({document['learning_reason']})")
    line(f"Checking: {document['checking']}")
    line(f"Finding:  {document['finding']}")
    line(f"Keeping:  {document['keeping']}")
    line(f"Waiting:  {waiting} {'conversation' if waiting == 1 else 'conversations'} to learn from")
    for advice in better:
        line(f"Better:   {advice}", "dim")
    ctx.output.result(document)


def checked_by(ctx: CommandContext) -> str:
    """Return what decides whether a claim follows from the user's words, and since when that is known."""
    from memgraph.llm.checkers import Checkers

    if ctx.settings.policy.verify == "off":
        return f"{BY_RULES} (verify: off)"
    checkers = Checkers(checks_folder(ctx.settings, ctx.storage.name))
    if choose_model(ctx.settings).is_fallback or (model := make_chat_model(ctx.settings)) is None:
        return f"{BY_RULES} (the built-in model does not check)"
    if (probe := checkers.probe(model)) is None:
        return f"{BY_RULES}, until the model was probed by an update that adds something"
    found = "the model, which passed its probe" if probe.passed else f"{BY_RULES}: the model failed its probe"
    return f"{found} on {probe.at}"
