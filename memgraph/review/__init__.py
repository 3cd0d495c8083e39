"""Review: a person decides which changes of an update are saved.

A proposal lists the effective changes, item by item. What needs a review becomes pending changes, or the run asks by an
interrupt. Then the answer is `"accept"`, `"reject"`, or a verdict for each item;
the result is a change set with the accepted changes only.
"""

from __future__ import annotations

from memgraph.policy import Review
from memgraph.review.models import Decision, Edit, Proposal, ReviewItem, Verdict

__all__ = ["Decision", "Edit", "Proposal", "Review", "ReviewItem", "Verdict"]
