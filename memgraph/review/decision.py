"""What an answer makes of a change set: what was agreed to stays, and nothing else does."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from memgraph.models import Addition, MemoryUpdate, Refusal, Removal, Rewrite
from memgraph.report import REJECTED
from memgraph.review.models import Edit, Proposal, ReviewItem, Verdict
from memgraph.review.parse import parse_decision
from memgraph.text.normalize import fact_key

Decided = Mapping[str, Verdict | Edit]


def apply_decision(changes: MemoryUpdate, proposal: Proposal, answer: object) -> MemoryUpdate:
    """Return the change set that *answer* makes of *changes*.

    What was not shown is left out too: it would change nothing now, and nobody agreed to what it might do to
    another memory. What is left out stands among the refused, with why.

    Args:
        changes: What the model proposed.
        proposal: How it was shown.
        answer: `"accept"`, `"reject"`, or a Decision: as an object, or as its JSON.

    Raises:
        EditError: If the answer cannot be understood, or edits an item to what may not be.
    """
    decided = parse_decision(proposal, answer)
    rejected = tuple(item for item in proposal.items if decided[item.key] == "reject")
    return changes.model_copy(
        update={
            "rewrites": tuple(_rewrites(changes, decided)),
            "additions": tuple(_additions(changes, decided)),
            "removals": tuple(_removals(changes, decided)),
            "refused": (*proposal.refused, *(Refusal(item=_named(item), reason=REJECTED) for item in rejected)),
        }
    )


def fingerprint(changes: MemoryUpdate) -> str:
    """What tells this change set from every other, also after it was JSON: a sha256."""
    return hashlib.sha256(changes.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


def _rewrites(changes: MemoryUpdate, decided: Decided) -> list[Rewrite]:
    kept: list[Rewrite] = []
    for rewrite in changes.rewrites:
        verdict = decided.get(f"rewrite:{rewrite.section}", "reject")
        if isinstance(verdict, Edit):
            rewrite = rewrite.model_copy(update={"summary": verdict.after, "edited_by_user": True})  # noqa: PLW2901
        if verdict != "reject":
            kept.append(rewrite)
    return kept


def _additions(changes: MemoryUpdate, decided: Decided) -> list[Addition]:
    """The additions agreed to. Those that say the same were shown as one, and stay or go as one."""
    shown = ((addition, _said(addition, decided)) for addition in changes.additions)
    verdicts = {fact_key(addition.content): verdict for addition, verdict in shown if verdict}
    kept: list[Addition] = []
    for addition in changes.additions:
        verdict = verdicts.get(fact_key(addition.content))
        if isinstance(verdict, Edit):
            kept.append(_by_hand(addition, verdict))
        elif verdict == "accept":
            kept.append(addition)
    return kept


def _said(addition: Addition, decided: Decided) -> Verdict | Edit | None:
    return decided.get(f"add:{addition.id}") or decided.get(f"confirm:{addition.id}")


def _by_hand(addition: Addition, edit: Edit) -> Addition:
    return addition.model_copy(
        update={
            "content": edit.after,
            "category": edit.category,
            "confidence": edit.confidence,
            "source_error": edit.source_error,
            "edited_by_user": True,
        }
    )


def _removals(changes: MemoryUpdate, decided: Decided) -> list[Removal]:
    return [removal for removal in changes.removals if decided.get(f"remove:{removal.id}", "reject") == "accept"]


def _named(item: ReviewItem) -> str:
    return item.id if item.kind == "rewrite" else item.after or item.before
