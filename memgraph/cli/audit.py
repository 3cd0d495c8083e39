"""memgraph audit: what is wrong with a memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, add_command

if TYPE_CHECKING:
    from memgraph.audit import Finding, Kind
    from memgraph.cli.output import Output
    from memgraph.models import Memory, Scope

TITLES: Mapping[Kind, str] = MappingProxyType(
    {
        "secret": "Secrets",
        "instruction": "Instructions to a model",
        "about_assistant": "About the assistant",
        "upload": "Uploads",
        "duplicate": "Said twice",
        "contradiction": "Contradictions",
        "stale": "Out of date",
        "meaningless": "Saying little",
    }
)
"""What each kind of finding is called."""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, audit)


def audit(
    ctx: CommandContext,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A memory document, or with --from an export; - is stdin."),
    ] = None,
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="USER", help="Whose memory.")] = None,
    agent: AgentOption = None,
    system: Annotated[
        str | None,
        typer.Option("--from", metavar="SYSTEM", help="Whose export FILE is: deerflow, langmem, mem0."),
    ] = None,
    of: Annotated[
        str | None, typer.Option("--of", metavar="ID", help="Whose memories are meant, where an export holds several.")
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Do what is suggested, after showing it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --fix: do not ask.")] = False,
) -> None:
    """Report duplicates, contradictions, secrets and the like in the memory of USER, or in FILE."""
    from memgraph.cli.transfer import read_memory, show_report
    from memgraph.errors import EditError
    from memgraph.models import Scope

    if (file is None) == (user is None):
        raise EditError("say whose memory, by --user, or which FILE; and not both")
    if file is not None and fix:
        raise EditError("FILE is only looked at: import it, then `memgraph audit --user USER --fix`")
    if user is None:
        memory, report = read_memory(file or "", system, of)
        if report:
            show_report(ctx.output, report)
        _look(ctx, memory, file or "")
        return
    scope = Scope(user, agent)
    memory = ctx.storage.load(scope)
    findings = _look(ctx, memory, ctx.storage.location(scope), is_all=not fix)
    if fix:
        _fix(ctx, scope, memory, findings, yes=yes)


def _look(ctx: CommandContext, memory: Memory, place: str, *, is_all: bool = True) -> tuple[Finding, ...]:
    """Show what is wrong; *is_all* where that is all there is to be done."""
    findings = _audited(memory)
    show_findings(ctx.output, findings, place)
    if is_all:
        if any(finding.is_fixable for finding in findings):
            ctx.output.line("--fix does what is suggested, after showing it.", "dim")
        ctx.output.result({"findings": [_document(finding) for finding in findings]})
    return findings


def _audited(memory: Memory) -> tuple[Finding, ...]:
    from datetime import UTC, datetime

    from memgraph.audit import audit

    return audit(memory, datetime.now(UTC))


def _fix(ctx: CommandContext, scope: Scope, memory: Memory, findings: tuple[Finding, ...], *, yes: bool) -> None:
    """Do what is suggested, on what is stored by then, and only what was shown."""
    from memgraph.audit import apply_fixes
    from memgraph.cli.io import backup_place, write_memory
    from memgraph.editing import update_memory
    from memgraph.report import diff

    suggested = [finding for finding in findings if finding.is_fixable]
    if not suggested:
        ctx.output.line("There is nothing that could be done without a person's judgement.")
        ctx.output.result({"findings": [_document(finding) for finding in findings], "counts": {}, "backup": None})
        return
    show_difference(ctx.output, memory, apply_fixes(memory, suggested))
    if not (yes or _agrees(ctx.output)):
        ctx.output.line("Nothing was changed.")
        return
    backup = backup_place(scope)
    write_memory(backup, memory)
    shown = {_identity(finding) for finding in suggested}
    saved = update_memory(
        ctx.storage,
        scope,
        lambda now: apply_fixes(now, [finding for finding in _audited(now) if _identity(finding) in shown]),
    )
    counts = diff(memory, saved).counts
    ctx.output.line(f"{counts['removed']} removed, {counts['rewritten']} rewritten. What was there is in {backup}.")
    ctx.output.result(
        {"findings": [_document(finding) for finding in findings], "counts": counts, "backup": str(backup)}
    )


def _identity(finding: Finding) -> tuple[object, ...]:
    """What makes a finding the one that was shown: an edit meanwhile makes it another."""
    return finding.kind, finding.facts, finding.section, finding.what, finding.remove


def _document(finding: Finding) -> dict[str, object]:
    return finding.model_dump(mode="json")


def show_findings(output: Output, findings: tuple[Finding, ...], place: str) -> None:
    """Say what was found, by kind."""
    from memgraph.cli.format import pluralize

    if not findings:
        output.line(f"Nothing was found in {place}.")
        return
    output.line(f"{pluralize(len(findings), 'finding')} in {place}", "bold")
    for kind, title in TITLES.items():
        mine = [finding for finding in findings if finding.kind == kind]
        if mine:
            output.line()
            output.line(f"{title} ({len(mine)})", "cyan")
        for finding in mine:
            where = finding.section or ", ".join(finding.facts)
            output.line(f"{where}: {finding.what}", indent=2)
            output.line(f"{finding.why}. Suggested: {_suggestion(finding)}.", "dim", indent=4)
    output.line()


def _suggestion(finding: Finding) -> str:
    if finding.remove:
        return f"remove {', '.join(finding.remove)}"
    return "rewrite it without that" if finding.rewrite is not None else "look at it"


def show_difference(output: Output, before: Memory, after: Memory) -> None:
    """Say what would change, secrets masked."""
    from memgraph.audit import mask
    from memgraph.cli.output import one_line
    from memgraph.report import diff

    report = diff(before, after)
    output.line("This would change:", "bold")
    for removed in report.removed:
        output.line(f"- {removed.fact.id}  {one_line(mask(removed.fact.content))}", "red", indent=2)
    for rewritten in report.rewritten:
        output.line(f"- {rewritten.section}: {one_line(mask(rewritten.before))}", "red", indent=2)
        output.line(f"+ {rewritten.section}: {one_line(mask(rewritten.after))}", "green", indent=2)


def _agrees(output: Output) -> bool:
    """Ask; without a terminal nobody agrees."""
    import sys

    from memgraph.errors import EditError

    if output.as_json or not sys.stdin.isatty():
        raise EditError("there is nobody to ask: say --yes to have it done without asking")
    return typer.confirm("Do it?")
