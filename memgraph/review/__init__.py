"""Review: a person decides which changes of an update are saved.

A proposal lists the effective changes, item by item. What needs a review becomes pending changes, or the run asks by an
interrupt. Then the answer is `"accept"`, `"reject"`, or a verdict for each item;
the result is a change set with the accepted changes only.
"""

from __future__ import annotations

from memgraph.review.decision import apply_decision, fingerprint, hold_items, item_digests, mark_edited
from memgraph.review.models import Decision, Edit, Proposal, Review, ReviewItem, Verdict, parse_decision, strictest
from memgraph.review.proposal import Proposed, items_to_review, make_proposal

__all__ = [
    "Decision",
    "Edit",
    "Proposal",
    "Proposed",
    "Review",
    "ReviewItem",
    "Verdict",
    "apply_decision",
    "fingerprint",
    "hold_items",
    "item_digests",
    "items_to_review",
    "make_proposal",
    "mark_edited",
    "parse_decision",
    "strictest",
]
