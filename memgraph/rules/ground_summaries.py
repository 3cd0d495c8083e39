"""Keep only what is known in summaries: a new sentence must rest on the user's words, the facts or the old summary."""

from __future__ import annotations

from dataclasses import replace

from memgraph.models import Addition, Refusal, Rewrite
from memgraph.rules.draft import Draft
from memgraph.rules.ground import SaidWords
from memgraph.text.sentences import sentences


def ground_summaries(draft: Draft) -> Draft:
    """Leave out the sentences of new summaries that rest on nothing; a summary without any other is not rewritten.

    A sentence may use the user's own words in the turns that the prompt showed, the summary before, the known facts
    and the additions that `ground` has accepted. Summaries that a reviewer wrote pass.
    """
    if draft.policy.grounding == "off" or not draft.changes.rewrites:
        return draft
    said = SaidWords(draft.turns, draft.memory)
    rewrites: list[Rewrite] = []
    refused: list[Refusal] = []
    for rewrite in draft.changes.rewrites:
        kept, dropped = ([rewrite.summary], []) if rewrite.edited_by_user else _split(rewrite, said, draft)
        refused += [
            Refusal(item=sentence.strip(), reason="the words of the user and the facts do not support it")
            for sentence in dropped
        ]
        if kept:
            rewrites.append(rewrite.model_copy(update={"summary": "".join(kept)}) if dropped else rewrite)
    changes = draft.changes.model_copy(update={"rewrites": tuple(rewrites)})
    return replace(draft, changes=changes, refused=(*draft.refused, *refused))


def _split(rewrite: Rewrite, said: SaidWords, draft: Draft) -> tuple[list[str], list[str]]:
    """Return the sentences of a summary that rest on something, and the others."""
    mode = draft.policy.grounding
    admitted = [addition.content for addition in draft.changes.additions]
    near = [rewrite.base, *admitted]
    kept: list[str] = []
    dropped: list[str] = []
    for sentence in sentences(rewrite.summary):
        claim = Addition(id="", content=sentence.strip())
        # all facts of a large memory are read only for a sentence that rests on nothing nearer
        is_known = said.missing(claim, None, near, mode) is None or (
            said.missing(claim, None, [*near, *(fact.content for fact in draft.memory.facts)], mode) is None
        )
        (kept if is_known else dropped).append(sentence)
    return kept, dropped
