"""parse_update: parse the model's answer into a change set."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import cache

from langgraph.runtime import Runtime

from memgraph.analysis.episodes import episodes_of, find_episode
from memgraph.context import RunContext
from memgraph.errors import UnreadableAnswerError
from memgraph.models import Check, Episode, MemoryUpdate, Refusal, timestamp
from memgraph.policy import Policy
from memgraph.prompts.check import make_probe, passes_probe, with_answer, with_controls
from memgraph.prompts.parse import AskedAbout, UnreadableError, is_incomplete, parse_answer
from memgraph.prompts.template import PromptTexts
from memgraph.review.decision import item_digests, mark_edited
from memgraph.rules.check import make_check, settle
from memgraph.rules.draft import Draft
from memgraph.rules.watermark import without_progress
from memgraph.state import MessageCalls, Parsed, ParseInput

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

    What the rules would keep of it is checked once by the model, and its answer settles the changes if it is readable;
    it is never asked for again.
    """
    context = runtime.context
    if state.get("question", "update") != "update":
        if "changes" not in state or not (check := state.get("check")):
            return {}
        if check.is_probe:
            return _after_probe(check, state, context)
        answered = with_answer(check, state["response"])
        settled = settle(mark_edited(state["changes"], state.get("change_digests")), answered, state["memory"])
        return {"check": answered, "changes": settled, "change_digests": item_digests(settled)}
    parsed = _parse_changes(state, runtime)
    if "changes" not in parsed:
        return parsed
    changes = _within_calls(parsed["changes"], state, context.policy)
    return {
        **parsed,
        **_to_check(changes, state, context),
        "changes": changes,
        "change_digests": item_digests(changes),
    }


def _within_calls(changes: MemoryUpdate, state: ParseInput, policy: Policy) -> MemoryUpdate:
    """Return *changes*; without calls for another pass the watermark moves past the rest of a long message."""
    if not state["batch"]:  # which a person may have emptied
        return changes
    message_id, ids = without_progress(state["batch"][-1]), changes.message_ids
    calls, is_shown_alone = state.get("message_calls", MessageCalls()).calls, len(state["batch"]) == 1
    may_go_on = policy.max_calls is None or policy.max_calls - calls >= MAX_ATTEMPTS
    if may_go_on or message_id in ids or not (ids or is_shown_alone):
        return changes
    rest = Refusal(
        item="the rest of a long message",
        reason=f"the model is called at most {policy.max_calls} times for one message (max_calls); "
        "the rest is only in its episodes, if these are kept",
    )
    return changes.model_copy(update={"message_ids": (*ids[:-1], message_id), "refused": (*changes.refused, rest)})


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


def _to_check(changes: MemoryUpdate, state: ParseInput, context: RunContext) -> Parsed:
    """Return what the model is asked about *changes*; nothing if they add nothing, or it cannot check.

    A model that was not probed is asked about made-up claims first.
    """
    policy = context.policy
    is_off = policy.verify == "off" or policy.grounding == "off"
    can_check = False if is_off else context.checkers.passed(context.open_model())
    if can_check is False:
        return {"check": None}
    prompt = state["prompt"]
    draft = Draft(
        memory=state["memory"],
        changes=changes,
        policy=policy,
        turns=prompt.shown(state["turns"]),
        slots=context.slots,
    )
    check = make_check(draft, prompt.fact_ids or ())
    if check is None:
        return {"check": None}
    asked = make_probe() if can_check is None else with_controls(check, policy.prompt_language)
    return {"check": asked, "check_is_due": True}


def _after_probe(probe: Check, state: ParseInput, context: RunContext) -> Parsed:
    """Remember what the probe has shown, and check the changes if the model can."""
    if state["response"].text and "changes" in state:  # else the call failed, which shows nothing
        passed = passes_probe(probe, state["response"])
        context.checkers.note(context.open_model(), passed=passed)
        if not passed:
            _log.info("the model cannot check what it learns: it failed the probe, so the rules decide alone")
        return _to_check(state["changes"], state, context)
    return {"check": None}


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
        policy=context.policy,
    )
