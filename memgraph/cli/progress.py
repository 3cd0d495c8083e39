"""Each node of an update as it runs: its name, what came of it, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from memgraph.cli.format import pluralize
from memgraph.cli.output import Output

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

    def __init__(self, screen: Output) -> None:
        self.nodes: list[dict[str, Any]] = []
        """Each node that ran, and its seconds."""
        self._screen = screen
        self._since = 0.0

    def follow(self, event: dict[str, Any]) -> None:
        """Take note of a node that begins or ends; what LangGraph puts in beside them is none."""
        if event["name"] not in NOTES:
            return
        if "result" in event:
            self._end(event["name"], event["result"] or {})
        else:
            self._since = time.perf_counter()
            self._screen.begin_line(f"  {event['name']:<16}")

    def _end(self, name: str, update: Update) -> None:
        seconds = time.perf_counter() - self._since
        self.nodes.append({"node": name, "seconds": round(seconds, 4)})
        note = NOTES[name](update) if update else ""
        self._screen.end_line(f"{_duration(seconds):>9}  {note}")


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
