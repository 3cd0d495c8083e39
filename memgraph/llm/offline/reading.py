"""Reading the prompt back: its turns, the known facts, the summaries."""

from collections.abc import Mapping
from typing import NamedTuple

from memgraph.prompts.blocks import ShownFact, ShownTurn, read_facts, read_turns
from memgraph.text.escape import unescape

SECTION_NAMES = (
    "workContext", "personalContext", "topOfMind", "recentMonths", "earlierContext", "longTermBackground",
)  # fmt: skip


class Reading(NamedTuple):
    """What a prompt shows."""

    turns: tuple[ShownTurn, ...]
    known: tuple[ShownFact, ...]
    summaries: Mapping[str, str]


def read_prompt(prompt: str) -> Reading:
    """Read *prompt*; what it does not show is empty."""
    turns = prompt[: prompt.rfind("</turn>") + len("</turn>")] if "</turn>" in prompt else ""
    return Reading(tuple(read_turns(turns)), tuple(read_facts(prompt)), dict(_summaries(prompt)))


def _summaries(prompt: str) -> list[tuple[str, str]]:
    lines = prompt.partition("<summaries>\n")[2].partition("\n</summaries>")[0].split("\n")
    named = [(name, text.strip()) for name, colon, text in (line.partition(":") for line in lines) if colon]
    return [(name, unescape(text)) for name, text in named if name in SECTION_NAMES and text != "(empty)"]
