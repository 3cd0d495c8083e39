"""Review: what an update would change, shown to a person, and what the person's answer makes of it.

A proposal lists what would really change, item by item. The answer is `"accept"`, `"reject"`, or one verdict an item;
what comes of it is a change set that holds what was agreed to and nothing else.
"""

from __future__ import annotations

from memgraph.review.decision import apply_decision, fingerprint
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
    "make_proposal",
    "needs_review",
    "parse_decision",
    "strictest",
]
