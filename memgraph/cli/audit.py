"""memgraph audit: find duplicates, contradictions, secrets and similar problems in a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from memgraph.cli.command import CommandContext
from memgraph.cli.format import pluralize, show_lines, shown_line
from memgraph.cli.output import Output
from memgraph.cli.transfer import read_memory, show_report
from memgraph.errors import EditError
from memgraph.operations import Operations
from memgraph.report import report_changes

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
    file: str | None = None,
    *,
    user: str | None = None,
    agent: str | None = None,
    system: str | None = None,
    of: str | None = None,
    fix: bool = False,
    yes: bool = False,
) -> object:
    """Find problems in a memory.

    Reports duplicates, contradictions, secrets and similar problems in the memory of USER, or in FILE.

        memgraph audit --user ada
        memgraph audit --user ada --fix
        memgraph audit export.json --from mem0

    Args:
        file: A memory document, or an export with --from; - is stdin.
        user: User whose memory is audited.
        system: FILE is an export of this system: deerflow, langmem, mem0.
        of: Select one user of an export with several.
        fix: Show the suggested changes, then apply them.
        yes: With --fix: do not ask for confirmation.
    """
    if (file is None) == (user is None):
        raise EditError("pass either --user or FILE")
    if file is not None and fix:
        raise EditError("--fix cannot change FILE: import it first, then run `memgraph audit --user USER --fix`")
    operations = None if user is None else ctx.existing(user, agent)
    if operations:
        findings, location = operations.audit(), ctx.storage.location(operations.scope)
    else:
        findings, location = _audit_file(ctx, file or "", system, of), file or ""
    _show_findings(ctx.output, findings, location)
    document = {"findings": findings}
    if operations and fix:
        return document | _fix(ctx, operations, [finding for finding in findings if finding.is_fixable], yes=yes)
    if operations and any(finding.is_fixable for finding in findings):
        ctx.output.line("Apply the suggestions with --fix.", "dim")
    return document


def _audit_file(ctx: CommandContext, file: str, system: str | None, of: str | None) -> tuple[Finding, ...]:
    from memgraph.audit import audit

    memory, report = read_memory(file, system, of)
    if report:
        show_report(ctx.output, report)
    return audit(memory, datetime.now(UTC))


def _fix(ctx: CommandContext, operations: Operations, suggested: Sequence[Finding], *, yes: bool) -> dict[str, object]:
    """Apply the suggestions that were shown to the memory as it is stored by then; return what it did."""
    if not suggested:
        ctx.output.line("No finding can be fixed automatically.")
        return {"counts": {}, "backup": None}
    ctx.output.line("Suggested changes:", "bold")
    show_lines(ctx.output, _difference(operations, suggested))
    hint = "--fix asks for confirmation at a terminal; add --yes to apply the changes without asking"
    if not yes:
        ctx.confirm("Apply these changes?", hint, otherwise="Nothing was changed.")
    counts, backup = operations.fix(suggested)
    done = f"{counts['removed']} removed, {counts['rewritten']} rewritten."
    ctx.output.line(f"{done} Backup of the previous memory: {backup}")
    return {"counts": counts, "backup": str(backup)}


def _difference(operations: Operations, suggested: Sequence[Finding]) -> Iterator[str]:
    """Yield what would change, with secrets masked."""
    from memgraph.audit import apply_fixes, mask, rewritten_episodes

    memory = operations.get()
    report = report_changes(memory, apply_fixes(memory, suggested))
    yield from (f"- {removed.fact.id}  {shown_line(mask(removed.fact.content))}" for removed in report.removed)
    for rewritten in report.rewritten:
        yield f"- {rewritten.section}: {shown_line(mask(rewritten.before))}"
        yield f"+ {rewritten.section}: {shown_line(mask(rewritten.after))}"
    for episode in rewritten_episodes(operations.episodes(), suggested):
        yield f"+ {episode.id}: {shown_line(episode.text)}"


def _show_findings(output: Output, findings: tuple[Finding, ...], location: str) -> None:
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
            fix = "remove that part" if finding.rewrite is not None else "review it"
            suggestion = f"remove {', '.join(finding.remove)}" if finding.remove else fix
            output.line(f"{subject}: {finding.what}", indent=2)
            output.line(f"{finding.why}. Suggested: {suggestion}.", "dim", indent=4)
    output.line()
