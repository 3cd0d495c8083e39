"""Review: a person decides which changes of an update are saved.

A proposal lists the effective changes, item by item. The answer is `"accept"`, `"reject"`, or a verdict for each item;
the result is a change set with the accepted changes only.
"""

from __future__ import annotations

from memgraph.review.decision import apply_decision, fingerprint
from memgraph.review.edits import item_digests, mark_edited
from memgraph.review.models import Decision, Edit, Proposal, Review, ReviewItem, Verdict, strictest
from memgraph.review.parse import parse_decision
from memgraph.review.proposal import make_proposal, needs_review

__all__ = [
    "Decision",
    "Edit",
    "Proposal",
    "Review",
    "ReviewItem",
    "Verdict",
    "apply_decision",
    "fingerprint",
    "item_digests",
    "make_proposal",
    "mark_edited",
    "needs_review",
    "parse_decision",
    "strictest",
]
