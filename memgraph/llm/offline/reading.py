"""Reading the prompt back: its turns, the known facts, the summaries."""

from collections.abc import Mapping
from typing import NamedTuple

from memgraph.llm.offline.sentences import MAX_CHARS
from memgraph.prompts.blocks import ShownFact, ShownTurn, read_facts, read_turns
from memgraph.text.escape import unescape

SECTION_NAMES = (
    "workContext", "personalContext", "topOfMind", "recentMonths", "earlierContext", "longTermBackground",
)  # fmt: skip


MAX_ESCAPED = 5 * MAX_CHARS + 100
"""Characters of an escaped turn that can be read: no character becomes more than five."""


class Reading(NamedTuple):
    """What a prompt shows."""

    turns: tuple[ShownTurn, ...]
    known: tuple[ShownFact, ...]
    summaries: Mapping[str, str]


def read_prompt(prompt: str) -> Reading:
    """Read *prompt*; what it does not show is empty."""
    return Reading(tuple(read_turns(_shortened(prompt))), tuple(read_facts(prompt)), dict(_summaries(prompt)))


def _shortened(prompt: str) -> str:
    """The turns of *prompt*, each cut to what is read of it: unescaping megabytes would take seconds."""
    *turns, _ = prompt.partition("<conversation>")[2].split("</turn>")
    return "".join(f"{turn[:MAX_ESCAPED]}</turn>" for turn in turns)


def _summaries(prompt: str) -> list[tuple[str, str]]:
    lines = prompt.partition("<summaries>\n")[2].partition("\n</summaries>")[0].split("\n")
    named = [(name, text.strip()) for name, colon, text in (line.partition(":") for line in lines) if colon]
    return [(name, unescape(text)) for name, text in named if name in SECTION_NAMES and text != "(empty)"]
