"""Formatting for display of facts, scopes, counts, and changes of a memory, one a line.

A change begins with `+` added, `-` removed, `~` rewritten, `=` confirmed, `?` pending or as said, or `x` rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from memgraph.analysis.dates import local_date
from memgraph.analysis.hidden import show_hidden
from memgraph.analysis.normalize import single_line
from memgraph.cli.output import Output
from memgraph.models import AsSaid, EntryChange, Fact, MemoryChanges, MemoryDocument, PendingChange, Scope, SectionName
from memgraph.profile import render_value
from memgraph.report import Report
from memgraph.rules.decide import ended_by
from memgraph.sections import section_title

TITLES: Mapping[SectionName, str] = MappingProxyType(
    {
        "work_context": "Work",
        "personal_context": "Personal",
        "top_of_mind": "Top of mind",
        "recent_months": "Recent months",
        "earlier_context": "Earlier",
        "long_term_background": "Long-term background",
    }
)
"""Display names of the built-in summaries."""


def shown_line(text: str) -> str:
    """Return *text* on one line, its hidden characters visible."""
    return show_hidden(single_line(text))


def title_of(section: SectionName) -> str:
    """Return the display name of a summary."""
    return TITLES.get(section) or shown_line(section_title(section))


def format_fact(fact: Fact) -> str:
    """Format a fact: `[category | 0.95] content`; of a claim that is kept as said also the words."""
    avoid = f" (avoid: {shown_line(fact.source_error)})" if fact.source_error else ""
    said = f' (as said: "{shown_line(fact.words)}")' if isinstance(fact, AsSaid) else ""
    return f"[{shown_line(fact.category)} | {fact.confidence:.2f}] {shown_line(fact.shown)}{avoid}{said}"


def format_dates(fact: Fact, timezone: str) -> str:
    """Format when a fact was said and is true: `(said 2023-05-08, from 2023-05-01 until 2024)`; empty if unknown."""
    said, start, end = local_date(fact.said_at, timezone), shown_line(fact.valid_from), shown_line(fact.valid_until)
    valid = " ".join([*([f"from {start}"] if start else []), *([f"until {end}"] if end else [])])
    parts = [part for part in (f"said {said}" if said else "", valid) if part]
    return f"({', '.join(parts)})" if parts else ""


def format_scope(scope: Scope) -> str:
    """Format the owner of a memory: `ada`, or `ada (agent coder)`."""
    return f"{scope.user_id} (agent {scope.agent_name})" if scope.agent_name else scope.user_id


def pluralize(count: int, noun: str) -> str:
    """Format a count: `1 fact`, `2 summaries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


# -- changes ---------------------------------------------------------------------------------------

STYLES: Mapping[str, str] = MappingProxyType(
    {"+": "green", "-": "red", "~": "cyan", "?": "yellow", "x": "dim", ">": "dim", "*": "dim"}
)
"""Styles by the first character of a line."""


def show_changes(output: Output, changes: Report | MemoryChanges) -> None:
    """Show what an update did, or what differs between two revisions."""
    show_lines(output, report_lines(changes) if isinstance(changes, Report) else _revision_lines(changes))


def show_lines(output: Output, lines: Iterable[str], *, indent: int = 2) -> None:
    """Show lines, each in the style of its first character."""
    for line in lines:
        output.line(line, STYLES.get(line[0], ""), indent=indent)


def report_lines(report: Report) -> Iterator[str]:
    """Yield what an update did."""
    yield from (f"+ {format_fact(fact)}" for fact in report.added)
    yield from (f"= {format_fact(fact)} (confirmed)" for fact in report.confirmed)
    yield from (f"? {format_fact(claim)} (not a plain fact: {shown_line(claim.reason)})" for claim in report.as_said)
    yield from (f"- {format_fact(removed.fact)} (removed: {shown_line(removed.why)})" for removed in report.removed)
    yield from (f"~ {title_of(section.section)}: {shown_line(section.after)}" for section in report.rewritten)
    yield from (shown_line(f"~ {change.field}: {render_value(change.after)}") for change in report.profile)
    yield from (f"x {shown_line(refusal.item)} (not saved: {shown_line(refusal.reason)})" for refusal in report.refused)


def _revision_lines(changes: MemoryChanges) -> Iterator[str]:
    for change in (*changes.facts, *changes.as_said):
        yield from _fact_lines(change)
    for change in changes.sections:
        yield f"- {change.key}: {shown_line(change.before.summary if change.before else '')}"
        yield f"+ {change.key}: {shown_line(change.after.summary if change.after else '')}"
    for item in changes.past:
        if item.after and not item.before:
            yield f"> {shown_line(item.key)} became past ({shown_line(item.after.reason)})"
    for item in changes.quarantine:
        yield f"? {shown_line(item.key)} {'pending' if item.before is None else 'pending no more, or changed'}"
    for item in changes.store_items:
        yield f"* {shown_line(item.key)} {'put' if item.after else 'deleted'}"


def _fact_lines(change: EntryChange[Fact] | EntryChange[AsSaid]) -> Iterator[str]:
    """Yield a fact before and after; one that reads as before has other evidence or dates."""
    before, after = (format_fact(fact) if fact else "" for fact in (change.before, change.after))
    key = shown_line(change.key)
    if change.after and before == after:
        yield f"~ {key}  {after}, which rests on {pluralize(len(change.after.evidence), 'quote')}"
        return
    yield from ([f"- {key}  {before}"] if before else [])
    yield from ([f"+ {key}  {after}"] if after else [])


def pending_lines(change: PendingChange, memory: MemoryDocument) -> Iterator[str]:
    """Yield what a pending change would add, remove and rewrite in *memory*."""
    yield from (f"+ {format_fact(fact)}" for fact in change.facts)
    ended = ended_by(memory, change)
    for fact_id in change.replaced:
        known = memory.fact(fact_id)
        text = shown_line(known.content if known else fact_id)
        yield f"= {text} (stays: a person wrote it)" if known and fact_id not in ended else f"- {text}"
    values = {name: "" if value is None else render_value(value) for name, value in change.profile.items()}
    yield from (f"~ {shown_line(name)}: {shown_line(text)}" for name, text in {**change.summaries, **values}.items())
