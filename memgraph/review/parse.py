"""Parse the answer to a proposal into a verdict or an edit for each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import ValidationError

from memgraph._validation import field_errors
from memgraph.errors import EditError
from memgraph.review.models import Decision, Edit, Proposal, ReviewItem, Verdict
from memgraph.rules.validation import validate_summary, validate_text
from memgraph.text.normalize import clean, fact_key

_PREVIEW_CHARS = 80


def parse_decision(proposal: Proposal, answer: object) -> Mapping[str, Verdict | Edit]:
    """Return the decision about each item of *proposal*, by key. Edits are validated.

    Args:
        proposal: What the reviewer saw.
        answer: `"accept"`, `"reject"`, or a Decision, as an object or as JSON.

    Raises:
        EditError: If it is none of these, lists an unknown item, leaves an item undecided, or contains
            an invalid edit.
    """
    if isinstance(answer, str):
        verdict = _parse_verdict(answer)
        return {item.key: verdict for item in proposal.items}
    decision = answer if isinstance(answer, Decision) else _parse_decision(answer)
    for key in decision.items:
        if proposal.item(key) is None:
            raise EditError(f"there is no item {key[:_PREVIEW_CHARS]!r}; the items are {_join_keys(proposal.items)}")
    undecided = [item for item in proposal.items if item.key not in decision.items]
    if undecided and decision.others is None:
        raise EditError(
            f'no decision about {_join_keys(undecided)}: list every item, or add "others": "accept" or "reject"'
        )
    decisions: dict[str, Verdict | Edit] = {item.key: _decide_item(item, decision) for item in proposal.items}
    _check_distinct(proposal, decisions)
    return decisions


def _parse_verdict(text: str) -> Verdict:
    match text.strip().lower():
        case "accept":
            return "accept"
        case "reject":
            return "reject"
        case _:
            pass
    raise EditError(f'expected "accept" or "reject", not {text[:_PREVIEW_CHARS]!r}; an edit is an object')


def _parse_decision(answer: object) -> Decision:
    if not isinstance(answer, Mapping):
        raise EditError(f'expected "accept", "reject" or an object with "items", not {repr(answer)[:_PREVIEW_CHARS]}')
    try:
        return Decision.model_validate(answer)
    except ValidationError as error:
        raise EditError(_describe_error(error)) from error


def _describe_error(error: ValidationError) -> str:
    """Describe the first error, with its path.

    Each value of `items` is a union of Verdict and Edit, and pydantic reports an error for either. The one about Edit
    is more specific.
    """
    errors = field_errors(error)
    first = next((other for other in errors if "Edit" in other.loc), errors[0])
    path = clean(".".join(str(part) for part in first.loc if part != "Edit"))[: 2 * _PREVIEW_CHARS]
    if first.type == "model_type":
        return f'{path}: expected "accept", "reject" or an object with the text: after'
    if first.type == "extra_forbidden":
        return f"{path}: unknown key"
    return f"{path}: {first.message.lower()}, not {repr(first.input)[:_PREVIEW_CHARS]}"


def _join_keys(items: Sequence[ReviewItem]) -> str:
    return ", ".join(item.key for item in items) or "none"


def _decide_item(item: ReviewItem, decision: Decision) -> Verdict | Edit:
    """Return the decision about *item*. An edit that changes nothing means "accept"."""
    answer = decision.items.get(item.key)
    if not isinstance(answer, Edit):
        return cast("Verdict", answer or decision.others)  # parse_decision checked that one of them is given
    if answer.after == item.after:
        return "accept"
    if item.kind not in ("add", "rewrite"):
        raise EditError(f"{item.key}: it can only be accepted or rejected, not edited")
    try:
        text = validate_summary(answer.after) if item.kind == "rewrite" else validate_text(answer.after, "a fact")
    except EditError as error:
        raise EditError(f"{item.key}: {error}") from error
    return Edit(after=text)


def _check_distinct(proposal: Proposal, decisions: Mapping[str, Verdict | Edit]) -> None:
    """Raise an EditError if an edit gives two facts the same content, since one of them would be lost."""
    seen: dict[str, str] = {}
    for item in proposal.items:
        decision = decisions[item.key]
        if item.kind != "add" or decision == "reject":
            continue
        key = fact_key(decision.after if isinstance(decision, Edit) else item.after)
        if key in seen:
            raise EditError(f"{item.key} and {seen[key]} would have the same content: reject one of them")
        seen[key] = item.key
