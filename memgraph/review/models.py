"""Proposals and decisions: what a reviewer sees and answers, and what the answer means. Both are plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memgraph._validation import field_errors
from memgraph.errors import EditError
from memgraph.models import ChangeModel, PendingChange, Refusal
from memgraph.policy import Review
from memgraph.rules.validation import validate_summary, validate_text
from memgraph.text.normalize import clean, fact_key

Verdict = Literal["accept", "reject"]
PendingVerdict = Literal["accept", "always", "reject"]
"""About a pending change: `always` accepts further new facts of its category too."""

INSTRUCTIONS = (
    'Answer "accept" or "reject", or decide item by item: {"items": {KEY: "accept" | "reject" | {"after": TEXT}}}. '
    "TEXT is another wording of a new fact or of a summary. "
    'Every item needs a verdict; {"items": {...}, "others": "accept" | "reject"} decides those that are not listed.'
)
"""How to answer a proposal; part of each, since a client may know nothing about memgraph."""

_PREVIEW_CHARS = 80
_STRICTNESS: tuple[Review, ...] = ("never", "corrections", "always")


def strictest(*reviews: Review | None) -> Review:
    """Return the strictest of *reviews*; "never" if all are None."""
    return _STRICTNESS[max((_STRICTNESS.index(review) for review in reviews if review), default=0)]


class ReviewModel(BaseModel):
    """A part of a proposal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FactRef(ReviewModel):
    """A known fact that would be removed."""

    id: str
    content: str


class ReviewItem(ReviewModel):
    """One change."""

    key: str
    """`add:` or `confirm:` and the id of the addition, `remove:` and the fact id, `merge:` and the id of the fact that
    stays, `rewrite:` and the section, or `profile:` and the field."""
    kind: Literal["add", "confirm", "remove", "merge", "rewrite", "profile"]
    """What is proposed: a new fact, a repeated one, a removal, a merge, or a new text of a summary or a field."""
    before: str = ""
    """The current text; empty for a new fact."""
    after: str = ""
    """The new text; empty for a removal."""
    category: str | None = None
    """For facts: their category."""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    """For facts: how certain the model is."""
    source_error: str | None = None
    """For corrections: what went wrong."""
    reason: str | None = None
    """For removals: why. Of a claim that is kept as said, the user's words."""
    replaces: tuple[FactRef, ...] = ()
    """Facts that this one would replace, or that would be merged into it; rejecting it keeps them."""

    @property
    def id(self) -> str:
        """The id of the addition or the fact, or the name of the section."""
        return self.key.partition(":")[2]


class Proposal(ReviewModel):
    """The changes of one update, for a person to decide on."""

    type: Literal["memory_review"] = "memory_review"
    """Lets clients recognise this kind of interrupt."""
    user_id: str
    """Whose memory."""
    agent_name: str | None = None
    """The agent, if it has its own memory of the user."""
    thread_id: str | None = None
    """The conversation."""
    items: tuple[ReviewItem, ...]
    """The changes to decide on."""
    evicted: tuple[FactRef, ...] = ()
    """Facts that would be evicted if all items were accepted."""
    refused: tuple[Refusal, ...] = ()
    """Proposed changes that are rejected by the rules in any case, and why."""
    quarantined: tuple[PendingChange, ...] = ()
    """What is pending in any case, to be decided there."""
    how: str = INSTRUCTIONS
    """How to answer."""
    problem: str | None = None
    """What was wrong with the previous answer, if it was invalid."""

    def item(self, key: str) -> ReviewItem | None:
        """Return the item with this key; None if there is none."""
        return next((item for item in self.items if item.key == key), None)


class Edit(ChangeModel):
    """Accepts an item in another wording. An edited fact is saved as a manual one."""

    after: str
    """The new text."""


class Decision(ChangeModel):
    """A decision about each item."""

    items: Mapping[str, Verdict | Edit] = Field(default_factory=dict[str, Verdict | Edit])
    """By the item's key: `"accept"`, `"reject"`, or an edit, which accepts it in another wording."""
    others: Verdict | None = None
    """The verdict for items that are not listed; without it, all have to be listed."""


# -- parsing an answer ------------------------------------------------------------------------------


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
        case "accept" | "reject" as verdict:
            return verdict
        case _:
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
