"""A person's answer, read: one verdict or edit an item, whatever JSON it came as."""

from __future__ import annotations

from collections.abc import Mapping
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

_SHOWN = 80


def parse_decision(proposal: Proposal, answer: object) -> Mapping[str, Verdict | Edit]:
    """Return what was decided of each item of *proposal*; edits hold what differs from the item, checked.

    Args:
        proposal: What was shown.
        answer: `"accept"`, `"reject"`, or a Decision: as an object, or as its JSON.

    Raises:
        EditError: If it is none of these, names an item that there is not, leaves one undecided, or edits
            an item to what may not be.
    """
    if isinstance(answer, str):
        verdict = _verdict(answer)
        return {item.key: verdict for item in proposal.items}
    decision = answer if isinstance(answer, Decision) else _decision(answer)
    for key in decision.items:
        if proposal.item(key) is None:
            raise EditError(f"there is no item {key[:_SHOWN]!r}; there are {_keys(proposal.items)}")
    left = [item for item in proposal.items if item.key not in decision.items]
    if left and decision.others is None:
        raise EditError(f'nothing is said of {_keys(left)}: name every item, or say "others": "accept" or "reject"')
    decided: dict[str, Verdict | Edit] = {item.key: _judged(item, decision) for item in proposal.items}
    _check_distinct(proposal, decided)
    return decided


def _verdict(text: str) -> Verdict:
    match text.strip().lower():
        case "accept":
            return "accept"
        case "reject":
            return "reject"
        case _:
            pass
    raise EditError(f'"accept" or "reject" was expected, not {text[:_SHOWN]!r}; an edit is an object')


def _decision(answer: object) -> Decision:
    if not isinstance(answer, Mapping):
        raise EditError(f'"accept", "reject" or an object with "items" was expected, not {repr(answer)[:_SHOWN]}')
    try:
        return Decision.model_validate(answer)
    except ValidationError as error:
        raise EditError(_describe_error(error)) from error


def _describe_error(error: ValidationError) -> str:
    """The first thing wrong, and where; a union says for each of its members what is wrong, and the last is Edit."""
    found = field_errors(error)
    first = next((problem for problem in found if "Edit" in problem.loc), found[0])
    place = clean(".".join(str(part) for part in first.loc if part != "Edit"))[: 2 * _SHOWN]
    if first.type == "model_type":
        return f'{place}: "accept", "reject" or an object with what to change was expected'
    if first.type == "extra_forbidden":
        return f"{place}: there is no such key here"
    return f"{place}: {first.message.lower()}, not {repr(first.input)[:_SHOWN]}"


def _keys(items: tuple[ReviewItem, ...] | list[ReviewItem]) -> str:
    return ", ".join(item.key for item in items) or "none"


def _judged(item: ReviewItem, decision: Decision) -> Verdict | Edit:
    said = decision.items.get(item.key)
    if not isinstance(said, Edit):
        return cast("Verdict", said or decision.others)  # one of them is there: who leaves an item out says others
    try:
        return _edited(item, said)
    except EditError as error:
        raise EditError(f"{item.key}: {error}") from error


def _edited(item: ReviewItem, edit: Edit) -> Verdict | Edit:
    """The edit as far as it differs from the item; an edit that changes nothing is an acceptance."""
    given = {name: value for name, value in edit if value is not None and value != getattr(item, name)}
    if not edit.model_fields_set:
        raise EditError("an edit says what to change")
    if not given:
        return "accept"
    if item.kind in ("confirm", "remove"):
        raise EditError("it can be accepted or rejected; there is nothing of it to edit")
    if item.kind == "rewrite":
        return _edited_summary(edit, given)
    return _edited_fact(item, edit)


def _edited_summary(edit: Edit, given: Mapping[str, object]) -> Edit:
    if "after" not in given or len(given) > 1 or edit.after is None:
        raise EditError("of a summary only its text can be edited: after")
    return Edit(after=validate_summary(edit.after))


def _edited_fact(item: ReviewItem, edit: Edit) -> Edit:
    category = validate_category(edit.category or item.category or "context")
    kept = item.source_error if category == "correction" else None
    return Edit(
        after=validate_text(item.after if edit.after is None else edit.after, "a fact"),
        category=category,
        confidence=validate_confidence(edit.confidence if edit.confidence is not None else item.confidence or 0.0),
        source_error=validate_source_error(edit.source_error, category) or kept,
    )


def _check_distinct(proposal: Proposal, decided: Mapping[str, Verdict | Edit]) -> None:
    """Refuse an edit by which two items would say the same: one of them would be lost."""
    seen: dict[str, str] = {}
    for item in proposal.items:
        verdict = decided[item.key]
        if item.kind != "add" or verdict == "reject":
            continue
        key = fact_key((verdict.after if isinstance(verdict, Edit) else None) or item.after)
        if key in seen:
            raise EditError(f"{item.key} and {seen[key]} would say the same: reject one of them")
        seen[key] = item.key
