"""Set changes aside that a person has to accept first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pydantic.alias_generators import to_camel

from memgraph.models import Addition, Fact, Quarantined, Removal, Rewrite
from memgraph.models.values import Timestamp
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
    return draft.with_quarantined(
        make_quarantined(
            reason,
            at=draft.changes.at,
            thread=draft.changes.origin or draft.changes.thread,
            facts=facts,
            removes=removes,
            summaries=summaries,
        )
    )


def make_quarantined(
    reason: str,
    *,
    at: Timestamp,
    thread: str,
    facts: Sequence[Fact] = (),
    removes: Sequence[str] = (),
    summaries: Mapping[str, str] | None = None,
) -> Quarantined:
    """Return a change that waits for a person; its id is derived from what it changes."""
    identity = repr(([fact.content for fact in facts], sorted(removes), sorted((summaries or {}).items())))
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return Quarantined(
        id=f"change_{digest[:8]}",
        at=at,
        reason=reason,
        thread=thread,
        facts=tuple(facts),
        removes=tuple(removes),
        summaries=dict(summaries or {}),
    )
