"""Set changes aside that a person has to accept first."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pydantic.alias_generators import to_camel

from memgraph.models import Addition, Quarantined, Removal, Rewrite
from memgraph.rules.add import make_fact
from memgraph.rules.draft import Draft


def quarantine(
    draft: Draft,
    reason: str,
    *,
    additions: Sequence[Addition] = (),
    removals: Sequence[Removal] = (),
    rewrites: Sequence[Rewrite] = (),
) -> Draft:
    """Return *draft* with these changes in quarantine, as one; the same ones once, however often they are proposed."""
    if not (additions or removals or rewrites):
        return draft
    facts = tuple(make_fact(addition, draft) for addition in additions)
    removes = tuple(dict.fromkeys(removal.id for removal in removals))
    summaries = {to_camel(rewrite.section): rewrite.summary for rewrite in rewrites}
    identity = repr(([fact.content for fact in facts], sorted(removes), sorted(summaries.items())))
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return draft.with_quarantined(
        Quarantined(
            id=f"change_{digest[:8]}",
            at=draft.changes.at,
            reason=reason,
            facts=facts,
            removes=removes,
            summaries=summaries,
        )
    )
