"""memgraph audit: find duplicates, contradictions, secrets and similar problems in a memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, add_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph.audit import Finding, Kind
    from memgraph.cli.output import Output
    from memgraph.models import Episode, MemoryDocument, Scope

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


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, audit)


def audit(
    ctx: CommandContext,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A memory document, or an export with --from; - is stdin."),
    ] = None,
    *,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="USER", help="User whose memory is audited.")
    ] = None,
    agent: AgentOption = None,
    system: Annotated[
        str | None,
        typer.Option("--from", metavar="SYSTEM", help="FILE is an export of this system: deerflow, langmem, mem0."),
    ] = None,
    of: Annotated[
        str | None, typer.Option("--of", metavar="ID", help="Select one user of an export with several.")
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Show the suggested changes, then apply them.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --fix: do not ask for confirmation.")] = False,
) -> None:
    """Find problems in a memory.

    Reports duplicates, contradictions, secrets and similar problems in the memory of USER, or in FILE.

        memgraph audit --user ada
        memgraph audit --user ada --fix
        memgraph audit export.json --from mem0
    """
    from memgraph.cli.transfer import read_memory, show_report
    from memgraph.cli.users import load_existing
    from memgraph.errors import EditError
    from memgraph.models import Scope

    if (file is None) == (user is None):
        raise EditError("pass either --user or FILE")
    if file is not None and fix:
        raise EditError("--fix cannot change FILE: import it first, then run `memgraph audit --user USER --fix`")
    if user is None:
        memory, report = read_memory(file or "", system, of)
        if report:
            show_report(ctx.output, report)
        _show(ctx, memory, file or "")
        return
    scope = Scope(user, agent)
    memory = load_existing(ctx.storage, scope)
    episodes = _own_episodes(ctx, scope)
    findings = _show(ctx, memory, ctx.storage.location(scope), episodes, fixing=fix)
    if fix:
        _fix(ctx, scope, memory, episodes, findings, yes=yes)


def _own_episodes(ctx: CommandContext, scope: Scope) -> list[Episode]:
    """Return the episodes of exactly *scope*: an agent cannot change those that all agents share."""
    shared = {episode.id for episode in ctx.storage.episodes(scope.shared)} if scope.agent_name else set[str]()
    return [episode for episode in ctx.storage.episodes(scope) if episode.id not in shared]


def _show(
    ctx: CommandContext,
    memory: MemoryDocument,
    location: str,
    episodes: Sequence[Episode] = (),
    *,
    fixing: bool = False,
) -> tuple[Finding, ...]:
    """Show the findings; unless *fixing* follows, they are the result too."""
    findings = _find(memory, episodes)
    show_findings(ctx.output, findings, location)
    if not fixing:
        if any(finding.is_fixable for finding in findings):
            ctx.output.line("Apply the suggestions with --fix.", "dim")
        ctx.output.result({"findings": [_dump(finding) for finding in findings]})
    return findings


def _find(memory: MemoryDocument, episodes: Sequence[Episode] = ()) -> tuple[Finding, ...]:
    from datetime import UTC, datetime

    from memgraph.audit import audit

    return audit(memory, datetime.now(UTC), episodes)


def _fix(
    ctx: CommandContext,
    scope: Scope,
    memory: MemoryDocument,
    episodes: Sequence[Episode],
    findings: tuple[Finding, ...],
    *,
    yes: bool,
) -> None:
    """Apply the suggestions that were shown to the memory as it is stored by then."""
    from memgraph.audit import apply_fixes, rewritten_episodes
    from memgraph.cli.output import one_line
    from memgraph.editing import update_memory, with_episodes
    from memgraph.report import diff
    from memgraph.storage.backups import new_name

    suggested = [finding for finding in findings if finding.is_fixable]
    if not suggested:
        ctx.output.line("No finding can be fixed automatically.")
        ctx.output.result({"findings": [_dump(finding) for finding in findings], "counts": {}, "backup": None})
        return
    rewritten = rewritten_episodes(episodes, suggested)
    show_difference(ctx.output, memory, apply_fixes(memory, suggested))
    for episode in rewritten:
        ctx.output.line(f"+ {episode.id}: {one_line(episode.text)}", "green", indent=2)
    if not (yes or _confirm(ctx.output)):
        ctx.output.line("Nothing was changed.")
        return
    backup = ctx.backups.save(scope, with_episodes(memory, episodes), new_name())
    shown = {_identify(finding) for finding in suggested}
    saved = update_memory(
        ctx.storage,
        scope,
        lambda now: apply_fixes(now, [finding for finding in _find(now) if _identify(finding) in shown]),
        policy=ctx.settings.policy,
    )
    if rewritten:
        ctx.storage.remove_episodes(scope, [episode.id for episode in rewritten])
        ctx.storage.append_episodes(scope, rewritten, ctx.settings.policy)
    counts = diff(memory, saved).counts
    counts["rewritten"] += len(rewritten)
    ctx.output.line(
        f"{counts['removed']} removed, {counts['rewritten']} rewritten. Backup of the previous memory: {backup}"
    )
    ctx.output.result({"findings": [_dump(finding) for finding in findings], "counts": counts, "backup": str(backup)})


def _identify(finding: Finding) -> tuple[object, ...]:
    """Identify a finding, so that one about text edited since it was shown is not applied."""
    return finding.kind, finding.facts, finding.section, finding.episode, finding.what, finding.remove


def _dump(finding: Finding) -> dict[str, object]:
    return finding.model_dump(mode="json")


def show_findings(output: Output, findings: tuple[Finding, ...], location: str) -> None:
    """List findings by kind."""
    from memgraph.cli.format import pluralize

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
    from memgraph.cli.output import one_line
    from memgraph.report import diff

    report = diff(before, after)
    output.line("Suggested changes:", "bold")
    for removed in report.removed:
        output.line(f"- {removed.fact.id}  {one_line(mask(removed.fact.content))}", "red", indent=2)
    for rewritten in report.rewritten:
        output.line(f"- {rewritten.section}: {one_line(mask(rewritten.before))}", "red", indent=2)
        output.line(f"+ {rewritten.section}: {one_line(mask(rewritten.after))}", "green", indent=2)


def _confirm(output: Output) -> bool:
    """Ask for confirmation; an error without a terminal."""
    import sys

    from memgraph.errors import EditError

    if output.as_json or not sys.stdin.isatty():
        raise EditError("--fix asks for confirmation at a terminal; add --yes to apply the changes without asking")
    return typer.confirm("Apply these changes?")
