"""Parse a model's answer to the upkeep into a change set. Invalid items are refused one by one; the others are used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from memgraph.models import Answer, Candidate, Fact, MemoryDocument, MemoryUpdate, Merge, Refusal, Removal
from memgraph.policy import Policy
from memgraph.prompts.json_text import find_last
from memgraph.prompts.parse import (
    AskedAbout,
    InvalidItemError,
    UnreadableError,
    after_thinking,
    preview,
    read_fact_ids,
    read_fields,
    read_items,
    read_rewrites,
)

_KEYS = ("merge", "end", "summaries")
_MIN_MERGED = 2


def parse_upkeep_answer(
    answer: Answer,
    memory: MemoryDocument,
    candidates: Sequence[Candidate],
    *,
    at: str,
    thread: str,
    policy: Policy,
) -> MemoryUpdate:
    """Return the changes that the model proposed: which facts are one, which no longer hold, and summaries.

    Args:
        answer: The model's answer; the last JSON object in it with `merge`, `end` or `summaries` counts.
        memory: The memory that was shown.
        candidates: What was asked about.
        at: When it answered, ISO 8601 in UTC.
        thread: The thread of the run, or "unknown".
        policy: Of the summaries that may be rewritten.

    Raises:
        UnreadableError: If the answer contains no such object, or was cut off before its end.
    """
    found = _find_object(answer)
    refused: list[Refusal] = []
    groups = [set(one.ids) for one in candidates if one.kind == "alike"]
    merges = read_items(_list(found, "merge"), lambda item: _merge(item, memory, groups), refused)
    stale = {fact_id for one in candidates if one.kind == "stale" for fact_id in one.ids}
    removals = read_items(_list(found, "end"), lambda item: _removal(item, stale), refused)
    asks_for_summaries = any(one.kind == "summaries" for one in candidates)
    rewrites = read_rewrites(found, AskedAbout(memory, policy=policy), refused) if asks_for_summaries else ()
    return MemoryUpdate(
        at=at,
        thread=thread,
        message_ids=(),
        rewrites=tuple(rewrite for rewrite in rewrites if rewrite.summary != rewrite.base),
        merges=merges,
        removals=tuple({removal.id: removal for removal in removals}.values()),
        refused=tuple(refused),
        asked=tuple(one.digest for one in candidates),
    )


def _find_object(answer: Answer) -> Mapping[str, object]:
    if answer.refused:
        raise UnreadableError("the model refused to answer")
    if answer.cut_off:  # what it left out would count as kept
        raise UnreadableError("it was cut off before its end; be shorter")
    found = find_last(after_thinking(answer), _as_object, "{")
    if found is None:
        raise UnreadableError("a JSON object with the keys merge and end was expected, but there is none in it")
    return found


def _as_object(value: object) -> Mapping[str, object] | None:
    if not isinstance(value, dict):
        return None
    found = cast("Mapping[str, object]", value)
    return found if any(isinstance(found.get(key), list) for key in _KEYS) else None


def _list(found: Mapping[str, object], key: str) -> list[object]:
    items = found.get(key)
    return cast("list[object]", items) if isinstance(items, list) else []


def _removal(item: object, stale: Collection[str]) -> Removal:
    fact_id = read_fields(item, main_key="id").get("id")
    if not isinstance(fact_id, str) or fact_id not in stale:
        raise InvalidItemError(preview(item), "it is not one of the old facts")
    return Removal(id=fact_id, reason="it no longer holds, and was not repeated")


def _merge(item: object, memory: MemoryDocument, groups: Sequence[set[str]]) -> Merge:
    """Return the merge of facts of one of *groups*, which lose them: no fact is merged twice."""
    fields = read_fields(item, main_key="content")
    ids, content = dict.fromkeys(read_fact_ids(fields.get("ids"))), fields.get("content")
    if not isinstance(content, str) or not content.strip():
        raise InvalidItemError(preview(item), "it has no content")
    if len(ids) < _MIN_MERGED or not any(group.issuperset(ids) for group in groups):
        raise InvalidItemError(preview(item), "its ids are not two or more of one group")
    facts = [fact for fact in memory.facts if fact.id in ids]
    for group in groups:
        group.difference_update(fact.id for fact in facts)
    kept = min(facts, key=_precedence)
    return Merge(
        id=kept.id,
        content=kept.content if kept.is_manual else content.strip(),
        merged=tuple(fact.id for fact in facts if fact is not kept),
    )


def _precedence(fact: Fact) -> tuple[bool, str]:
    """Return the order in which a fact stays: a manual one, else the one that was learned first."""
    return not fact.is_manual, fact.created_at
