"""Review: a person decides which changes of an update are saved.

What needs a review becomes pending changes of the document, or the run asks about them by an interrupt: with a
ReviewRequest, and the answer is `"accept"`, `"reject"`, or a Decision about each change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from memgraph._validation import field_errors
from memgraph.analysis.normalize import clean
from memgraph.errors import EditError
from memgraph.models import ChangeModel, PendingChange
from memgraph.policy import Review

__all__ = ["AcceptedText", "Decision", "PendingVerdict", "Review", "ReviewRequest", "Verdict"]

Verdict = Literal["accept", "reject"]
PendingVerdict = Literal["accept", "always", "reject"]
"""About a pending change: `always` accepts further new facts of its category too."""

INSTRUCTIONS = (
    'Answer "accept" or "reject", or decide about each change: '
    '{"changes": {ID: "accept" | "always" | "reject" | {"text": TEXT}}}. '
    "TEXT is another wording of its only fact or summary, and always accepts further new facts of its category. "
    'Every change needs a verdict; {"changes": {...}, "others": "accept" | "reject"} decides those that are not listed.'
)
"""How to answer; part of each request, since a client may know nothing about memgraph."""

_PREVIEW_CHARS = 80
_STRICTNESS: tuple[Review, ...] = ("never", "corrections", "always")


def strictest(*reviews: Review | None) -> Review:
    """Return the strictest of *reviews*; "never" if all are None."""
    return _STRICTNESS[max((_STRICTNESS.index(review) for review in reviews if review), default=0)]


class ReviewRequest(ChangeModel):
    """What a run asks a person by its interrupt: the changes that would be pending otherwise."""

    type: Literal["memory_review"] = "memory_review"
    """Lets clients recognise this kind of interrupt."""
    user_id: str
    """Whose memory."""
    agent_name: str | None = None
    """The agent, if it has its own memory of the user."""
    thread_id: str | None = None
    """The conversation."""
    changes: tuple[PendingChange, ...]
    """The changes to decide on."""
    how: str = INSTRUCTIONS
    """How to answer."""
    problem: str | None = None
    """What was wrong with the previous answer, if it was invalid."""


class AcceptedText(ChangeModel):
    """Accepts a change of one fact or one summary in another wording; the fact is manual then."""

    text: Annotated[str, Field(min_length=1, max_length=10_000)]
    """The new wording."""


Verdicts = Mapping[str, PendingVerdict | AcceptedText]
"""By the id of the change: a verdict, or another wording."""


class Decision(ChangeModel):
    """A decision about each change."""

    changes: Verdicts = Field(default_factory=dict[str, PendingVerdict | AcceptedText])
    """By the id of the change."""
    others: Verdict | None = None
    """The verdict for changes that are not listed; without it, all have to be listed."""


def parse_decision(changes: Sequence[PendingChange], answer: object) -> Verdicts:
    """Return the decision about each of *changes*, by id.

    Args:
        changes: What the reviewer was asked about.
        answer: `"accept"`, `"reject"`, or a Decision, as an object or as JSON.

    Raises:
        EditError: If it is none of these, names an unknown change, or leaves one undecided.
    """
    decision, ids = _read(answer), [change.id for change in changes]
    for change_id in decision.changes:
        if change_id not in ids:
            raise EditError(f"there is no change {change_id[:_PREVIEW_CHARS]!r}; the changes are {', '.join(ids)}")
    left = [change_id for change_id in ids if change_id not in decision.changes]
    if left and decision.others is None:
        raise EditError(
            f'no decision about {", ".join(left)}: list every change, or add "others": "accept" or "reject"'
        )
    return {**decision.changes, **dict.fromkeys(left, decision.others or "reject")}


def _read(answer: object) -> Decision:
    if not isinstance(answer, Decision | Mapping):
        word = answer.strip().lower() if isinstance(answer, str) else ""
        if word == "accept" or word == "reject":  # noqa: PLR1714 - only so its type is known
            return Decision(others=word)
        raise EditError(f'expected "accept", "reject" or an object with "changes", not {repr(answer)[:_PREVIEW_CHARS]}')
    try:
        return Decision.model_validate(answer)
    except ValidationError as error:
        raise EditError(_describe_error(error)) from error


def _describe_error(error: ValidationError) -> str:
    """Describe the first error, with its path; of an invalid verdict, that about another wording is more specific."""
    errors = field_errors(error)
    first = next((other for other in errors if "AcceptedText" in other.loc), errors[0])
    path = clean(".".join(str(part) for part in first.loc if part != "AcceptedText"))[: 2 * _PREVIEW_CHARS]
    if first.type == "model_type":
        return f'{path}: expected "accept", "always", "reject" or an object with "text"'
    return f"{path}: {first.message.lower()}, not {repr(first.input)[:_PREVIEW_CHARS]}"
