"""A proposal on the screen: what would change, item by item."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memgraph.cli.safe import one_line
from memgraph.cli.screen import Screen
from memgraph.cli.wording import TITLES, counted
from memgraph.review import Proposal, ReviewItem

_STYLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"add": ("+", "green"), "confirm": ("=", ""), "remove": ("-", "red"), "rewrite": ("~", "cyan")}
)


def show_proposal(screen: Screen, proposal: Proposal) -> None:
    """Show all that would change, and what is not kept in any case."""
    say_whose(screen, proposal)
    for item in proposal.items:
        show_item(screen, item)
    show_rest(screen, proposal)


def say_whose(screen: Screen, proposal: Proposal) -> None:
    """Say whose memory would change, and by which conversation."""
    agent = f" with agent {one_line(proposal.agent_name)}" if proposal.agent_name else ""
    thread = f", from {one_line(proposal.thread_id)}" if proposal.thread_id else ""
    screen.line()
    changes = counted(len(proposal.items), "change")
    screen.line(f"{changes} proposed to the memory of {one_line(proposal.user_id)}{agent}{thread}:", "bold")


def show_item(screen: Screen, item: ReviewItem, place: str = "") -> None:
    """Show one change, after its *place* among the others."""
    sign, style = _STYLES[item.kind]
    indent = 2 + len(place)
    screen.line(f"{place}{sign} {_said(item)}", style, indent=2)
    for known in item.replaces:
        screen.line(f"in place of: {one_line(known.content)}", indent=indent + 2)
    if item.reason:
        screen.line(f"because: {one_line(item.reason)}", indent=indent + 2)
    if item.kind == "rewrite" and item.before:
        screen.line(f"in place of: {one_line(item.before)}", indent=indent + 2)


def _said(item: ReviewItem) -> str:
    if item.kind == "rewrite":
        return f"{_title(item)}: {one_line(item.after)}"
    avoid = f" (avoid: {one_line(item.source_error)})" if item.source_error else ""
    again = ", said again" if item.kind == "confirm" else ""
    text = one_line(item.after or item.before)
    return f"[{one_line(item.category or '')} | {item.confidence or 0.0:.2f}] {text}{avoid}{again}"


def _title(item: ReviewItem) -> str:
    return next((title for section, title in TITLES.items() if section == item.id), item.id)


def show_rest(screen: Screen, proposal: Proposal) -> None:
    """Show what nobody is asked about."""
    for known in proposal.evicted:
        screen.line(f"- {one_line(known.content)}, which would go for want of room", "dim", indent=2)
    for refusal in proposal.refused:
        screen.line(f"x {one_line(refusal.what)}, not kept: {one_line(refusal.why)}", "dim", indent=2)
