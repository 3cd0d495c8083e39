"""Review: a person decides which changes of an update are saved.

What needs a review becomes pending changes of the document, or the run asks about them by an interrupt: with a
ReviewRequest, and the answer is `"accept"`, `"reject"`, or a Decision about each change.
"""

from __future__ import annotations

from memgraph.policy import Review
from memgraph.review.models import AcceptedText, Decision, PendingVerdict, ReviewRequest, Verdict

__all__ = ["AcceptedText", "Decision", "PendingVerdict", "Review", "ReviewRequest", "Verdict"]
