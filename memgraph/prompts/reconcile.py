"""The second look: the prompt that puts likely conflicts to the model, and its answer.

<pair 1>
known (2026-03-01): Goes to work by bus.
new (2026-05-02): Cycles to work.
said: I switched to cycling to work.
</pair>
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast, get_args

from pydantic import BaseModel, ConfigDict

from memgraph._yaml import load_yaml
from memgraph.models import Addition, Answer, Conflict, Fact, MemoryDocument, MemoryUpdate, Verdict
from memgraph.prompts.json_text import find_last
from memgraph.prompts.template import Language, substitute
from memgraph.text.dates import local_date
from memgraph.text.hidden import remove_hidden
from memgraph.text.normalize import escape, language_of, single_line, unescape

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_LINE = re.compile(rf"\b(\d{{1,2}})\W{{1,8}}({'|'.join(VERDICTS)})\b")
_PAIR = re.compile(r"<pair \d+>\nknown \(([^)\n]*)\): (.*)\nnew \(([^)\n]*)\): (.*)\nsaid: (.*)\n</pair>")
_MAX_ANSWER = 4_000  # characters that are read of an answer of a few words


class ReconcileTemplate(BaseModel):
    """The packaged prompt of one language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    """Contains {pairs}."""


class ShownPair(NamedTuple):
    """A pair, read back from a prompt."""

    known: str
    new: str
    said: str


def reconcile_prompt(
    conflicts: Sequence[Conflict],
    changes: MemoryUpdate,
    memory: MemoryDocument,
    *,
    language: Language | Literal["auto"],
    timezone: str = "UTC",
) -> str:
    """Render the prompt that asks which known facts still hold.

    Args:
        conflicts: The pairs, numbered from 1 in their order.
        changes: Has their additions.
        memory: Has their known facts.
        language: Of the prompt; `auto` is that of the additions.
        timezone: In which dates are shown.
    """
    additions = {addition.id: addition for addition in changes.additions}
    known = {fact.id: fact for fact in memory.facts}
    pairs = [(known[one.known_id], additions[one.addition_id]) for one in conflicts]
    if language == "auto":
        language = language_of(addition.content for _, addition in pairs)
    rendered = (_render_pair(number, *pair, timezone) for number, pair in enumerate(pairs, 1))
    return substitute(_load_template(language).prompt, pairs="\n".join(rendered))


@cache
def _load_template(language: Language) -> ReconcileTemplate:
    text = files("memgraph.prompts").joinpath(f"reconcile.{language}.yaml").read_text(encoding="utf-8")
    return ReconcileTemplate.model_validate(load_yaml(text))


def _render_pair(number: int, known: Fact, addition: Addition, timezone: str) -> str:
    said = next((evidence.quote for evidence in addition.evidence), addition.quote)
    before, now = (local_date(at, timezone) for at in (known.said_at or known.created_at, addition.said_at))
    return (
        f"<pair {number}>\nknown ({before or 'unknown'}): {_line(known.content)}\n"
        f"new ({now or 'unknown'}): {_line(addition.content)}\nsaid: {_line(said)}\n</pair>"
    )


def _line(text: str) -> str:
    return escape(single_line(remove_hidden(text)))


def read_pairs(prompt: str) -> Iterator[ShownPair]:
    """Read the pairs back from a prompt."""
    for _, known, _, new, said in _PAIR.findall(prompt):
        yield ShownPair(unescape(known), unescape(new), unescape(said))


# -- the answer -----------------------------------------------------------------------------------


def verdict_schema(count: int) -> dict[str, Any]:
    """Return the JSON schema of an answer about *count* pairs; it is as strict as OpenAI's strict mode requires."""
    numbers = [str(number) for number in range(1, count + 1)]
    return {
        "title": "second_look",
        "description": "For each pair, whether the new fact replaces the known one.",
        "type": "object",
        "properties": {number: {"type": "string", "enum": list(VERDICTS)} for number in numbers},
        "required": numbers,
        "additionalProperties": False,
    }


def parse_verdicts(answer: Answer, conflicts: Sequence[Conflict]) -> dict[Conflict, Verdict]:
    """Return what the model said of each of *conflicts*; `both` of a pair about which it said nothing readable.

    An object with numbers as keys is expected. A list, objects in a list, and lines such as "1. replaces" are read too.
    """
    text = answer.text[-_MAX_ANSWER:].rpartition("</think>")[2]
    found = find_last(text, _as_verdicts, "{") or find_last(text, _as_verdicts, "[") or _in_lines(text)
    return {conflict: found.get(number, "both") for number, conflict in enumerate(conflicts, 1)}


def _as_verdicts(value: object) -> dict[int, Verdict] | None:
    """Return the verdicts in a JSON value by the numbers of their pairs; None without any."""
    if isinstance(value, dict):
        found = dict(_entries(cast("Mapping[str, object]", value).items()))
        inner = (_as_verdicts(item) for item in cast("Mapping[str, object]", value).values())
        return found or next((verdicts for verdicts in inner if verdicts), None)
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    if all(isinstance(item, dict) for item in items):
        return dict(_entries(_number_and_verdict(cast("Mapping[str, object]", item)) for item in items)) or None
    return dict(_entries(enumerate(items, 1))) or None


def _number_and_verdict(item: Mapping[str, object]) -> tuple[object, object]:
    """Return the number and the verdict among the values of an object, whatever their keys."""
    verdict = next((value for value in item.values() if _verdict(value)), None)
    return next((value for value in item.values() if value is not verdict), None), verdict


def _entries(items: Iterable[tuple[object, object]]) -> Iterator[tuple[int, Verdict]]:
    for key, value in items:
        number = re.search(r"\d{1,2}", str(key)[:40])
        verdict = _verdict(value)
        if number and verdict:
            yield int(number[0]), verdict


def _verdict(value: object) -> Verdict | None:
    word = value.strip().lower() if isinstance(value, str) else ""
    return next((verdict for verdict in VERDICTS if word == verdict), None)


def _in_lines(text: str) -> dict[int, Verdict]:
    return {int(number): cast("Verdict", word) for number, word in _LINE.findall(text.lower())}
