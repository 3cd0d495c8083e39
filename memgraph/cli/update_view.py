"""Shows an update: each node as it runs, with its result and duration, its stages, and finally what changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memgraph.cli.format import format_fact, pluralize, report_lines, show_changes, shown_line, title_of
from memgraph.cli.output import Output
from memgraph.models import Check, MemoryDocument, MemoryUpdate, Prompt, Refusal, Turn
from memgraph.profile import render_value
from memgraph.report import Report, report_changes

if TYPE_CHECKING:
    from memgraph.context import Context

NodeOutput = Mapping[str, Any]


# -- what each node did ----------------------------------------------------------------------------


def _describe_load(output: NodeOutput) -> str:
    memory = output["memory"]
    known = f"{pluralize(len(memory.facts), 'known fact')}" if memory.revision else "no memory yet"
    return f"{known}, {pluralize(output['pending_turns'], 'new turn')}"


def _describe_candidates(output: NodeOutput) -> str:
    kinds = [candidate.kind for candidate in output["candidates"]]
    summaries = ", outdated summaries" if "summaries" in kinds else ""
    return f"{pluralize(kinds.count('alike'), 'group')} of facts that are alike, {kinds.count('stale')} old{summaries}"


def _describe_upkeep_parse(output: NodeOutput) -> str:
    changes = output["changes"]
    summaries = f", {pluralize(len(changes.rewrites), 'summary')}" if changes.rewrites else ""
    return f"{pluralize(len(changes.merges), 'merge')} proposed, {len(changes.removals)} to end{summaries}"


def _describe_call(output: NodeOutput) -> str:
    usage = output["usage"]
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    asked = "check, " if output["question"] == "check" else "retry, " if output["attempt"] > 1 else ""
    return f"{asked}{tokens if usage.input_tokens else 'answered'}"


def _describe_parse(output: NodeOutput) -> str:
    changes, check = output["changes"], output.get("check")
    if check and "check_is_due" not in output:
        return _describe_verdicts(check)
    proposed = f"{pluralize(len(changes.additions), 'fact')} and {pluralize(len(changes.rewrites), 'summary')} proposed"
    removed = f", {len(changes.removals)} to remove" if changes.removals else ""
    asked = f", {pluralize(len([one for one in check.claims if one.addition_id]), 'claim')} to check" if check else ""
    return f"{proposed}{removed}{asked}"


def _describe_verdicts(check: Check) -> str:
    asked = zip(check.claims, check.verdicts, strict=False)
    found = [verdict for claim, verdict in asked if verdict and claim.addition_id]
    if not found:
        return "the check gave no answer that counts"
    kinds = {"yes": "follow", "weaker": "are weaker", "no": "do not follow"}
    counts = [(sum(verdict.follows == kind for verdict in found), text) for kind, text in kinds.items()]
    return ", ".join(f"{count} {text}" for count, text in counts if count)


NOTES: Mapping[str, Callable[[NodeOutput], str]] = MappingProxyType(
    {
        "filter_messages": lambda output: f"{pluralize(len(output['turns']), 'turn')} kept",
        "detect_signals": lambda output: ", ".join(output["signals"]) or "no signals",
        "load_memory": _describe_load,
        "build_prompt": lambda output: f"{pluralize(len(output['batch']), 'turn')} in the prompt",
        "call_model": _describe_call,
        "parse_update": _describe_parse,
        "apply_update": lambda output: f"{len(output['removed'])} removed, {len(output['refused'])} rejected",
        "scrub_uploads": lambda output: f"{pluralize(len(output['uploads']), 'item')} about uploads removed",
        "review_changes": lambda output: "a part waits for a decision" if output.get("altered") else "nothing waits",
        "save_memory": lambda output: (
            f"revision {output['saved'].revision}"
            if "saved" in output
            else "conflict: the memory has changed, retrying"
        ),
        "load_upkeep": lambda output: pluralize(len(output["memory"].facts), "known fact"),
        "find_candidates": _describe_candidates,
        "build_upkeep_prompt": lambda output: f"{pluralize(len(output['prompt'].fact_ids), 'fact')} in the prompt",
        "parse_upkeep": _describe_upkeep_parse,
    }
)
"""One-line descriptions of the outputs of nodes, of the update and of the upkeep."""


def describe_node(name: str, output: NodeOutput) -> str:
    """Describe what a node wrote on one line; empty if it wrote nothing, or is not of an update."""
    if "problem" in output:
        return f"invalid answer: {output['problem']}"
    return NOTES[name](output) if output and name in NOTES else ""


# -- a run -----------------------------------------------------------------------------------------

WAITING_NODE = "call_model"
"""The node that may take minutes."""


class Progress:
    """Prints the nodes of a run from LangGraph's task events; from the second pass on, a running total instead."""

    def __init__(self, output: Output) -> None:
        self.nodes: list[dict[str, Any]] = []
        """Name and seconds of each node that ran."""
        self._output = output
        self._started = 0.0
        self._turns = 0
        self._is_long = False

    def follow(self, event: dict[str, Any]) -> None:
        """Handle the start or end of a task; tasks that are not update nodes are ignored."""
        if event["name"] not in NOTES:
            return
        if "result" in event:
            self._end(event["name"], event["result"] or {})
        else:
            self._started = time.perf_counter()
            if not self._is_long:
                begin = self._output.begin_step if event["name"] == WAITING_NODE else self._output.begin_line
                begin(f"  {event['name']:<16}")

    def _end(self, name: str, output: NodeOutput) -> None:
        seconds = time.perf_counter() - self._started
        self.nodes.append({"node": name, "seconds": round(seconds, 4)})
        if not self._is_long:
            duration = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
            self._output.end_line(f"{duration:>9}  {describe_node(name, output)}")
        if name == "load_memory" and output:
            self._turns = output["pending_turns"]
        if name == "save_memory" and "saved" in output:
            self._end_pass(output["pending_turns"], output["report"])

    def _end_pass(self, left: int, report: Report) -> None:
        self._is_long = self._is_long or left > 0
        if self._is_long:
            learned, turns = self._turns - left, pluralize(self._turns, "turn")
            added, calls = pluralize(len(report.added), "fact"), pluralize(report.usage.calls, "model call")
            self._output.begin_step(f"  {learned:,} of {turns}: {added} added, {calls}")
        if not left:
            self._output.end_line()


OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        "learned": "Learned:",
        "nothing_new": "Nothing new was kept: {why}.",
        "superseded": "Nothing to do: another run has learned from this conversation in the meantime.",
        "forgotten": "Nothing was saved: the memory was deleted in the meantime.",
    }
)
"""Messages by the outcome of an update, with `{why}` for the reason."""
UPKEEP_OUTCOMES: Mapping[str, str] = {**OUTCOMES, "learned": "Changed:", "nothing_new": "Nothing was changed."}
"""Messages by the outcome of an upkeep."""


def show_result(output: Output, final: Mapping[str, Any], storage: str, outcomes: Mapping[str, str] = OUTCOMES) -> None:
    """Print what changed, the cost, and where the memory is stored."""
    report: Report = final.get("report") or Report()
    saved: MemoryDocument | None = final.get("saved")
    output.line()
    output.line(outcomes[final["outcome"]].format(why=shown_line(report.why_unchanged)), "bold")
    show_changes(output, report)
    output.line()
    usage = report.usage
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} tokens out"
    cost = f"{pluralize(usage.calls, 'model call')}, {tokens if usage.input_tokens else 'token counts unknown'}."
    output.line(cost if usage.calls else "The model was not called.")
    if saved:
        output.line(f"Stored in {storage}, revision {saved.revision}: {pluralize(len(saved.facts), 'fact')}.")
    else:
        output.line(f"Nothing was written to {storage}.")


