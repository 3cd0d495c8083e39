"""Shows the stages of an update, as a summary and the changes against earlier stages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memgraph.cli.format import format_fact, pluralize, title_of
from memgraph.cli.output import Output, one_line
from memgraph.cli.update_view import NOTES, show_result
from memgraph.models import MemoryDocument, MemoryUpdate, Prompt, Refusal, Scope, Turn
from memgraph.profile import render_value
from memgraph.report import RemovedFact, Report, RewrittenSection, diff

if TYPE_CHECKING:
    from memgraph.stepper import Step, Stepper


MAX_LINES = 12
MAX_CHARS = 120

Before = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StageView:
    """A summary of a stage and its lines: `+` added, `-` removed, `~` rewritten, `x` rejected."""

    summary: str
    lines: Sequence[str] = ()


def format_stage(stage: str, before: Before, value: Any) -> StageView:  # noqa: ANN401 - of any type
    """Format the *value* of a stage; *before* has the stages as they were when its node started."""
    view = FORMATTERS.get(stage, _format_json)(stage, before, value)
    if len(view.lines) <= MAX_LINES:
        return view
    more = f"... and {len(view.lines) - MAX_LINES:,} more (s {stage} shows all)"
    return StageView(view.summary, (*view.lines[:MAX_LINES], more))


def truncate(text: str) -> str:
    """Return *text* on one line, truncated for display."""
    line = one_line(text)
    return line if len(line) <= MAX_CHARS else f"{line[:MAX_CHARS]}..."


def _format_messages(_stage: str, _before: Before, messages: Sequence[object]) -> StageView:
    return StageView(pluralize(len(messages), "message"))


def _format_turns(_stage: str, _before: Before, turns: Sequence[Turn]) -> StageView:
    lines = [f"{_author(turn)}: {truncate(turn.text)}" for turn in turns]
    return StageView(pluralize(len(turns), "turn"), lines)


def _author(turn: Turn) -> str:
    return "user" if turn.is_users else one_line(turn.speaker) or "assistant"


def _format_origin(_stage: str, _before: Before, origin: Any) -> StageView:  # noqa: ANN401 - its class imports LangGraph
    scope: Scope = origin.scope
    return StageView(f"{one_line(str(scope))}, thread {one_line(origin.thread)!r}, in {one_line(origin.storage)}")


def _format_names(_stage: str, _before: Before, names: Iterable[str]) -> StageView:
    return StageView(", ".join(names) or "none")


_COMPARED_WITH: Mapping[str, str] = MappingProxyType(
    {"applied": "memory", "scrubbed": "applied", "saved": "memory", "memory": "memory"}
)
"""The stage that each memory is compared with, so that only the changes of this pass are shown."""


def _format_memory(stage: str, before: Before, memory: MemoryDocument) -> StageView:
    facts = f"{pluralize(len(memory.facts), 'fact')}, revision {memory.revision}"
    earlier: MemoryDocument | None = before.get(_COMPARED_WITH[stage])
    if earlier is None:
        return StageView(facts)
    changes = _format_changes(diff(earlier, memory))
    return StageView(f"{facts}{'' if changes else ', unchanged'}", changes)


def _format_changes(report: Report) -> list[str]:
    return [
        *(f"+ {truncate(format_fact(fact))}" for fact in report.added),
        *(f"= {truncate(format_fact(fact))}" for fact in report.confirmed),
        *(f"? {truncate(format_fact(claim))}" for claim in report.as_said),
        *(f"- {truncate(format_fact(removed.fact))}" for removed in report.removed),
        *(line for section in report.rewritten for line in _format_rewritten(section)),
        *(truncate(f"~ {change.field}: {render_value(change.after)}") for change in report.profile),
    ]


def _format_rewritten(section: RewrittenSection) -> list[str]:
    title = title_of(section.section)
    if not section.before:
        return [f"~ {title}: {truncate(section.after)}"]
    return [f"~ {title}, before: {truncate(section.before)}", f"~ {title}, after: {truncate(section.after)}"]


def _format_prompt(_stage: str, _before: Before, prompt: Prompt) -> StageView:
    from memgraph.text.tokens import count_tokens

    system, human = count_tokens(prompt.system), count_tokens(prompt.human)
    examples = sum(count_tokens(example.human) + count_tokens(example.ai) for example in prompt.examples)
    return StageView(
        f"{system:,} tokens of instructions, {examples:,} of examples, {human:,} of memory and conversation "
        "(show with: s prompt)"
    )


def _format_response(_stage: str, _before: Before, response: Any) -> StageView:  # noqa: ANN401
    return StageView(f"{len(response.text):,} characters", [truncate(response.text)])


def _format_update(_stage: str, before: Before, changes: MemoryUpdate) -> StageView:
    known: MemoryDocument = before.get("memory") or MemoryDocument()
    facts = {fact.id: fact.content for fact in known.facts}
    lines = [
        *(f"+ [{new.category} | {new.confidence:.2f}] {truncate(new.content)}" for new in changes.additions),
        *(
            f"- {truncate(facts.get(removal.id, removal.id))} ({truncate(removal.reason)})"
            for removal in changes.removals
        ),
        *(f"~ {title_of(rewrite.section)}: {truncate(rewrite.summary)}" for rewrite in changes.rewrites),
        *(truncate(f"~ {change.field}: {render_value(change.value)}") for change in changes.profile),
        *_format_refused(changes.refused),
    ]
    return StageView(f"{pluralize(len(lines), 'change')} proposed", lines)


def _format_refused(refused: Iterable[Refusal]) -> list[str]:
    return [f"x {truncate(refusal.item)}: {truncate(refusal.reason)}" for refusal in refused]


def _format_refusals(_stage: str, _before: Before, refused: Sequence[Refusal]) -> StageView:
    return StageView(f"{len(refused)} rejected" if refused else "none", _format_refused(refused))


def _format_removed(_stage: str, _before: Before, removed: Sequence[RemovedFact]) -> StageView:
    lines = [f"- {truncate(format_fact(removal.fact))}: {truncate(removal.why)}" for removal in removed]
    return StageView(f"{len(removed)} removed" if removed else "none", lines)


def _format_report(_stage: str, _before: Before, report: Report) -> StageView:
    return StageView(", ".join(f"{count} {name}" for name, count in report.counts.items() if count) or "no changes")


def _format_digests(_stage: str, _before: Before, digests: Sequence[str]) -> StageView:
    return StageView(f"of {len(digests)} changes")


def _format_json(_stage: str, _before: Before, value: object) -> StageView:
    from memgraph.stepper import as_json

    return StageView(truncate(json.dumps(as_json(value), ensure_ascii=False)))


FORMATTERS: Mapping[str, Callable[[str, Before, Any], StageView]] = MappingProxyType(
    {
        "messages": _format_messages,
        "turns": _format_turns,
        "origin": _format_origin,
        "signals": _format_names,
        "memory": _format_memory,
        "prompt": _format_prompt,
        "response": _format_response,
        "changes": _format_update,
        "change_digests": _format_digests,
        "applied": _format_memory,
        "removed": _format_removed,
        "refused": _format_refusals,
        "scrubbed": _format_memory,
        "uploads": _format_refusals,
        "saved": _format_memory,
        "report": _format_report,
    }
)
"""Formatters by stage; other stages are shown as JSON."""


STYLES: Mapping[str, str] = MappingProxyType({"+": "green", "-": "red", "~": "cyan", "x": "dim"})
"""Styles by the first character of a line."""


class StepPrinter:
    """Prints steps, stages and the next action.

    Args:
        output: Terminal output.
        location: Where the memory is stored, for display.
    """

    def __init__(self, output: Output, location: str) -> None:
        self._output = output
        self._location = location

    def step(self, step: Step) -> None:
        """Print what a node wrote, stage by stage."""
        if not step.wrote:  # there was nothing to review
            return
        note = NOTES[step.node](dict(step.wrote)) if step.node in NOTES else ""
        self._output.line(f"{step.node}: {note}" if note else step.node, "bold")
        printed: list[object] = []
        for stage, value in step.wrote.items():
            is_repeated = any(value is other for other in printed)  # save_memory writes one memory to two stages
            self.stage(stage, step.before, value, summary_only=is_repeated)
            printed.append(value)

    def stage(self, stage: str, before: Mapping[str, Any], value: object, *, summary_only: bool = False) -> None:
        """Print a stage: its summary, and its lines unless *summary_only*."""
        view = format_stage(stage, before, value)
        self._output.line(f"{stage:<10} {view.summary}", indent=2)
        for line in () if summary_only else view.lines:
            self._output.line(line, STYLES.get(line[0], ""), indent=4)

    def next(self, stepper: Stepper) -> None:
        """Print the next node or the result."""
        if stepper.next_node is None:
            show_result(self._output, stepper.stages, self._location)
            self._output.line("The update has ended. Enter: quit, b: go back.", "dim")
        else:
            reads = [stage for stage in stepper.reads if stage in stepper.stages]
            self._output.line(f"Next: {stepper.next_node} (reads {', '.join(reads)})", "dim")
