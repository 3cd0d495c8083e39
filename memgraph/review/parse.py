"""Parse the answer to a proposal into a verdict or an edit for each item."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from pydantic import ValidationError

from memgraph._validation import field_errors
from memgraph.errors import EditError
from memgraph.review.models import Decision, Edit, Proposal, ReviewItem, Verdict
from memgraph.rules.validation import (
    validate_category,
    validate_confidence,
    validate_source_error,
    validate_summary,
    validate_text,
)
from memgraph.text.normalize import clean, fact_key

_PREVIEW_CHARS = 80


def parse_decision(proposal: Proposal, answer: object) -> Mapping[str, Verdict | Edit]:
    """Return the decision about each item of *proposal*, by key. Edits are validated and complete.

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
    decisions: dict[str, Verdict | Edit] = {
        item.key: _decide_item(item, decision, proposal.categories) for item in proposal.items
    }
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
        return f'{path}: expected "accept", "reject" or an object with the fields to change'
    if first.type == "extra_forbidden":
        return f"{path}: unknown key"
    return f"{path}: {first.message.lower()}, not {repr(first.input)[:_PREVIEW_CHARS]}"


def _join_keys(items: Sequence[ReviewItem]) -> str:
    return ", ".join(item.key for item in items) or "none"


def _decide_item(item: ReviewItem, decision: Decision, categories: Collection[str]) -> Verdict | Edit:
    answer = decision.items.get(item.key)
    if not isinstance(answer, Edit):
        return cast("Verdict", answer or decision.others)  # parse_decision checked that one of them is given
    try:
        return _complete_edit(item, answer, categories)
    except EditError as error:
        raise EditError(f"{item.key}: {error}") from error


def _complete_edit(item: ReviewItem, edit: Edit, categories: Collection[str]) -> Verdict | Edit:
    """Return *edit* with all fields, validated. An edit that changes nothing means "accept"."""
    if not edit.model_fields_set:
        raise EditError("an edit needs at least one field to change")
    changed = {name for name, value in edit if value is not None and value != getattr(item, name)}
    if not changed:
        return "accept"
    if item.kind in ("confirm", "remove", "merge", "profile"):
        raise EditError("it can only be accepted or rejected, not edited")
    if item.kind == "rewrite":
        return _complete_summary_edit(edit, changed)
    return _complete_fact_edit(item, edit, categories)


def _complete_summary_edit(edit: Edit, changed: AbstractSet[str]) -> Edit:
    if changed != {"after"} or edit.after is None:
        raise EditError("of a summary, only the text can be edited: after")
    return Edit(after=validate_summary(edit.after))


def _complete_fact_edit(item: ReviewItem, edit: Edit, categories: Collection[str]) -> Edit:
    category = validate_category(edit.category or item.category or "context", categories)
    kept_error = item.source_error if category == "correction" else None
    return Edit(
        after=validate_text(item.after if edit.after is None else edit.after, "a fact"),
        category=category,
        confidence=validate_confidence(edit.confidence if edit.confidence is not None else item.confidence or 0.0),
        source_error=validate_source_error(edit.source_error, category) or kept_error,
    )


def _check_distinct(proposal: Proposal, decisions: Mapping[str, Verdict | Edit]) -> None:
    """Raise an EditError if an edit gives two facts the same content, since one of them would be lost."""
    seen: dict[str, str] = {}
    for item in proposal.items:
        decision = decisions[item.key]
        if item.kind != "add" or decision == "reject":
            continue
        key = fact_key((decision.after if isinstance(decision, Edit) else None) or item.after)
        if key in seen:
            raise EditError(f"{item.key} and {seen[key]} would have the same content: reject one of them")
        seen[key] = item.key
