"""How the stages of an update are said to people: what is different, in a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from memgraph.cli.safe import one_line
from memgraph.cli.wording import TITLES, counted, fact_line
from memgraph.models import Memory, MemoryUpdate, Prompt, Refusal, Scope, Turn
from memgraph.report import RemovedFact, Report, RewrittenSection, compare

MOST_LINES = 12
SHOWN_CHARS = 120

Before = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A stage in short, and line by line: `+` is new, `-` gone, `~` rewritten, `x` not kept."""

    summary: str
    lines: Sequence[str] = ()


def shown(stage: str, before: Before, value: Any) -> Shown:  # noqa: ANN401 - of any type
    """Say what *stage* holds now; *before* is all there was when its node began."""
    found = SHOWS.get(stage, _json)(stage, before, value)
    if len(found.lines) <= MOST_LINES:
        return found
    more = f"... and {len(found.lines) - MOST_LINES:,} more (s {stage} shows all)"
    return Shown(found.summary, (*found.lines[:MOST_LINES], more))


def cut(text: str) -> str:
    """*text* on one line, and no longer than a person wants to read here."""
    line = one_line(text)
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}..."


def _messages(_stage: str, _before: Before, messages: Sequence[object]) -> Shown:
    return Shown(counted(len(messages), "message"))


def _turns(_stage: str, _before: Before, turns: Sequence[Turn]) -> Shown:
    said = [f"{'user' if turn.is_human else 'assistant'}: {cut(turn.text)}" for turn in turns]
    return Shown(counted(len(turns), "turn"), said)


def _origin(_stage: str, _before: Before, origin: Any) -> Shown:  # noqa: ANN401 - its module imports LangGraph
    scope: Scope = origin.scope
    return Shown(f"{one_line(str(scope))}, thread {one_line(origin.thread)!r}, in {one_line(origin.storage)}")


def _names(_stage: str, _before: Before, names: Iterable[str]) -> Shown:
    return Shown(", ".join(names) or "none")


_COMPARED_WITH: Mapping[str, str] = MappingProxyType(
    {"applied": "memory", "scrubbed": "applied", "saved": "memory", "memory": "memory"}
)
"""Which stage a memory is to be read against: an earlier pass's would say nothing."""


def _memory(stage: str, before: Before, memory: Memory) -> Shown:
    facts = f"{counted(len(memory.facts), 'fact')}, revision {memory.revision}"
    known: Memory | None = before.get(_COMPARED_WITH[stage])
    if known is None:
        return Shown(facts)
    changes = _changes(compare(known, memory))
    return Shown(f"{facts}{'' if changes else ', nothing changed'}", changes)


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


def _prompt(_stage: str, _before: Before, prompt: Prompt) -> Shown:
    from memgraph.text.tokens import count_tokens

    system, human = count_tokens(prompt.system), count_tokens(prompt.human)
    return Shown(f"{system:,} tokens of instructions, {human:,} of memory and conversation (s prompt shows them)")


def _response(_stage: str, _before: Before, response: Any) -> Shown:  # noqa: ANN401
    return Shown(f"{len(response.text):,} characters", [cut(response.text)])


def _update(_stage: str, before: Before, changes: MemoryUpdate) -> Shown:
    known: Memory = before.get("memory") or Memory()
    facts = {fact.id: fact.content for fact in known.facts}
    lines = [
        *(f"+ [{new.category} | {new.confidence:.2f}] {cut(new.content)}" for new in changes.additions),
        *(f"- {cut(facts.get(gone.id, gone.id))} ({cut(gone.reason)})" for gone in changes.removals),
        *(f"~ {TITLES[rewrite.section]}: {cut(rewrite.summary)}" for rewrite in changes.rewrites),
        *_refused(changes.refused),
    ]
    return Shown(f"{counted(len(lines), 'change')} proposed", lines)


def _refused(refused: Iterable[Refusal]) -> list[str]:
    return [f"x {cut(refusal.what)}: {cut(refusal.why)}" for refusal in refused]


def _refusals(_stage: str, _before: Before, refused: Sequence[Refusal]) -> Shown:
    return Shown(f"{len(refused)} not kept" if refused else "none", _refused(refused))


def _removed(_stage: str, _before: Before, removed: Sequence[RemovedFact]) -> Shown:
    lines = [f"- {cut(fact_line(gone.fact))}: {cut(gone.why)}" for gone in removed]
    return Shown(f"{len(removed)} gone" if removed else "none", lines)


def _report(_stage: str, _before: Before, report: Report) -> Shown:
    return Shown(", ".join(f"{count} {name}" for name, count in report.counts.items() if count) or "nothing yet")


def _json(_stage: str, _before: Before, value: object) -> Shown:
    from memgraph.stepper import as_json

    return Shown(cut(json.dumps(as_json(value), ensure_ascii=False)))


SHOWS: Mapping[str, Callable[[str, Before, Any], Shown]] = MappingProxyType(
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
