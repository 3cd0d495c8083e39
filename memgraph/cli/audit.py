"""memgraph audit: find duplicates, contradictions, secrets and similar problems in a memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext
from memgraph.cli.format import pluralize
from memgraph.cli.output import Output, one_line
from memgraph.cli.transfer import read_memory, show_report
from memgraph.errors import EditError
from memgraph.models import MemoryDocument
from memgraph.operations import Operations
from memgraph.report import diff

if TYPE_CHECKING:
    from memgraph.audit import Finding, Kind

TITLES: Mapping[Kind, str] = MappingProxyType(
    {
        "secret": "Secrets",
        "instruction": "Instructions to the model",
        "about_assistant": "Facts about the assistant",
        "upload": "Uploaded files",
        "duplicate": "Duplicates",
        "contradiction": "Contradictions",
        "stale": "Outdated",
        "meaningless": "No information",
    }
)
"""Display names of the kinds of findings."""


def audit(
    ctx: CommandContext,
    file: Annotated[str | None, typer.Argument(help="A memory document, or an export with --from; - is stdin.")] = None,
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", help="User whose memory is audited.")] = None,
    agent: AgentOption = None,
    system: Annotated[
        str | None, typer.Option("--from", help="FILE is an export of this system: deerflow, langmem, mem0.")
    ] = None,
    of: Annotated[str | None, typer.Option(metavar="ID", help="Select one user of an export with several.")] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Show the suggested changes, then apply them.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --fix: do not ask for confirmation.")] = False,
) -> None:
    """Find problems in a memory.

    Reports duplicates, contradictions, secrets and similar problems in the memory of USER, or in FILE.

        memgraph audit --user ada
        memgraph audit --user ada --fix
        memgraph audit export.json --from mem0
    """
    if (file is None) == (user is None):
        raise EditError("pass either --user or FILE")
    if file is not None and fix:
        raise EditError("--fix cannot change FILE: import it first, then run `memgraph audit --user USER --fix`")
    if user is None:
        _audit_file(ctx, file or "", system, of)
        return
    operations = ctx.existing(user, agent)
    findings = operations.audit()
    show_findings(ctx.output, findings, ctx.storage.location(operations.scope))
    if fix:
        _fix(ctx, operations, findings, yes=yes)
        return
    if any(finding.is_fixable for finding in findings):
        ctx.output.line("Apply the suggestions with --fix.", "dim")
    ctx.output.result({"findings": [finding.model_dump(mode="json") for finding in findings]})


def _audit_file(ctx: CommandContext, file: str, system: str | None, of: str | None) -> None:

    from memgraph.audit import audit

    memory, report = read_memory(file, system, of)
    if report:
        show_report(ctx.output, report)
    findings = audit(memory, datetime.now(UTC))
    show_findings(ctx.output, findings, file)
    ctx.output.result({"findings": [finding.model_dump(mode="json") for finding in findings]})


def _fix(ctx: CommandContext, operations: Operations, findings: tuple[Finding, ...], *, yes: bool) -> None:
    """Apply the suggestions that were shown to the memory as it is stored by then."""
    from memgraph.audit import apply_fixes, rewritten_episodes

    document = {"findings": [finding.model_dump(mode="json") for finding in findings]}
    suggested = [finding for finding in findings if finding.is_fixable]
    if not suggested:
        ctx.output.line("No finding can be fixed automatically.")
        ctx.output.result({**document, "counts": {}, "backup": None})
        return
    memory = operations.get()
    show_difference(ctx.output, memory, apply_fixes(memory, suggested))
    for episode in rewritten_episodes(operations.episodes(), suggested):
        ctx.output.line(f"+ {episode.id}: {one_line(episode.text)}", "green", indent=2)
    hint = "--fix asks for confirmation at a terminal; add --yes to apply the changes without asking"
    if not (yes or ctx.confirm("Apply these changes?", hint)):
        ctx.output.line("Nothing was changed.")
        return
    done = operations.fix(suggested)
    ctx.output.line(
        f"{done.counts['removed']} removed, {done.counts['rewritten']} rewritten. "
        f"Backup of the previous memory: {done.backup}"
    )
    ctx.output.result({**document, "counts": done.counts, "backup": str(done.backup)})


def show_findings(output: Output, findings: tuple[Finding, ...], location: str) -> None:
    """List findings by kind."""
    if not findings:
        output.line(f"No problems found in {location}.")
        return
    output.line(f"{pluralize(len(findings), 'finding')} in {location}", "bold")
    for kind, title in TITLES.items():
        matching = [finding for finding in findings if finding.kind == kind]
        if matching:
            output.line()
            output.line(f"{title} ({len(matching)})", "cyan")
        for finding in matching:
            subject = finding.section or finding.episode or ", ".join(finding.facts)
            output.line(f"{subject}: {finding.what}", indent=2)
            output.line(f"{finding.why}. Suggested: {_describe_suggestion(finding)}.", "dim", indent=4)
    output.line()


def _describe_suggestion(finding: Finding) -> str:
    if finding.remove:
        return f"remove {', '.join(finding.remove)}"
    return "remove that part" if finding.rewrite is not None else "review it"


def show_difference(output: Output, before: MemoryDocument, after: MemoryDocument) -> None:
    """Show what would change, with secrets masked."""
    from memgraph.audit import mask

    report = diff(before, after)
    output.line("Suggested changes:", "bold")
    for removed in report.removed:
        output.line(f"- {removed.fact.id}  {one_line(mask(removed.fact.content))}", "red", indent=2)
    for rewritten in report.rewritten:
        output.line(f"- {rewritten.section}: {one_line(mask(rewritten.before))}", "red", indent=2)
        output.line(f"+ {rewritten.section}: {one_line(mask(rewritten.after))}", "green", indent=2)
