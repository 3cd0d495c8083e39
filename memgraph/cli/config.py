"""memgraph config and status: the effective settings, and what learns, finds and keeps by them."""

from __future__ import annotations

import time
from collections.abc import Iterable

from memgraph._validation import redact_passwords
from memgraph.background import open_outbox
from memgraph.cli.command import CommandContext
from memgraph.cli.format import pluralize
from memgraph.config import checks_folder, choose_model, describe_finding, make_chat_model

BY_RULES = "the rules alone"
BETTER = "run `memgraph setup` to choose a chat model: it learns more than the built-in one"
OWN_MODEL = "An agent's memory learns with the agent's own model unless model_name is set."


def config(ctx: CommandContext, *, template: bool = False) -> object:
    """Show the effective settings and their sources.

    Passwords and keys are redacted.

        memgraph config
        memgraph config --template > memgraph.yaml

    Args:
        template: Print a memgraph.yaml with every key, explained.
    """
    if template:
        from memgraph.cli.config_template import render_template

        ctx.output.verbatim(render_template())
        return {"template": render_template()}
    settings, file, choice = ctx.settings, ctx.loaded.file, choose_model(ctx.settings)
    if settings.memories or settings.attachments:  # an invalid one is an error, as when an agent starts
        from memgraph.attachments.manager import MemoryManager

        MemoryManager.from_settings(settings)
    values = {name: redact_passwords(value) for name, value in settings.model_dump(mode="json").items()}
    sources = {name: ctx.loaded.sources.get(name, "default") for name in values}
    document = {
        "file": str(file) if file else None,
        "model": choice.name,
        "model_reason": choice.reason,
        "checking": _checked_by(ctx),
        "finding": describe_finding(settings),
        "storage": ctx.storage.name,
        "kept_words": settings.policy.kept_words,
        "settings": {
            name: {"value": value, "from": "the command line" if sources[name] == name else sources[name]}
            for name, value in values.items()
        },
    }
    rows = (
        *(("File", file or "none"), ("Model", f"{choice.name} ({choice.reason})")),
        *([] if settings.model_name else [("", OWN_MODEL)]),
        *(("Checks", document["checking"]), ("Finding", document["finding"])),
        *(("Storage", document["storage"]), ("Kept", document["kept_words"])),
    )
    _show_rows(ctx, rows)
    ctx.output.line()
    for name, value in values.items():
        source, shown = sources[name], "none" if value is None else str(value)
        ctx.output.line(f"{name:<26} {shown:<20} {source}", "" if source == "default" else "green", indent=2)
    return document


def status(ctx: CommandContext) -> object:
    """Show what learns, what finds, in which storage, and what would make it better.

    memgraph status
    """
    choice, settings = choose_model(ctx.settings), ctx.settings
    with open_outbox(settings.outbox, storage=ctx.storage) as outbox:
        waiting = len(outbox.for_storage(ctx.storage.name).pending(now=time.time())) if outbox.may_have_jobs() else 0
    document = {
        "learning": choice.name,
        "learning_reason": choice.reason,
        "checking": _checked_by(ctx),
        "finding": describe_finding(settings),
        "keeping": ctx.storage.name,
        "waiting": waiting,
        "better": [BETTER] if choice.is_fallback else [],
    }
    rows = (
        *(("Learning", f"{choice.name} ({choice.reason})"), ("Checking", document["checking"])),
        *(("Finding", document["finding"]), ("Keeping", document["keeping"])),
        ("Waiting", f"{pluralize(waiting, 'conversation')} to learn from"),
        *([("Better", BETTER)] if choice.is_fallback else []),
    )
    _show_rows(ctx, rows)
    return document


def _show_rows(ctx: CommandContext, rows: Iterable[tuple[str, object]]) -> None:
    rows = [*rows]
    width = max(len(title) for title, _ in rows) + 2
    for title, text in rows:
        ctx.output.line(f"{title and f'{title}:':<{width}}{text}", "dim" if title in {"", "Better"} else "")


def _checked_by(ctx: CommandContext) -> str:
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
