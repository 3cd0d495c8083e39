"""The offline model's answer to the upkeep: facts that state the same beyond doubt are merged, and nothing is ended."""

from __future__ import annotations

from operator import not_
from typing import Annotated

from pydantic import BaseModel, Field

from memgraph.prompts.update_prompt import ShownFact
from memgraph.prompts.upkeep_prompt import read_groups, read_summaries
from memgraph.text.similarity import text_similarity

MIN_SIMILARITY = 0.95
"""Similarity from which two facts are merged without a model that understands them."""


class OfflineMerge(BaseModel):
    """Facts that state the same, and the longest of their wordings."""

    ids: tuple[str, ...]
    content: str


class OfflineSummary(BaseModel):
    """What still holds of a summary."""

    section: str
    text: str


class OfflineUpkeep(BaseModel):
    """The answer; whether a fact still holds is not for rules to guess."""

    merge: tuple[OfflineMerge, ...] = ()
    end: tuple[str, ...] = ()
    summaries: Annotated[tuple[OfflineSummary, ...], Field(exclude_if=not_)] = ()


def answer_upkeep(prompt: str) -> OfflineUpkeep:
    """Return which facts of the groups in *prompt* are one, and the summaries as shown: without outdated sentences."""
    return OfflineUpkeep(
        merge=tuple(merge for group in read_groups(prompt) for merge in _merges(group)),
        summaries=tuple(OfflineSummary(section=name, text=text) for name, text in read_summaries(prompt)),
    )


def _merges(group: list[ShownFact]) -> list[OfflineMerge]:
    """Return for each longest wording the shorter ones that state the same as it."""
    left = sorted(group, key=lambda fact: -len(fact.content))
    merges: list[OfflineMerge] = []
    while left:
        longest, *others = left
        same = [fact for fact in others if text_similarity(longest.content, fact.content) >= MIN_SIMILARITY]
        if same:
            ids = tuple(fact.id for fact in (longest, *same))
            merges.append(OfflineMerge(ids=ids, content=longest.content))
        left = [fact for fact in others if fact not in same]
    return merges
