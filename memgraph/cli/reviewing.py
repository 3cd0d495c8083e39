"""What the person at the terminal says to each item of a proposal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from memgraph.cli.proposals import say_whose, show_item, show_proposal, show_rest
from memgraph.cli.safe import one_line
from memgraph.cli.screen import Screen
from memgraph.cli.typed import retyped, typed
from memgraph.errors import EditError
from memgraph.models import CATEGORIES
from memgraph.review import Proposal, ReviewItem, Verdict, read_answer

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


def can_ask(screen: Screen) -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and not screen.as_json


def ask_person(screen: Screen, proposal: Proposal) -> Answer | None:
    """Show each item and ask what becomes of it.

    Returns:
        An answer that `memgraph.review.decide` understands; None if the person quits instead.
    """
    say_whose(screen, proposal)
    decided: dict[str, object] = {}
    for place, item in enumerate(proposal.items, start=1):
        show_item(screen, item, f"{place}/{len(proposal.items)} ")
        word, edit = _asked(screen, proposal, item)
        if word == "quit":
            return None
        if word in ("accept all", "reject all"):
            return {"items": decided, "others": word.removesuffix(" all")}
        decided[item.key] = edit or word
    show_rest(screen, proposal)
    return {"items": decided}


def _asked(screen: Screen, proposal: Proposal, item: ReviewItem) -> tuple[Word, Mapping[str, object] | None]:
    """Ask until the answer is one; the end of the input quits."""
    while True:
        line = typed(PROMPT)
        word = "quit" if line is None else WORDS.get(line.strip().lower())
        if word is None:
            screen.line(HELP, "dim")
        elif word != "edit":
            return word, None
        elif edit := _edited(screen, proposal, item):
            return word, edit


def _edited(screen: Screen, proposal: Proposal, item: ReviewItem) -> Mapping[str, object] | None:
    """Have the item edited line by line; None where nothing was changed, or not to what may be."""
    if item.kind in ("confirm", "remove"):
        screen.notice("It can be accepted or rejected; there is nothing of it to edit.")
        return None
    try:
        edit = dict(_new_values(item))
        if edit:
            read_answer(proposal.model_copy(update={"items": (item,)}), {"items": {item.key: edit}})
    except EditError as error:
        screen.notice(f"That cannot be: {error}")
        return None
    return edit or None


def _new_values(item: ReviewItem) -> Iterator[tuple[str, object]]:
    """What was typed in the place of what there is; an empty line leaves it as it is."""
    if text := retyped("text", item.after):
        yield "after", text
    if item.kind != "add":
        return
    category = retyped(f"category ({', '.join(CATEGORIES)})", item.category or "")
    if category:
        yield "category", category
    if confidence := retyped("confidence (0 to 1)", f"{item.confidence or 0.0:g}"):
        yield "confidence", _number(confidence)
    if (category or item.category) == "correction" and (error := retyped("what went wrong", item.source_error or "")):
        yield "source_error", error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise EditError(f"confidence is a number from 0 to 1, not {one_line(text)[:80]!r}") from error
