"""The summaries, in at most half of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memgraph.models import Memory, SectionName
from memgraph.retrieval.render import CLOSING, GROUPS, OPENING, is_unbroken, one_line, summary_line
from memgraph.text.sentences import cut_at_sentence
from memgraph.text.tokens import count_tokens

FIRST: Sequence[SectionName] = ("top_of_mind", "work_context")
"""The summaries that get room before the others."""
LONGEST_ENTITY = 5
"""Characters of `&amp;`."""


@dataclass(frozen=True, slots=True)
class Summaries:
    """What of the summaries is said."""

    texts: Mapping[SectionName, str]
    """On one line each, and escaped."""
    tokens: int
    """What they take with their headings and the frame around the whole block."""
    unbroken: bool
    """Whether their lines may take another number of tokens beside other lines."""


def fit_summaries(memory: Memory, max_tokens: int) -> Summaries:
    """Return what of the summaries fits: whole, or cut at a sentence end.

    Args:
        memory: Whose summaries.
        max_tokens: What they may take with their headings, and with the frame around the whole block.
    """
    texts, tokens = dict[SectionName, str](), frame_tokens()
    for name in sorted(_PLACES, key=_importance):
        heading, title = _PLACES[name]
        text = one_line(memory.section(name).summary)
        spent = tokens + (0 if any(_PLACES[other][0] == heading for other in texts) else count_tokens(heading))
        if short := _cut(title, text, max_tokens - spent):
            texts[name] = short
            tokens = spent + count_tokens(summary_line(title, short))
    return Summaries(texts, tokens, unbroken=any(map(is_unbroken, texts.values())))


def frame_tokens() -> int:
    """Return the tokens that the block takes with nothing in it."""
    return count_tokens(OPENING) + count_tokens(CLOSING)


def _importance(name: SectionName) -> int:
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _cut(title: str, text: str, max_tokens: int) -> str:
    """Return *text* so that its line takes at most *max_tokens*; never half of an entity such as `&lt;`."""
    if not text:
        return ""
    short = cut_at_sentence(text, max_tokens, lambda part: count_tokens(summary_line(title, part)))
    at = short.rfind("&", -LONGEST_ENTITY)
    return short if at < 0 or ";" in short[at:] else short[:at].rstrip()


_PLACES: Mapping[SectionName, tuple[str, str]] = {
    name: (heading, title) for heading, titles in GROUPS.items() for name, title in titles.items()
}
"""Heading and title of each summary, in reading order."""
