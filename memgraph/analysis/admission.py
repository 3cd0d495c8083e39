"""What a memory may hold: no text that steers a model, no secrets, no hidden characters.

Updates, imports, edits by programs and recall ask here. What a person writes or accepts is not asked about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from memgraph.analysis.hidden import hidden_characters
from memgraph.analysis.orders import has_handle, has_instruction, is_order_to_act, orders_assistant, without_orders
from memgraph.analysis.secrets import find_secrets
from memgraph.analysis.sentences import sentences

IS_INSTRUCTION = "it reads like an instruction to a model"
IS_ORDER = "it is an order to the assistant"
MAY_ACT = "it has what an agent may act with: a link, an address, an account, an amount, a path or a command"
MAY_WAIT = frozenset({IS_ORDER, MAY_ACT})
"""The problems with which a text may wait, since a person may want it."""

STEERING = frozenset({"preference", "behavior", "correction"})
"""Categories of facts by which an agent acts: with an address in one of another category it has no order to act."""

_JSON_TEXT = re.compile(r'("(?:[^"\\]++|\\.)*+")(\s*+:)?')


def problem_of(text: str) -> str | None:
    """Return why a memory may not hold *text* unless a person wrote it; None if it may."""
    problem = steering_problem(text)
    secret = next(find_secrets(text), None) if problem in (None, IS_ORDER) else None
    return f"it contains {secret.kind}" if secret else problem


def entry_problem(content: str, whole: str = "", *, category: str = "", is_masked: bool = False) -> str | None:
    """Return why a memory may not take the entry *content* that no conversation shows the user to have said.

    Args:
        content: A fact, or another text.
        whole: The content with all texts that come with it.
        category: Of the fact; empty for another text. What an agent may act with matters in those of STEERING.
        is_masked: Whether `mask` returned *content*: it has no secret then, which takes longest to find out.
    """
    texts = _texts_in(content)
    for text in dict.fromkeys((whole or content, *texts)):
        if problem := (steering_problem if is_masked and text == content else problem_of)(text):
            return problem
    if any(map(orders_assistant, texts)):
        return IS_ORDER
    return MAY_ACT if category in STEERING and has_handle(content) else None


def fact_problem(
    content: str, source_error: str | None, whole: str, category: str, *, is_masked: bool = False
) -> str | None:
    """Return the `entry_problem` of a fact, or of what went wrong, which is shown with it."""
    problem = entry_problem(content, whole, category=category, is_masked=is_masked)
    return problem or (entry_problem(source_error, category=category, is_masked=is_masked) if source_error else None)


def _texts_in(content: str) -> list[str]:
    """Return the texts of an entry that is JSON, of which one may give orders; of others the entry itself.

    Names of fields that a program has are none of them: the weights are of sentences.
    """
    if not content.startswith(("{", "[")):
        return [content]
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return [content]
    texts = [(json.loads(text), is_name) for text, is_name in _JSON_TEXT.findall(content)]
    return [text for text, is_name in texts if not (is_name and text.isascii() and text.isidentifier())]


def steering_problem(text: str) -> str | None:
    """Return why *text* may steer a model; None if it does not. An id is asked no more: it may look like a secret."""
    if hidden_characters(text):
        return "it has hidden characters"
    if has_instruction(text):
        return IS_INSTRUCTION
    return IS_ORDER if is_order_to_act(text) else None


def admitted_sentences(summary: str, find_problem: Callable[[str], str | None] = problem_of) -> str:
    """Return *summary*, or any other text, without the sentences that have a problem; the same object if none has."""
    text = without_orders(summary)
    pieces = sentences(text)
    kept = [piece for piece in pieces if not find_problem(piece)]
    return text if len(kept) == len(pieces) else "".join(kept).strip()
