"""Shows an update: each node as it runs, with its result and duration, and finally what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memgraph.cli.format import pluralize, show_changes, shown_line
from memgraph.cli.output import Output
from memgraph.models import Check, MemoryDocument
from memgraph.report import Report

if TYPE_CHECKING:
    from memgraph.context import Context

NodeOutput = Mapping[str, Any]


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
