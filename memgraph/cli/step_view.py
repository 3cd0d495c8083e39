"""How the stages of an update are said to people: what is different, in a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memgraph.cli.format import TITLES, fact_line, pluralize
from memgraph.cli.output import one_line
from memgraph.cli.review_view import show_proposal
from memgraph.cli.update_view import NOTES, show_result
from memgraph.models import Memory, MemoryUpdate, Prompt, Refusal, Scope, Turn
from memgraph.report import RemovedFact, Report, RewrittenSection, diff
from memgraph.review import Proposal

if TYPE_CHECKING:
    from memgraph.cli.output import Output
    from memgraph.stepper import Step, Stepper


MOST_LINES = 12
SHOWN_CHARS = 120

Before = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StageView:
    """A stage in short, and line by line: `+` is new, `-` gone, `~` rewritten, `x` not kept."""

    summary: str
    lines: Sequence[str] = ()


def format_stage(stage: str, before: Before, value: Any) -> StageView:  # noqa: ANN401 - of any type
    """Say what *stage* holds now; *before* is all there was when its node began."""
    found = SHOWS.get(stage, _json)(stage, before, value)
    if len(found.lines) <= MOST_LINES:
        return found
    more = f"... and {len(found.lines) - MOST_LINES:,} more (s {stage} shows all)"
    return StageView(found.summary, (*found.lines[:MOST_LINES], more))


def cut(text: str) -> str:
    """*text* on one line, and no longer than a person wants to read here."""
    line = one_line(text)
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}..."


def _messages(_stage: str, _before: Before, messages: Sequence[object]) -> StageView:
    return StageView(pluralize(len(messages), "message"))


def _turns(_stage: str, _before: Before, turns: Sequence[Turn]) -> StageView:
    said = [f"{'user' if turn.role == 'human' else 'assistant'}: {cut(turn.text)}" for turn in turns]
    return StageView(pluralize(len(turns), "turn"), said)


def _origin(_stage: str, _before: Before, origin: Any) -> StageView:  # noqa: ANN401 - its module imports LangGraph
    scope: Scope = origin.scope
    return StageView(f"{one_line(str(scope))}, thread {one_line(origin.thread)!r}, in {one_line(origin.storage)}")


def _names(_stage: str, _before: Before, names: Iterable[str]) -> StageView:
    return StageView(", ".join(names) or "none")


_COMPARED_WITH: Mapping[str, str] = MappingProxyType(
    {"applied": "memory", "scrubbed": "applied", "saved": "memory", "memory": "memory"}
)
"""Which stage a memory is to be read against: an earlier pass's would say nothing."""


def _memory(stage: str, before: Before, memory: Memory) -> StageView:
    facts = f"{pluralize(len(memory.facts), 'fact')}, revision {memory.revision}"
    known: Memory | None = before.get(_COMPARED_WITH[stage])
    if known is None:
        return StageView(facts)
    changes = _changes(diff(known, memory))
    return StageView(f"{facts}{'' if changes else ', nothing changed'}", changes)


def _changes(report: Report) -> list[str]:
    return [
        *(f"+ {cut(fact_line(fact))}" for fact in report.added),
        *(f"= {cut(fact_line(fact))}" for fact in report.confirmed),
        *(f"- {cut(fact_line(gone.fact))}" for gone in report.removed),
        *(line for section in report.rewritten for line in _rewritten(section)),
    ]


def _rewritten(section: RewrittenSection) -> list[str]:
    title = TITLES[section.section]
    if not section.before:
        return [f"~ {title}: {cut(section.after)}"]
    return [f"~ {title}, before: {cut(section.before)}", f"~ {title}, after: {cut(section.after)}"]


def _prompt(_stage: str, _before: Before, prompt: Prompt) -> StageView:
    from memgraph.text.tokens import count_tokens

    system, human = count_tokens(prompt.system), count_tokens(prompt.human)
    return StageView(f"{system:,} tokens of instructions, {human:,} of memory and conversation (s prompt shows them)")


def _response(_stage: str, _before: Before, response: Any) -> StageView:  # noqa: ANN401
    return StageView(f"{len(response.text):,} characters", [cut(response.text)])


