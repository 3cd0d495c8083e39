"""What a memory may hold: no text that steers a model, no secrets, no hidden characters.

Updates, imports, edits by programs and recall ask here. What a person writes or accepts is not asked about.
"""

from __future__ import annotations

from memgraph.text.hidden import hidden_characters
from memgraph.text.orders import has_instruction, is_order_to_act, orders_assistant, without_orders
from memgraph.text.secrets import find_secrets
from memgraph.text.sentences import sentences

IS_INSTRUCTION = "it reads like an instruction to a model"
IS_ORDER = "it is an order to the assistant"
"""The one problem with which a text may wait, since a person may want it."""


def problem_of(text: str) -> str | None:
    """Return why a memory may not hold *text* unless a person wrote it; None if it may."""
    problem = steering_problem(text)
    secret = next(find_secrets(text), None) if problem in (None, IS_ORDER) else None
    return f"it contains {secret.kind}" if secret else problem


def entry_problem(content: str, whole: str = "") -> str | None:
    """Return why a memory may not take the entry *content* that no conversation shows the user to have said.

    *whole* is the content with all texts that come with it.
    """
    return problem_of(whole or content) or (IS_ORDER if orders_assistant(content) else None)


def steering_problem(text: str) -> str | None:
    """Return why *text* may steer a model; None if it does not. An id is asked no more: it may look like a secret."""
    if hidden_characters(text):
        return "it has hidden characters"
    if has_instruction(text):
        return IS_INSTRUCTION
    return IS_ORDER if is_order_to_act(text) else None


def admitted_sentences(summary: str) -> str:
    """Return *summary*, or any other text, without the sentences that are not admitted; the same object if all are."""
    text = without_orders(summary)
    pieces = sentences(text)
    kept = [piece for piece in pieces if not problem_of(piece)]
    return text if len(kept) == len(pieces) else "".join(kept).strip()
