"""Review: what an update would change, shown to a person, and what the person's answer makes of it.

A proposal lists what would really change, item by item. The answer is `"accept"`, `"reject"`, or one verdict an item;
what comes of it is a change set that holds what was agreed to and nothing else.
"""

from __future__ import annotations

from memgraph.review.answer import read_answer
from memgraph.review.decide import decide, fingerprint
from memgraph.review.propose import needs_review, proposal_of
from memgraph.review.values import Decision, Edit, Proposal, Review, ReviewItem, Verdict, stricter

__all__ = [
    "Decision",
    "Edit",
    "Proposal",
    "Review",
    "ReviewItem",
    "Verdict",
    "decide",
    "fingerprint",
    "needs_review",
    "proposal_of",
    "read_answer",
    "stricter",
]
