"""Shows the stages of an update, as a summary and the changes against earlier stages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from memgraph.cli.format import format_fact, pluralize, report_lines, shown_line, title_of
from memgraph.models import MemoryDocument, MemoryUpdate, Prompt, Refusal, Turn
from memgraph.profile import render_value
from memgraph.report import report_changes

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
    from memgraph.text.tokens import count_tokens

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
