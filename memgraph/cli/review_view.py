"""Shows a proposal and asks the user about each change."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from memgraph.cli.format import pluralize, title_of
from memgraph.cli.output import Output, one_line
from memgraph.cli.prompts import prompt_edit, prompt_line
from memgraph.errors import EditError
from memgraph.review import Proposal, ReviewItem, Verdict, parse_decision

_STYLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "add": ("+", "green"),
        "confirm": ("=", ""),
        "remove": ("-", "red"),
        "merge": ("=", ""),
        "rewrite": ("~", "cyan"),
        "profile": ("~", "cyan"),
    }
)


def show_proposal(output: Output, proposal: Proposal) -> None:
    """Show all proposed changes, and those rejected without review."""
    show_header(output, proposal)
    for item in proposal.items:
        show_item(output, item)
    show_rejected(output, proposal)


def show_header(output: Output, proposal: Proposal) -> None:
    """Show whose memory would change, and the source conversation."""
    agent = f" (agent {one_line(proposal.agent_name)})" if proposal.agent_name else ""
    thread = f", from conversation {one_line(proposal.thread_id)}" if proposal.thread_id else ""
    output.line()
    changes = pluralize(len(proposal.items), "proposed change")
    output.line(f"{changes} to the memory of {one_line(proposal.user_id)}{agent}{thread}:", "bold")


def show_item(output: Output, item: ReviewItem, position: str = "") -> None:
    """Show one change, with its *position* among the others as a prefix."""
    sign, style = _STYLES[item.kind]
    indent = 2 + len(position)
    output.line(f"{position}{sign} {_describe(item)}", style, indent=2)
    for replaced in item.replaces:
        output.line(f"replaces: {one_line(replaced.content)}", indent=indent + 2)
    if item.reason:
        output.line(f"reason: {one_line(item.reason)}", indent=indent + 2)
    if item.kind in ("rewrite", "profile") and item.before and item.after:
        output.line(f"replaces: {one_line(item.before)}", indent=indent + 2)


def _describe(item: ReviewItem) -> str:
    if item.kind == "rewrite":
        return f"{_format_title(item)}: {one_line(item.after)}"
    if item.kind == "profile":
        return one_line(item.after or item.before)
    avoid = f" (avoid: {one_line(item.source_error)})" if item.source_error else ""
    suffix = {"confirm": " (confirmed)", "merge": " (merged)"}.get(item.kind, "")
    text = one_line(item.after or item.before)
    return f"[{one_line(item.category or '')} | {item.confidence or 0.0:.2f}] {text}{avoid}{suffix}"


def _format_title(item: ReviewItem) -> str:
    return title_of(item.id)


def show_rejected(output: Output, proposal: Proposal) -> None:
    """Show changes that are not up for review: evicted facts and rejected proposals."""
    for evicted in proposal.evicted:
        output.line(f"- {one_line(evicted.content)} (evicted: the memory is full)", "dim", indent=2)
    for refusal in proposal.refused:
        output.line(f"x {one_line(refusal.item)} (not saved: {one_line(refusal.reason)})", "dim", indent=2)


Choice = Literal["accept", "reject", "edit", "accept all", "reject all", "quit"]
Answer = Verdict | Mapping[str, object]

PROMPT = "accept, reject, edit, quit? [a/r/e/q, ? for more] "
HELP = (
    "a: accept, r: reject, e: edit, aa: accept this and all that follow, rr: reject this and all that follow, "
    "q: quit without deciding any of these changes"
)
CHOICES: Mapping[str, Choice] = MappingProxyType(
    {
        "a": "accept",
        "accept": "accept",
        "r": "reject",
        "reject": "reject",
        "e": "edit",
        "edit": "edit",
        "aa": "accept all",
        "rr": "reject all",
        "q": "quit",
        "quit": "quit",
    }
)
"""Choices by what can be typed."""


def can_ask(output: Output) -> bool:
    """Whether stdin is a terminal and the output is not JSON."""
    return sys.stdin.isatty() and not output.as_json


def ask_user(output: Output, proposal: Proposal) -> Answer | None:
    """Show each item and ask for a decision.

    Returns:
        An answer for `memgraph.review.parse_decision`; None if the user quits.
    """
    show_header(output, proposal)
    decisions: dict[str, object] = {}
    for number, item in enumerate(proposal.items, start=1):
        show_item(output, item, f"{number}/{len(proposal.items)} ")
        choice, edit = _ask(output, proposal, item)
        if choice == "quit":
            return None
        if choice in ("accept all", "reject all"):
            return {"items": decisions, "others": choice.removesuffix(" all")}
        decisions[item.key] = edit or choice
    show_rejected(output, proposal)
    return {"items": decisions}


def _ask(output: Output, proposal: Proposal, item: ReviewItem) -> tuple[Choice, Mapping[str, object] | None]:
    """Ask until the answer is valid; the end of input quits."""
    while True:
        line = prompt_line(PROMPT)
        choice = "quit" if line is None else CHOICES.get(line.strip().lower())
        if choice is None:
            output.line(HELP, "dim")
        elif choice != "edit":
            return choice, None
        elif edit := _edit(output, proposal, item):
            return choice, edit


def _edit(output: Output, proposal: Proposal, item: ReviewItem) -> Mapping[str, object] | None:
    """Prompt for new values of the item; None if nothing was changed, or the values are invalid."""
    if item.kind in ("confirm", "remove", "merge", "profile"):
        output.notice("This change cannot be edited: accept or reject it.")
        return None
    try:
        edit = dict(_prompt_values(item, proposal.categories))
        if edit:
            parse_decision(proposal.model_copy(update={"items": (item,)}), {"items": {item.key: edit}})
    except EditError as error:
        output.notice(f"Invalid answer: {error}")
        return None
    return edit or None


def _prompt_values(item: ReviewItem, categories: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Yield the fields that were changed; an empty line keeps the current value."""
    if text := prompt_edit("text", item.after):
        yield "after", text
    if item.kind != "add":
        return
    category = prompt_edit(f"category ({', '.join(categories)})", item.category or "")
    if category:
        yield "category", category
    if confidence := prompt_edit("confidence (0 to 1)", f"{item.confidence or 0.0:g}"):
        yield "confidence", _parse_confidence(confidence)
    if (category or item.category) == "correction" and (
        error := prompt_edit("mistake to avoid", item.source_error or "")
    ):
        yield "source_error", error


def _parse_confidence(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise EditError(f"confidence is {one_line(text)[:80]!r}, expected a number from 0 to 1") from error