def dump_result(
    final: Mapping[str, Any], context: Context, storage: str, nodes: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the result as a JSON document."""
    report: Report = final.get("report") or Report()
    saved: MemoryDocument | None = final.get("saved")
    return {
        "outcome": final["outcome"],
        "why_unchanged": report.why_unchanged or None,
        "user_id": context.user_id,
        "agent_name": context.agent_name,
        "thread_id": context.thread_id,
        "storage": storage,
        "revision": saved.revision if saved else None,
        "counts": report.counts,
        "as_said": [],
        **report.model_dump(by_alias=True),
        "nodes": nodes,
    }


# -- stages, as a summary and the changes against earlier stages ------------------------------------

MAX_LINES = 12
MAX_CHARS = 120

Before = Mapping[str, Any]


class StageView(NamedTuple):
    """A summary of a stage, and its lines, as those of changes."""

    summary: str
    lines: Sequence[str] = ()


def format_stage(stage: str, before: Before, value: Any) -> StageView:  # noqa: ANN401 - of any type
    """Format the *value* of a stage; *before* has the stages as they were when its node started."""
    view = FORMATTERS.get(stage, _format_json)(before, value)
    if len(view.lines) <= MAX_LINES:
        return view
    more = f"... and {len(view.lines) - MAX_LINES:,} more (s {stage} shows all)"
    return StageView(view.summary, (*view.lines[:MAX_LINES], more))


def truncate_line(text: str) -> str:
    """Return *text* on one line, truncated for display."""
    line = shown_line(text)
    return line if len(line) <= MAX_CHARS else f"{line[:MAX_CHARS]}..."


def _format_turns(_: Before, turns: Sequence[Turn]) -> StageView:
    speakers = ("user" if turn.is_users else shown_line(turn.speaker) or "assistant" for turn in turns)
    lines = [f"{speaker}: {truncate_line(turn.text)}" for speaker, turn in zip(speakers, turns, strict=True)]
    return StageView(pluralize(len(turns), "turn"), lines)


def _format_origin(_: Before, origin: Any) -> StageView:  # noqa: ANN401 - its class imports LangGraph
    return StageView(
        f"{shown_line(str(origin.scope))}, thread {shown_line(origin.thread)!r}, in {shown_line(origin.storage)}"
    )


def _format_memory(compared_with: str, before: Before, memory: MemoryDocument) -> StageView:
    """Format a memory, and what of it this pass changed since another stage."""
    facts = f"{pluralize(len(memory.facts), 'fact')}, revision {memory.revision}"
    earlier: MemoryDocument | None = before.get(compared_with)
    if earlier is None:
        return StageView(facts)
    lines = [
        truncate_line(line.removesuffix(" (removed: removed)"))
        for line in report_lines(report_changes(earlier, memory))
    ]
    return StageView(f"{facts}{'' if lines else ', unchanged'}", lines)


def _format_prompt(_: Before, prompt: Prompt) -> StageView:
    from memgraph.analysis.tokens import count_tokens

    system, human = count_tokens(prompt.system), count_tokens(prompt.human)
    examples = sum(count_tokens(example.human) + count_tokens(example.ai) for example in prompt.examples)
    return StageView(
        f"{system:,} tokens of instructions, {examples:,} of examples, {human:,} of memory and conversation "
        "(show with: s prompt)"
    )


def _format_update(before: Before, changes: MemoryUpdate) -> StageView:
    known: MemoryDocument = before.get("memory") or MemoryDocument()
    facts = {fact.id: fact.content for fact in known.facts}
    lines = [
        *(f"+ [{new.category} | {new.confidence:.2f}] {truncate_line(new.content)}" for new in changes.additions),
        *(
            f"- {truncate_line(facts.get(removal.id, removal.id))} ({truncate_line(removal.reason)})"
            for removal in changes.removals
        ),
        *(f"~ {title_of(rewrite.section)}: {truncate_line(rewrite.summary)}" for rewrite in changes.rewrites),
        *(truncate_line(f"~ {change.field}: {render_value(change.value)}") for change in changes.profile),
        *_refused_lines(changes.refused),
    ]
    return StageView(f"{pluralize(len(lines), 'change')} proposed", lines)


def _refused_lines(refused: Iterable[Refusal]) -> list[str]:
    return [f"x {truncate_line(refusal.item)}: {truncate_line(refusal.reason)}" for refusal in refused]


def _format_refused(_: Before, refused: Sequence[Refusal]) -> StageView:
    return StageView(f"{len(refused)} rejected" if refused else "none", _refused_lines(refused))


def _format_json(_: Before, value: object) -> StageView:
    return StageView(truncate_line(json.dumps(dump_stage(value), ensure_ascii=False)))


def dump_stage(value: object) -> Any:  # noqa: ANN401 - of any type
    """Return the value of a stage as JSON."""
    from memgraph.stepper import as_json  # imports LangGraph

    return as_json(value)


FORMATTERS: Mapping[str, Callable[[Before, Any], StageView]] = MappingProxyType(
    {
        "messages": lambda _, messages: StageView(pluralize(len(messages), "message")),
        "turns": _format_turns,
        "origin": _format_origin,
        "signals": lambda _, names: StageView(", ".join(names) or "none"),
        "memory": partial(_format_memory, "memory"),
        "prompt": _format_prompt,
        "response": lambda _, answer: StageView(f"{len(answer.text):,} characters", [truncate_line(answer.text)]),
        "changes": _format_update,
        "change_digests": lambda _, digests: StageView(f"of {len(digests)} changes"),
        "applied": partial(_format_memory, "memory"),
        "removed": lambda _, removed: StageView(
            f"{len(removed)} removed" if removed else "none",
            [f"- {truncate_line(format_fact(removal.fact))}: {truncate_line(removal.why)}" for removal in removed],
        ),
        "refused": _format_refused,
        "scrubbed": partial(_format_memory, "applied"),
        "uploads": _format_refused,
        "saved": partial(_format_memory, "memory"),
        "report": lambda _, report: StageView(
            ", ".join(f"{count} {name}" for name, count in report.counts.items() if count) or "no changes"
        ),
    }
)
"""Formatters by stage; other stages are shown as JSON."""
