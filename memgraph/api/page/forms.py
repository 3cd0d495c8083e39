"""Forms of the page: the decision about the items of a proposal."""

from __future__ import annotations

from collections.abc import Mapping

from memgraph.errors import EditError
from memgraph.review import Proposal


def read_decision(form: Mapping[str, object], proposal: Proposal) -> dict[str, object]:
    """Return the decision of a form as `memgraph.review.parse_decision` takes it.

    The form has for each item `verdict:KEY`, "accept" or "reject", and perhaps `text:KEY` with another wording.

    Raises:
        EditError: If an item has no verdict.
    """
    items: dict[str, object] = {}
    for item in proposal.items:
        verdict, text = form.get(f"verdict:{item.key}"), form.get(f"text:{item.key}", item.after)
        if verdict not in ("accept", "reject"):
            raise EditError("each item needs a decision: accept or reject")
        items[item.key] = {"after": text} if verdict == "accept" and text != item.after else verdict
    return {"items": items}
