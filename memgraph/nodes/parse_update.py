"""parse_update: parse the model's answer into a change set."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import cache

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import EmbeddingError, UnreadableAnswerError
from memgraph.models import Episode, MemoryUpdate, Refusal, timestamp
from memgraph.prompts.copies import PromptTexts
from memgraph.prompts.parse import AskedAbout, UnreadableError, is_incomplete, parse_answer
from memgraph.prompts.reconcile import parse_verdicts, reconcile_prompt
from memgraph.rules.conflicts import (
    MAX_CONFLICTS,
    doubtful_questions,
    doubtful_replacements,
    likely_conflicts,
    settle,
    without_replacements,
)
from memgraph.rules.repeats import mark_repeats
from memgraph.rules.watermark import without_progress
from memgraph.state import Parsed, ParseInput
from memgraph.text.episodes import episodes_of, find_episode

_log = logging.getLogger("memgraph.update")

MAX_ATTEMPTS = 2
"""Maximum number of answers, the second after an unreadable one."""
_CUT_OFF = Refusal(
    item="the rest of the answer",
    reason="it was cut off, at the length limit of the model or since it repeated itself, even for a single turn",
)


def parse_update(state: ParseInput, runtime: Runtime[RunContext]) -> Parsed:
    """Parse the answer. After the first unreadable answer the model is asked again; the second ends the run.

    If the answer was cut off, what it contains is used, but its turns stay pending: they are shown again in smaller
    batches. A single turn is not shown again, since its answer would be cut off again.

    If the changes likely contradict known facts, or replace one with which they have nothing in common, the model is
    asked about these once; its answer settles the changes if it is readable, and is never asked for again. With an
    embedding model the other additions are compared with the known facts by their meaning too.
    """
    if state.get("question") == "conflicts":
        verdicts = parse_verdicts(state["response"], state.get("likely_conflicts", ()))
        slots = runtime.context.slots
        return {"changes": settle(state["changes"], verdicts, state["memory"], slots)} if "changes" in state else {}
    parsed = _parse_changes(state, runtime)
    if "changes" not in parsed:
        return parsed
    looked = _second_look(parsed["changes"], state, runtime.context)
    undecided = frozenset(conflict.addition_id for conflict in looked.get("likely_conflicts", ()))
    changes = looked.get("changes", parsed["changes"])
    return {**parsed, **looked, "changes": _compare_meaning(changes, state, runtime.context, undecided)}


def _compare_meaning(
    changes: MemoryUpdate, state: ParseInput, context: RunContext, undecided: frozenset[str]
) -> MemoryUpdate:
    """Return *changes* with the known facts that they repeat by their meaning, if there is an embedding model."""
    meaning, origin = context.meaning, state["origin"]
    if meaning is None:
        return changes
    vectors = context.require_storage(origin.storage).vectors(origin.scope)
    try:
        return mark_repeats(
            changes, state["memory"], context.slots, lambda pairs: meaning.similarities(pairs, vectors), undecided
        )
    except EmbeddingError as error:
        _log.warning("known facts are compared by their words only: %s", error)
        return changes


def _parse_changes(state: ParseInput, runtime: Runtime[RunContext]) -> Parsed:
    answer, is_cut_off = state["response"], is_incomplete(state["response"])
    new_ids = frozenset(map(without_progress, state["batch"]))
    shown = sum(turn_id in new_ids for turn_id in state["prompt"].turn_ids)
    can_split = is_cut_off and shown > 1
    at, thread = timestamp(datetime.now(UTC)), state["origin"].thread
    try:
        changes = parse_answer(
            answer,
            _asked_about(state, runtime.context),
            at=at,
            thread=thread,
            message_ids=() if can_split else state["batch"],
        )
    except UnreadableError as error:
        if can_split:
            return {"changes": MemoryUpdate(at=at, thread=thread, message_ids=()), "batch_limit": shown // 2}
        if state["attempt"] >= MAX_ATTEMPTS:
            raise UnreadableAnswerError(str(error)) from error
        return {"problem": str(error)}
    if can_split:
        return {"changes": changes, "batch_limit": shown // 2}
    if is_cut_off:
        changes = changes.model_copy(update={"refused": (*changes.refused, _CUT_OFF)})
    return {"changes": changes}


def _second_look(changes: MemoryUpdate, state: ParseInput, context: RunContext) -> Parsed:
    """Return *changes* without doubtful replacements, and the prompt that asks about these and about likely conflicts.

    There is no prompt if there is nothing to ask about, or if a second look is never wanted.
    """
    memory, policy = state["memory"], context.policy
    shown = state["prompt"].shown(state["turns"])
    doubtful = doubtful_replacements(changes, memory, shown, context.slots)
    changes = without_replacements(changes, doubtful)
    if policy.reconcile == "off":
        return {"changes": changes, "likely_conflicts": ()}
    asked = doubtful_questions(doubtful, changes, memory, shown, context.slots)
    likely = likely_conflicts(changes, memory, shown, policy, context.slots)
    conflicts = tuple(dict.fromkeys((*asked, *likely)))[:MAX_CONFLICTS]
    if not conflicts:
        return {"changes": changes, "likely_conflicts": ()}
    prompt = reconcile_prompt(conflicts, changes, memory, language=policy.prompt_language, timezone=context.timezone)
    return {"changes": changes, "likely_conflicts": conflicts, "second_look": prompt}


def _asked_about(state: ParseInput, context: RunContext) -> AskedAbout:
    turns = {turn.id: turn for turn in state["turns"]}
    numbered = enumerate(state["prompt"].turn_ids, 1)

    @cache  # many facts may quote one turn
    def kept(turn_id: str) -> tuple[Episode, ...]:
        return episodes_of([turns[turn_id]], thread=state["origin"].thread, policy=context.policy)

    return AskedAbout(
        memory=state["memory"],
        turns={number: turns[turn_id] for number, turn_id in numbered if turn_id in turns},
        texts=PromptTexts(state["prompt"]),
        episode_of=lambda turn, words: find_episode(kept(turn.id), words),
        timezone=context.timezone,
        categories=context.policy.category_names,
        sections=context.policy.section_names,
        has_profile=context.policy.profile is not None,
    )
