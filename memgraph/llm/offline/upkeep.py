"""The offline model's answer to the upkeep: it merges facts that state the same beyond doubt, and ends nothing."""

from __future__ import annotations

from pydantic import BaseModel

from memgraph.prompts.update_prompt import ShownFact
from memgraph.prompts.upkeep_prompt import read_groups
from memgraph.text.likeness import likeness

MIN_LIKENESS = 0.95
"""Similarity from which two facts are merged without a model that understands them."""


class OfflineMerge(BaseModel):
    """Facts that state the same, and the longest of their wordings."""

    ids: tuple[str, ...]
    content: str


class OfflineUpkeep(BaseModel):
    """The answer; whether a fact still holds is not for rules to guess."""

    merge: tuple[OfflineMerge, ...] = ()
    end: tuple[str, ...] = ()


def answer_upkeep(prompt: str) -> OfflineUpkeep:
    """Return which facts of the groups in *prompt* are one."""
    return OfflineUpkeep(merge=tuple(merge for group in read_groups(prompt) for merge in _merges(group)))


def _merges(group: list[ShownFact]) -> list[OfflineMerge]:
    """Return for each longest wording the shorter ones that state the same as it."""
    left = sorted(group, key=lambda fact: -len(fact.content))
    merges: list[OfflineMerge] = []
    while left:
        longest, *others = left
        same = [fact for fact in others if likeness(longest.content, fact.content) >= MIN_LIKENESS]
        if same:
            ids = tuple(fact.id for fact in (longest, *same))
            merges.append(OfflineMerge(ids=ids, content=longest.content))
        left = [fact for fact in others if fact not in same]
    return merges
