"""Keep only what is known in summaries: a new sentence must rest on facts."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from memgraph.models import MemoryDocument, Refusal, Rewrite
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.rules.draft import Draft
from memgraph.rules.rewrite import cut_summary
from memgraph.text.normalize import fact_key
from memgraph.text.restatement import Sources
from memgraph.text.sentences import sentences

REASON = "it states more than the facts that it rests on"


def ground_summaries(draft: Draft) -> Draft:
    """Leave out the sentences of new summaries that add to the facts; a summary without any other is not rewritten.

    A sentence rests on known facts and on the additions that `ground` has accepted, and has no word, denial, time or
    person that they have not. What was in the summary before stays. Summaries that a reviewer wrote pass.
    """
    if draft.policy.grounding == "off" or not draft.changes.rewrites:
        return draft
    sources = _Sources(draft)
    rewrites: list[Rewrite] = []
    refused: list[Refusal] = []
    for rewrite in draft.changes.rewrites:
        kept, dropped = ([rewrite.summary], []) if rewrite.edited_by_user else sources.split(rewrite)
        refused += [Refusal(item=sentence.strip(), reason=REASON) for sentence in dropped]
        if kept:
            rewrites.append(rewrite.model_copy(update={"summary": "".join(kept)}) if dropped else rewrite)
    changes = draft.changes.model_copy(update={"rewrites": tuple(rewrites)})
    return replace(draft, changes=changes, refused=(*draft.refused, *refused))


class _Sources:
    """What the summaries of one update may rest on."""

    def __init__(self, draft: Draft) -> None:
        self._memory = draft.memory
        self._policy = draft.policy
        self._accepted = [addition.content for addition in draft.changes.additions]

    def split(self, rewrite: Rewrite) -> tuple[list[str], list[str]]:
        """Return the sentences of a summary that rest on something, and the others."""
        is_base = rewrite.base == self._memory.section(rewrite.section).summary
        before = self._current.section(rewrite.section).summary if is_base else rewrite.base
        known = frozenset(map(fact_key, sentences(before)))
        kept: list[str] = []
        dropped: list[str] = []
        for sentence in sentences(cut_summary(rewrite.summary, self._policy.summary_tokens(rewrite.section))):
            holds = fact_key(sentence) in known or self._facts.hold(sentence)
            (kept if holds else dropped).append(sentence)
        return kept, dropped

    @cached_property
    def _current(self) -> MemoryDocument:
        """The memory with what still holds of its summaries."""
        return with_current_summaries(self._memory)

    @cached_property
    def _facts(self) -> Sources:
        return Sources([*self._accepted, *(fact.content for fact in self._memory.facts)])
