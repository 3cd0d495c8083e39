"""The blocks of the human message: written for the model, and read back by the offline one.

<known_facts>
[fact_a1b2c3d4] (context, 0.95) Works at Acme &amp; Sons.
</known_facts>
<conversation>
<turn speaker="user" part="earlier">...</turn>
<turn speaker="assistant" part="new">...</turn>
</conversation>
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from memgraph.models import Fact, Turn
from memgraph.text.escape import escape, unescape


class ShownTurn(NamedTuple):
    """A turn as the prompt shows it."""

    speaker: Literal["user", "assistant"]
    is_new: bool
    """False: it was learned from before, and is here to make the new ones understood."""
    text: str


class ShownFact(NamedTuple):
    """A known fact as the prompt shows it."""

    id: str
    category: str
    confidence: float
    content: str


_TURN = re.compile(r'<turn speaker="(user|assistant)" part="(earlier|new)">(.*?)</turn>', re.DOTALL)
_FACT = re.compile(r"^\[([^\]\s]+)\] \(([^,()]*), ([\d.]+)\) (.*)$", re.MULTILINE)


def shorten(text: str, limit: int) -> str:
    """Return *text* with head and tail kept where it has more than *limit* characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} [...] {text[-(limit - head) :]}"


def render_turn(turn: Turn, *, is_new: bool, max_chars: int) -> str:
    """Write *turn* as one element, escaped."""
    speaker = "user" if turn.is_human else "assistant"
    part = "new" if is_new else "earlier"
    return f'<turn speaker="{speaker}" part="{part}">{escape(shorten(turn.text, max_chars))}</turn>'


def render_fact(fact: Fact) -> str:
    """Write *fact* as one line with its id, escaped."""
    content, category = escape(" ".join(fact.content.split())), escape(fact.effective_category)
    return f"[{escape(fact.id)}] ({category}, {fact.confidence:.2f}) {content}"


def read_turns(prompt: str) -> Iterator[ShownTurn]:
    """Read the turns back out of a prompt."""
    for speaker, part, text in _TURN.findall(prompt):
        yield ShownTurn(speaker, part == "new", unescape(text))


def read_facts(prompt: str) -> Iterator[ShownFact]:
    """Read the known facts back out of a prompt."""
    for fact_id, category, confidence, content in _FACT.findall(_block(prompt, "known_facts")):
        yield ShownFact(unescape(fact_id), category, float(confidence), unescape(content))


def _block(prompt: str, tag: str) -> str:
    return prompt.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


def join_or(lines: Iterable[str], *, or_else: str) -> str:
    """Put *lines* under each other, or say *or_else* where there are none."""
    return "\n".join(lines) or or_else