def _update(_stage: str, before: Before, changes: MemoryUpdate) -> StageView:
    known: Memory = before.get("memory") or Memory()
    facts = {fact.id: fact.content for fact in known.facts}
    lines = [
        *(f"+ [{new.category} | {new.confidence:.2f}] {cut(new.content)}" for new in changes.additions),
        *(f"- {cut(facts.get(gone.id, gone.id))} ({cut(gone.reason)})" for gone in changes.removals),
        *(f"~ {TITLES[rewrite.section]}: {cut(rewrite.summary)}" for rewrite in changes.rewrites),
        *_refused(changes.refused),
    ]
    return StageView(f"{pluralize(len(lines), 'change')} proposed", lines)


def _refused(refused: Iterable[Refusal]) -> list[str]:
    return [f"x {cut(refusal.item)}: {cut(refusal.reason)}" for refusal in refused]


def _refusals(_stage: str, _before: Before, refused: Sequence[Refusal]) -> StageView:
    return StageView(f"{len(refused)} not kept" if refused else "none", _refused(refused))


def _removed(_stage: str, _before: Before, removed: Sequence[RemovedFact]) -> StageView:
    lines = [f"- {cut(fact_line(gone.fact))}: {cut(gone.why)}" for gone in removed]
    return StageView(f"{len(removed)} gone" if removed else "none", lines)


def _report(_stage: str, _before: Before, report: Report) -> StageView:
    return StageView(", ".join(f"{count} {name}" for name, count in report.counts.items() if count) or "nothing yet")


def _json(_stage: str, _before: Before, value: object) -> StageView:
    from memgraph.stepper import as_json

    return StageView(cut(json.dumps(as_json(value), ensure_ascii=False)))


SHOWS: Mapping[str, Callable[[str, Before, Any], StageView]] = MappingProxyType(
    {
        "messages": _messages,
        "turns": _turns,
        "origin": _origin,
        "signals": _names,
        "memory": _memory,
        "prompt": _prompt,
        "response": _response,
        "changes": _update,
        "applied": _memory,
        "removed": _removed,
        "refused": _refusals,
        "scrubbed": _memory,
        "uploads": _refusals,
        "saved": _memory,
        "report": _report,
    }
)
"""How each stage is said; one that is not here is said as JSON."""


STYLES: Mapping[str, str] = MappingProxyType({"+": "green", "-": "red", "~": "cyan", "x": "dim"})
"""By what a line begins with."""


class StepPrinter:
    """Tells a person what happens.

    Args:
        output: Where it is told.
        place: Where the memory is stored.
    """

    def __init__(self, output: Output, place: str) -> None:
        self._output = output
        self._place = place

    def step(self, step: Step) -> None:
        """Say what a node did, stage by stage."""
        if not step.wrote:  # a question was asked, or there was nothing to ask
            return
        note = NOTES[step.node](dict(step.wrote)) if step.node in NOTES else ""
        self._output.line(f"{step.node}: {note}" if note else step.node, "bold")
        told: list[object] = []
        for stage, value in step.wrote.items():
            is_told = any(value is other for other in told)  # what was saved is the memory too
            self.stage(stage, step.before, value, is_short=is_told)
            told.append(value)

    def stage(self, stage: str, before: Mapping[str, Any], value: object, *, is_short: bool = False) -> None:
        """Say what a stage holds, line by line, or in short."""
        said = format_stage(stage, before, value)
        self._output.line(f"{stage:<10} {said.summary}", indent=2)
        for line in () if is_short else said.lines:
            self._output.line(line, STYLES.get(line[0], ""), indent=4)

    def next(self, stepper: Stepper) -> None:
        """Say where the update stands."""
        if stepper.next_node is None:
            show_result(self._output, stepper.stages, self._place)
            self._output.line("The update has ended: Enter quits, b goes back.", "dim")
        elif stepper.question is not None:
            self._question(Proposal.model_validate(stepper.question))
        else:
            reads = [stage for stage in stepper.reads if stage in stepper.stages]
            self._output.line(f"Next: {stepper.next_node}, which reads {', '.join(reads)}", "dim")

    def _question(self, proposal: Proposal) -> None:
        if proposal.problem:
            self._output.notice(f"That cannot be: {proposal.problem}")
        show_proposal(self._output, proposal)
        self._output.line("Decide: a accepts all, r rejects all, i asks about each.", "dim")
