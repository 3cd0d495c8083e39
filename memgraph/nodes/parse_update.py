"""parse_update: parse the model's answer into a change set."""

from __future__ import annotations

import logging
import math
from datetime import UTC, datetime
from functools import cache

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.errors import EmbeddingError, UnreadableAnswerError
from memgraph.models import Episode, MemoryUpdate, Refusal, timestamp
from memgraph.policy import Policy
from memgraph.prompts.copies import PromptTexts
from memgraph.prompts.parse import AskedAbout, UnreadableError, is_incomplete, parse_answer
from memgraph.prompts.reconcile import parse_verdicts, reconcile_prompt
from memgraph.review import item_digests, mark_edited
from memgraph.rules.conflicts import likely_conflicts, settle, with_control
from memgraph.rules.repeats import mark_repeats
from memgraph.rules.watermark import without_progress
from memgraph.state import MessageCalls, Parsed, ParseInput
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
    batches. A single turn is not shown again if the provider named its length limit, since its answer would be cut off
    again; otherwise its answer is unreadable.

    If the changes likely contradict known facts, the model is asked about these once; its answer settles the changes if
    it is readable, and is never asked for again. With an embedding model the other additions are compared with the
    known facts by their meaning too.
    """
    if state.get("question") == "conflicts":
        verdicts = parse_verdicts(state["response"], state.get("likely_conflicts", ()))
        slots = runtime.context.slots
        if "changes" not in state:
            return {}
        changes = mark_edited(state["changes"], state.get("change_digests"))
        settled = _within_calls(settle(changes, verdicts, state["memory"], slots), state, runtime.context.policy)
        return {"changes": settled, "change_digests": item_digests(settled)}
    parsed = _parse_changes(state, runtime)
    if "changes" not in parsed:
        return parsed
    looked = _second_look(parsed["changes"], state, runtime.context)
    undecided = frozenset(conflict.addition_id for conflict in looked.get("likely_conflicts", ()))
    compared = _compare_meaning(parsed["changes"], state, runtime.context, undecided)
    if "second_look" not in looked:
        compared = _within_calls(compared, state, runtime.context.policy)
    return {**parsed, **looked, "changes": compared, "change_digests": item_digests(compared)}


def _calls_left(state: ParseInput, policy: Policy) -> float:
    """Return how often the model may still be called for the last message of this pass."""
    return math.inf if policy.max_calls is None else policy.max_calls - state.get("message_calls", MessageCalls()).calls


def _within_calls(changes: MemoryUpdate, state: ParseInput, policy: Policy) -> MemoryUpdate:
    """Return *changes*; without calls for another pass the watermark moves past the rest of a long message."""
    message_id, ids = without_progress(state["batch"][-1]), changes.message_ids
    is_shown_alone = len(state["batch"]) == 1
    if _calls_left(state, policy) >= MAX_ATTEMPTS or message_id in ids or not (ids or is_shown_alone):
        return changes
    rest = Refusal(
        item="the rest of a long message",
        reason=f"the model is called at most {policy.max_calls} times for one message (max_calls); "
        "the rest is only in its episodes, if these are kept",
    )
    return changes.model_copy(update={"message_ids": (*ids[:-1], message_id), "refused": (*changes.refused, rest)})


def _compare_meaning(
    changes: MemoryUpdate, state: ParseInput, context: RunContext, undecided: frozenset[str]
) -> MemoryUpdate:
    """Return *changes* with the known facts that they repeat by their meaning, if there is an embedding model."""
    meaning, origin = context.meaning, state["origin"]
    if meaning is None:
        return changes
    vectors = context.require_storage(origin).vectors(origin.scope)
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
    is_unended = is_cut_off and not can_split and not answer.cut_off
    at, thread = timestamp(datetime.now(UTC)), state["origin"].thread
    try:
        changes = parse_answer(
            answer,
            _asked_about(state, runtime.context),
            at=at,
            thread=thread,
            message_ids=() if can_split else state["batch"],
        )
        if any(turn.by_tool for turn in state["turns"]):
            changes = changes.model_copy(update={"origin": "tool"})
        _require_end(is_unended=is_unended)
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


def _require_end(*, is_unended: bool) -> None:
    if is_unended:
        raise UnreadableError("it ends within its JSON object, so a part of it is missing")


def _second_look(changes: MemoryUpdate, state: ParseInput, context: RunContext) -> Parsed:
    """Return the prompt that asks about likely conflicts; none if there are none, or no call is left for it."""
    memory, policy = state["memory"], context.policy
    shown = state["prompt"].shown(state["turns"])
    may_ask = policy.reconcile != "off" and _calls_left(state, policy) >= 1
    likely = likely_conflicts(changes, memory, shown, policy, context.slots) if may_ask else ()
    conflicts = with_control(likely, changes, memory, context.slots)
    if not conflicts:
        return {"likely_conflicts": ()}
    prompt = reconcile_prompt(conflicts, changes, memory, language=policy.prompt_language, timezone=context.timezone)
    return {"likely_conflicts": conflicts, "second_look": prompt}


def _asked_about(state: ParseInput, context: RunContext) -> AskedAbout:
    turns = {turn.id: turn for turn in state["turns"]}
    shown = {turn.id: turn for turn in state["prompt"].shown(state["turns"])}
    numbered = enumerate(state["prompt"].turn_ids, 1)

    @cache  # many facts may quote one turn
    def kept(turn_id: str) -> tuple[Episode, ...]:
        return episodes_of([turns[turn_id]], thread=state["origin"].thread, policy=context.policy)

    return AskedAbout(
        memory=state["memory"],
        turns={number: shown[turn_id] for number, turn_id in numbered if turn_id in shown},
        texts=PromptTexts(state["prompt"]),
        episode_of=lambda turn, words: find_episode(kept(turn.id), words),
        timezone=context.timezone,
        categories=context.policy.category_names,
        sections=context.policy.section_names,
        has_profile=context.policy.profile is not None,
    )
