"""Each node of an update as it runs: its name, what came of it, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memgraph.cli.format import TITLES, fact_document, fact_line, pluralize
from memgraph.cli.output import Output, one_line
from memgraph.report import Report, Usage

if TYPE_CHECKING:
    from memgraph.context import Context
    from memgraph.models import Memory


Update = dict[str, Any]


def _filtered(update: Update) -> str:
    return f"{pluralize(len(update['turns']), 'turn')} kept"


def _signalled(update: Update) -> str:
    return ", ".join(update["signals"]) or "no signals"


def _loaded(update: Update) -> str:
    memory = update["memory"]
    known = f"{pluralize(len(memory.facts), 'fact')} known" if memory.revision else "nothing known yet"
    return f"{known}, {pluralize(update['pending_turns'], 'turn')} new"


def _prompted(update: Update) -> str:
    return f"asking about {pluralize(len(update['batch']), 'turn')}"


def _answered(update: Update) -> str:
    usage = update["usage"]
    spent = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return f"{'again, ' if update['attempt'] > 1 else ''}{spent if usage.input_tokens else 'answered'}"


def _parsed(update: Update) -> str:
    if "problem" in update:
        return f"could not be read: {update['problem']}"
    changes = update["changes"]
    proposed = f"{pluralize(len(changes.additions), 'fact')} and {pluralize(len(changes.rewrites), 'summary')} proposed"
    return f"{proposed}, {len(changes.removals)} to remove" if changes.removals else proposed


def _applied(update: Update) -> str:
    return f"{len(update['removed'])} removed, {len(update['refused'])} not kept"


def _scrubbed(update: Update) -> str:
    return f"{len(update['uploads'])} about uploads taken out"


def _reviewed(update: Update) -> str:
    return "decided, to be applied so" if update.get("altered") else "agreed to"


def _saved(update: Update) -> str:
    return f"revision {update['saved'].revision}" if "saved" in update else "somebody else saved first"


NOTES: Mapping[str, Callable[[Update], str]] = MappingProxyType(
    {
        "filter_messages": _filtered,
        "detect_signals": _signalled,
        "load_memory": _loaded,
        "build_prompt": _prompted,
        "call_model": _answered,
        "parse_update": _parsed,
        "apply_update": _applied,
        "scrub_uploads": _scrubbed,
        "review_changes": _reviewed,
        "save_memory": _saved,
    }
)
"""What is said of each node's work."""


class Progress:
    """Follows a run by LangGraph's task events."""

    def __init__(self, output: Output) -> None:
        self.nodes: list[dict[str, Any]] = []
        """Each node that ran, and its seconds."""
        self._output = output
        self._since = 0.0

    def follow(self, event: dict[str, Any]) -> None:
        """Take note of a node that begins or ends; what LangGraph puts in beside them is none."""
        if event["name"] not in NOTES:
            return
        if "result" in event:
            self._end(event["name"], event["result"] or {})
        else:
            self._since = time.perf_counter()
            self._output.begin_line(f"  {event['name']:<16}")

    def _end(self, name: str, update: Update) -> None:
        seconds = time.perf_counter() - self._since
        self.nodes.append({"node": name, "seconds": round(seconds, 4)})
        note = NOTES[name](update) if update else ""
        self._output.end_line(f"{_duration(seconds):>9}  {note}")


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        "learned": "Learned:",
        "nothing_new": "Nothing new: all of this was learned before, or none of it was worth keeping.",
        "superseded": "Nothing to do: another run learned from this conversation meanwhile.",
        "forgotten": "Nothing was saved: the memory was deleted meanwhile.",
        "rejected": "Nothing was learned: the changes were refused in review.",
    }
)
"""How a run ended, in plain words."""


def show_result(output: Output, final: Mapping[str, Any], storage: str) -> None:
    """Say what changed, what it cost, and where it is."""
    report: Report = final.get("report") or Report()
    saved: Memory | None = final.get("saved")
    output.line()
    output.line(OUTCOMES[final["outcome"]], "bold")
    show_changes(output, report)
    output.line()
    output.line(_cost(report.usage))
    if saved:
        output.line(f"Stored in {storage}, revision {saved.revision}: {pluralize(len(saved.facts), 'fact')}.")
    else:
        output.line(f"Nothing was written to {storage}.")


def show_changes(output: Output, report: Report) -> None:
    """Say what changed, line by line."""
    for fact in report.added:
        output.line(f"+ {fact_line(fact)}", "green", indent=2)
    for fact in report.confirmed:
        output.line(f"= {fact_line(fact)}, said again", indent=2)
    for gone in report.removed:
        output.line(f"- {fact_line(gone.fact)}, removed: {one_line(gone.why)}", "red", indent=2)
    for section in report.rewritten:
        output.line(f"~ {TITLES[section.section]}: {one_line(section.after)}", "cyan", indent=2)
    for refusal in report.refused:
        output.line(f"x {one_line(refusal.item)}, not kept: {one_line(refusal.reason)}", "dim", indent=2)


def _cost(usage: Usage) -> str:
    if not usage.calls:
        return "The model was not called."
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} tokens out"
    return f"{pluralize(usage.calls, 'model call')}, {tokens if usage.input_tokens else 'tokens not counted'}."


def result_document(
    final: Mapping[str, Any], context: Context, storage: str, nodes: list[dict[str, Any]]
) -> dict[str, Any]:
    """The same as a JSON document."""
    report: Report = final.get("report") or Report()
    saved: Memory | None = final.get("saved")
    return {
        "outcome": final["outcome"],
        "user_id": context.user_id,
        "agent_name": context.agent_name,
        "thread_id": context.thread_id,
        "storage": storage,
        "revision": saved.revision if saved else None,
        "counts": report.counts,
        "added": [fact_document(fact) for fact in report.added],
        "confirmed": [fact_document(fact) for fact in report.confirmed],
        "removed": [{"fact": fact_document(gone.fact), "why": gone.why} for gone in report.removed],
        "rewritten": [section.model_dump() for section in report.rewritten],
        "refused": [refusal.model_dump() for refusal in report.refused],
        "usage": report.usage.model_dump(),
        "nodes": nodes,
    }
