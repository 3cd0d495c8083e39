"""The prompt of an upkeep, and its answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial

from memgraph.analysis.dates import local_day
from memgraph.analysis.normalize import unescape
from memgraph.analysis.words import language_of_texts
from memgraph.models import Answer, Candidate, MemoryDocument, MemoryUpdate, Merge, Prompt, Refusal, Removal
from memgraph.models.values import JsonObject, as_list, as_object
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
from memgraph.prompts.template import load_template, load_upkeep_template, substitute
from memgraph.prompts.update_prompt import (
    ShownFact,
    read_fact_lines,
    render_block,
    render_day,
    render_facts,
    render_summaries,
)

_SUMMARIES = re.compile(r"<summaries>\n([^<]*)</summaries>")
_GROUP = re.compile(r"<group>\n([^<]*)</group>")


def upkeep_prompt(
    memory: MemoryDocument, candidates: Sequence[Candidate], *, policy: Policy, now: datetime, timezone: str = "UTC"
) -> Prompt:
    """Render the prompt that asks which facts are one, which no longer hold, and how the summaries change.

    Args:
        memory: The memory.
        candidates: The facts to ask about; those that *memory* does not have are left out.
        policy: The language of the prompt.
        now: The time of the upkeep.
        timezone: In which dates are shown.
    """
    known = {fact.id: fact for fact in memory.facts}
    shown = [(one.kind, [known[fact_id] for fact_id in one.ids if fact_id in known]) for one in candidates]
    render = partial(render_facts, policy=policy, timezone=timezone)
    groups = [render("group", facts) for kind, facts in shown if kind == "alike"]
    old, learned = (
        [fact for kind, facts in shown if kind == asked for fact in facts] for asked in ("stale", "summaries")
    )
    asks_for_summaries = any(kind == "summaries" for kind, _ in shown)
    written = render_summaries(memory, policy.section_names) if asks_for_summaries else []
    language = policy.prompt_language
    if language == "auto":
        language = language_of_texts(fact.content for _, facts in shown for fact in facts)
    template = load_upkeep_template(language)
    sections = load_template(language).render_sections(policy.sections)
    return Prompt(
        system=template.system + (substitute(template.summaries, sections=sections) if asks_for_summaries else ""),
        examples=template.examples,
        human=substitute(
            template.human,
            today=render_day(local_day(now, timezone)),
            groups="".join(groups),
            stale=render("old", old),
            summaries=render_block("summaries", written) + render("learned", learned),
        ).strip(),
        fact_ids=tuple(dict.fromkeys(fact.id for _, facts in shown for fact in facts)),
        answer="upkeep",
    )


def read_groups(prompt: str) -> Iterator[list[ShownFact]]:
    """Read the groups back from a prompt."""
    for block in _GROUP.findall(prompt):
        yield list(read_fact_lines(block))


def read_summaries(prompt: str) -> Iterator[tuple[str, str]]:
    """Read the names and the texts of the summaries back from a prompt."""
    for block in _SUMMARIES.findall(prompt):
        for line in block.splitlines():
            name, _, text = line.partition(": ")
            yield name, unescape(text)


# -- the answer -------------------------------------------------------------------------------------

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
    merges = read_items(as_list(found.get("merge")), lambda item: _merge(item, memory, groups), refused)
    stale = {fact_id for one in candidates if one.kind == "stale" for fact_id in one.ids}
    removals = read_items(as_list(found.get("end")), lambda item: _removal(item, stale), refused)
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


def _find_object(answer: Answer) -> JsonObject:
    if answer.refused:
        raise UnreadableError("the model refused to answer")
    if answer.cut_off:  # what it left out would count as kept
        raise UnreadableError("it was cut off before its end; be shorter")
    found = find_last(after_thinking(answer), _as_answer, "{")
    if found is None:
        raise UnreadableError("a JSON object with the keys merge and end was expected, but there is none in it")
    return found


def _as_answer(value: object) -> JsonObject | None:
    found = as_object(value)
    return found if any(isinstance(found.get(key), list) for key in _KEYS) else None


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
    # a manual one stays, else the one that was learned first
    kept = min(facts, key=lambda fact: (not fact.is_manual, fact.created_at))
    return Merge(
        id=kept.id,
        content=kept.content if kept.is_manual else content.strip(),
        merged=tuple(fact.id for fact in facts if fact is not kept),
    )
