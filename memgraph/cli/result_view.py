"""What an update changed: for people, and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memgraph.cli.format import TITLES, fact_document, fact_line, pluralize
from memgraph.cli.output import Output, one_line
from memgraph.report import Report, Usage

if TYPE_CHECKING:
    from memgraph.context import Context
    from memgraph.models import Memory

OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        "learned": "Learned:",
        "nothing_new": "Nothing new: all of this was learned before, or none of it was worth keeping.",
        "superseded": "Nothing to do: another run learned from this conversation meanwhile.",
        "forgotten": "Nothing was saved: the memory was deleted meanwhile.",
        "rejected": "Nothing was learned: the changes were refused in review.",
    }
)
"""How a run ended, in plain words."""


def show_result(screen: Output, final: Mapping[str, Any], storage: str) -> None:
    """Say what changed, what it cost, and where it is."""
    report: Report = final.get("report") or Report()
    saved: Memory | None = final.get("saved")
    screen.line()
    screen.line(OUTCOMES[final["outcome"]], "bold")
    show_changes(screen, report)
    screen.line()
    screen.line(_cost(report.usage))
    if saved:
        screen.line(f"Stored in {storage}, revision {saved.revision}: {pluralize(len(saved.facts), 'fact')}.")
    else:
        screen.line(f"Nothing was written to {storage}.")


def show_changes(screen: Output, report: Report) -> None:
    """Say what changed, line by line."""
    for fact in report.added:
        screen.line(f"+ {fact_line(fact)}", "green", indent=2)
    for fact in report.confirmed:
        screen.line(f"= {fact_line(fact)}, said again", indent=2)
    for gone in report.removed:
        screen.line(f"- {fact_line(gone.fact)}, removed: {one_line(gone.why)}", "red", indent=2)
    for section in report.rewritten:
        screen.line(f"~ {TITLES[section.section]}: {one_line(section.after)}", "cyan", indent=2)
    for refusal in report.refused:
        screen.line(f"x {one_line(refusal.item)}, not kept: {one_line(refusal.reason)}", "dim", indent=2)


def _cost(usage: Usage) -> str:
    if not usage.calls:
        return "The model was not called."
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} tokens out"
    return f"{pluralize(usage.calls, 'model call')}, {tokens if usage.input_tokens else 'tokens not counted'}."


def result_document(
    final: Mapping[str, Any], context: Context, storage: str, nodes: list[dict[str, Any]]
) -> dict[str, Any]:
    """The same as a JSON document."""
    report: Report = final.get("report") or Report()
    saved: Memory | None = final.get("saved")
    return {
        "outcome": final["outcome"],
        "user_id": context.user_id,
        "agent_name": context.agent_name,
        "thread_id": context.thread_id,
        "storage": storage,
        "revision": saved.revision if saved else None,
        "counts": report.counts,
        "added": [fact_document(fact) for fact in report.added],
        "confirmed": [fact_document(fact) for fact in report.confirmed],
        "removed": [{"fact": fact_document(gone.fact), "why": gone.why} for gone in report.removed],
        "rewritten": [section.model_dump() for section in report.rewritten],
        "refused": [refusal.model_dump() for refusal in report.refused],
        "usage": report.usage.model_dump(),
        "nodes": nodes,
    }
