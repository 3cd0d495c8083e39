"""A proposal on the screen: what would change, item by item."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from memgraph.cli.format import TITLES, pluralize
from memgraph.cli.output import Output, one_line
from memgraph.cli.prompts import prompt_edit, prompt_line
from memgraph.errors import EditError
from memgraph.models import CATEGORIES
from memgraph.review import Proposal, ReviewItem, Verdict, parse_decision

_STYLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"add": ("+", "green"), "confirm": ("=", ""), "remove": ("-", "red"), "rewrite": ("~", "cyan")}
)


def show_proposal(output: Output, proposal: Proposal) -> None:
    """Show all that would change, and what is not kept in any case."""
    show_header(output, proposal)
    for item in proposal.items:
        show_item(output, item)
    show_rejected(output, proposal)


def show_header(output: Output, proposal: Proposal) -> None:
    """Say whose memory would change, and by which conversation."""
    agent = f" with agent {one_line(proposal.agent_name)}" if proposal.agent_name else ""
    thread = f", from {one_line(proposal.thread_id)}" if proposal.thread_id else ""
    output.line()
    changes = pluralize(len(proposal.items), "change")
    output.line(f"{changes} proposed to the memory of {one_line(proposal.user_id)}{agent}{thread}:", "bold")


def show_item(output: Output, item: ReviewItem, place: str = "") -> None:
    """Show one change, after its *place* among the others."""
    sign, style = _STYLES[item.kind]
    indent = 2 + len(place)
    output.line(f"{place}{sign} {_said(item)}", style, indent=2)
    for known in item.replaces:
        output.line(f"in place of: {one_line(known.content)}", indent=indent + 2)
    if item.reason:
        output.line(f"because: {one_line(item.reason)}", indent=indent + 2)
    if item.kind == "rewrite" and item.before:
        output.line(f"in place of: {one_line(item.before)}", indent=indent + 2)


def _said(item: ReviewItem) -> str:
    if item.kind == "rewrite":
        return f"{_title(item)}: {one_line(item.after)}"
    avoid = f" (avoid: {one_line(item.source_error)})" if item.source_error else ""
    again = ", said again" if item.kind == "confirm" else ""
    text = one_line(item.after or item.before)
    return f"[{one_line(item.category or '')} | {item.confidence or 0.0:.2f}] {text}{avoid}{again}"


def _title(item: ReviewItem) -> str:
    return next((title for section, title in TITLES.items() if section == item.id), item.id)


def show_rejected(output: Output, proposal: Proposal) -> None:
    """Show what nobody is asked about."""
    for known in proposal.evicted:
        output.line(f"- {one_line(known.content)}, which would go for want of room", "dim", indent=2)
    for refusal in proposal.refused:
        output.line(f"x {one_line(refusal.item)}, not kept: {one_line(refusal.reason)}", "dim", indent=2)


__all__ = ["Answer", "ask_person", "can_ask", "show_proposal"]

Word = Literal["accept", "reject", "edit", "accept all", "reject all", "quit"]
Answer = Verdict | Mapping[str, object]

PROMPT = "accept, reject, edit, quit? [a/r/e/q, ? for more] "
HELP = (
    "a accepts it, r rejects it, e edits it; aa accepts and rr rejects it and all that follow; "
    "q quits: then nothing of this is decided"
)
WORDS: Mapping[str, Word] = MappingProxyType(
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
"""What may be typed."""


def can_ask(output: Output) -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and not output.as_json


def ask_person(output: Output, proposal: Proposal) -> Answer | None:
    """Show each item and ask what becomes of it.

    Returns:
        An answer that `memgraph.review.decision` understands; None if the person quits instead.
    """
    show_header(output, proposal)
    decided: dict[str, object] = {}
    for place, item in enumerate(proposal.items, start=1):
        show_item(output, item, f"{place}/{len(proposal.items)} ")
        word, edit = _asked(output, proposal, item)
        if word == "quit":
            return None
        if word in ("accept all", "reject all"):
            return {"items": decided, "others": word.removesuffix(" all")}
        decided[item.key] = edit or word
    show_rejected(output, proposal)
    return {"items": decided}


def _asked(output: Output, proposal: Proposal, item: ReviewItem) -> tuple[Word, Mapping[str, object] | None]:
    """Ask until the answer is one; the end of the input quits."""
    while True:
        line = prompt_line(PROMPT)
        word = "quit" if line is None else WORDS.get(line.strip().lower())
        if word is None:
            output.line(HELP, "dim")
        elif word != "edit":
            return word, None
        elif edit := _edited(output, proposal, item):
            return word, edit


def _edited(output: Output, proposal: Proposal, item: ReviewItem) -> Mapping[str, object] | None:
    """Have the item edited line by line; None where nothing was changed, or not to what may be."""
    if item.kind in ("confirm", "remove"):
        output.notice("It can be accepted or rejected; there is nothing of it to edit.")
        return None
    try:
        edit = dict(_new_values(item))
        if edit:
            parse_decision(proposal.model_copy(update={"items": (item,)}), {"items": {item.key: edit}})
    except EditError as error:
        output.notice(f"That cannot be: {error}")
        return None
    return edit or None


def _new_values(item: ReviewItem) -> Iterator[tuple[str, object]]:
    """What was typed in the place of what there is; an empty line leaves it as it is."""
    if text := prompt_edit("text", item.after):
        yield "after", text
    if item.kind != "add":
        return
    category = prompt_edit(f"category ({', '.join(CATEGORIES)})", item.category or "")
    if category:
        yield "category", category
    if confidence := prompt_edit("confidence (0 to 1)", f"{item.confidence or 0.0:g}"):
        yield "confidence", _number(confidence)
    if (category or item.category) == "correction" and (
        error := prompt_edit("what went wrong", item.source_error or "")
    ):
        yield "source_error", error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise EditError(f"confidence is a number from 0 to 1, not {one_line(text)[:80]!r}") from error
