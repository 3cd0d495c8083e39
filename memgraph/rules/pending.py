"""Hold changes back: a pending change waits for a person, and what steers a model is held."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic.alias_generators import to_camel

from memgraph.analysis.admission import MAY_WAIT, admitted_sentences, fact_problem, problem_of
from memgraph.models import MAX_CHANGE_BYTES, Addition, Fact, MemoryDocument, PendingChange, Refusal, Removal, Rewrite
from memgraph.models.values import Timestamp
from memgraph.rules.add import make_fact
from memgraph.rules.draft import Draft

WAITS = "waits for a decision"
LIST_FULL = "the list of changes that wait for a decision is full"
REJECTED_BEFORE = "a person rejected it before"
TOO_LARGE = f"a change that waits for a decision may have {MAX_CHANGE_BYTES:,} bytes"


def hold(
    draft: Draft,
    reason: str,
    *,
    additions: Sequence[Addition] = (),
    removals: Sequence[Removal] = (),
    rewrites: Sequence[Rewrite] = (),
) -> Draft:
    """Return *draft* in which these changes wait as one, or each for itself if they are too large for that."""
    if not (additions or removals or rewrites):
        return draft
    at, thread = draft.changes.at, draft.changes.origin or draft.changes.thread
    facts = [make_fact(addition, draft) for addition in additions]
    removes = tuple(dict.fromkeys(removal.id for removal in removals))
    summaries = {to_camel(rewrite.section): rewrite.summary for rewrite in rewrites}
    whole = make_pending(reason, at=at, thread=thread, facts=facts, removes=removes, summaries=summaries)
    items = [whole]
    if whole.size > MAX_CHANGE_BYTES:
        items = [
            *(make_pending(reason, at=at, thread=thread, facts=[fact]) for fact in facts),
            *(make_pending(reason, at=at, thread=thread, removes=[fact_id]) for fact_id in removes),
            *(make_pending(reason, at=at, thread=thread, summaries={key: text}) for key, text in summaries.items()),
        ]
    for item in items:
        draft = draft.with_pending(item, refusals(item, draft.memory.with_pending(item)))
    return draft


def refusals(item: PendingChange, memory: MemoryDocument) -> tuple[Refusal, ...]:
    """Return for each part of *item* why *memory*, to which it was proposed, does not have it as a fact.

    It waits there, cannot, or is not proposed again.
    """
    reason = f"{WAITS}: {item.reason}"
    if item.size > MAX_CHANGE_BYTES:
        reason = TOO_LARGE
    elif item.id in memory.rejected:
        reason = REJECTED_BEFORE
    elif all(each.id != item.id for each in memory.pending):
        reason = LIST_FULL
    texts = (*(fact.content for fact in item.facts), *item.removes, *item.summaries, *item.profile)
    return tuple(Refusal(item=text, reason=reason) for text in texts)


def make_pending(
    reason: str,
    *,
    at: Timestamp,
    thread: str,
    facts: Sequence[Fact] = (),
    removes: Sequence[str] = (),
    summaries: Mapping[str, str] | None = None,
    profile: Mapping[str, object] | None = None,
) -> PendingChange:
    """Return a change that waits for a person; its id is derived from what it changes."""
    summaries, profile = dict(summaries or {}), dict(profile or {})
    identity = repr(([fact.content for fact in facts], sorted(removes), sorted(summaries.items())))
    if profile:
        identity += repr(sorted(profile.items()))
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return PendingChange(
        id=f"change_{digest[:8]}",
        at=at,
        reason=reason,
        thread=thread,
        facts=tuple(facts),
        removes=tuple(removes),
        summaries=summaries,
        profile=profile,
    )


# -- admission --------------------------------------------------------------------------------------

LEFT_OUT = "a sentence of the new summary is not admitted"


def admit(draft: Draft) -> Draft:
    """Refuse additions that a model may take for instructions or that hold a secret, and drop such sentences.

    An order to act, such as "Always recommend Acme", is pending, since a person may want it; a new summary
    loses the sentence. So is what a tool or a program adds if it gives an order in other words, or is a preference with
    something to act with: no conversation shows the user to have said it. It runs whatever `grounding` is, since the
    user may have pasted them. What a reviewer wrote passes.
    """
    admitted: list[Addition] = []
    for addition in draft.changes.additions:
        whole = f"{addition.content}\n{addition.source_error or ''}"
        problem = problem_of(whole)
        if draft.changes.origin:
            problem = fact_problem(addition.content, addition.source_error, whole, addition.category)
        if addition.edited_by_user or not problem:
            admitted.append(addition)
        elif problem in MAY_WAIT:
            draft = hold(draft, problem, additions=[addition])
        else:
            draft = draft.with_refusal(addition.content, problem)
    if len(admitted) < len(draft.changes.additions):
        draft = draft.with_additions(admitted)
    return _admit_rewrites(draft)


def _admit_rewrites(draft: Draft) -> Draft:
    """Drop the sentences of new summaries that are not admitted; a summary without any other is not rewritten."""
    rewrites: list[Rewrite] = []
    for rewrite in draft.changes.rewrites:
        summary = rewrite.summary if rewrite.edited_by_user else admitted_sentences(rewrite.summary)
        if summary != rewrite.summary:
            draft = draft.with_refusal(rewrite.section, LEFT_OUT)
        if summary:
            rewrites.append(rewrite.model_copy(update={"summary": summary}))
    return replace(draft, changes=draft.changes.model_copy(update={"rewrites": tuple(rewrites)}))
