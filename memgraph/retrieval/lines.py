"""Facts and episodes as lines of the memory block, each in a group and under the day on which it was said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memgraph.models import Episode, Fact, is_partial_date
from memgraph.text.dates import local_date
from memgraph.text.normalize import clean, escape

PREFERENCES = "Preferences:\n"
CORRECTIONS = "Corrections:\n"
FACTS = "Facts:\n"
DATED = ""
QUOTES = "In the user's words:\n"
GROUPS = (PREFERENCES, CORRECTIONS, FACTS, DATED, QUOTES)
"""The labels of the groups in reading order. Facts with a date need none: they stand under their days."""
CERTAIN = 0.8
"""A fact of lower confidence is marked as uncertain."""
MIN_LINE_TOKENS = 3
"""No line takes fewer: the dash, the text and the end of the line."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0e\ufeff\ufff0-\uffff\U000e0000-\U000e0fff]"
)
"""What controls a terminal, reverses text, or hides words from people; not the joiners of emoji and letters."""
_LOOKALIKES = str.maketrans({"＜": "<", "＞": ">", "﹤": "<", "﹥": ">"})
MAX_UNBROKEN_CHARS = 500
"""Characters without a token boundary, above which a text may be counted in pieces: see `count_tokens`."""
_TOKEN_BOUNDARY = re.compile("[A-Za-z\u0410-\u044f\u3041-\u3096\u4e00-\u9fff\uac00-\ud7a3](?=[\\W\\d_])")
"""A character after which a token certainly ends; there are more such characters than these."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the block."""

    text: str
    group: str
    """One of GROUPS."""
    day: str = ""
    """The (partial) date that it stands under; empty if there is none."""

    @property
    def headings(self) -> tuple[str, ...]:
        """What stands above it, unless a line before it stands under the same."""
        return tuple(heading for heading in (self.group, day_heading(self.day)) if heading)


def day_heading(day: str) -> str:
    """Return the heading of a day; "" if there is none."""
    return f"{day}:\n" if day else ""


def one_line(text: str) -> str:
    """Return *text* on one line, without invisible characters, and escaped so that it cannot open or close a tag."""
    return to_lines([text])[0]


def to_lines(texts: Iterable[str]) -> list[str]:
    """Return each of *texts* as `one_line` does."""
    visible = (_INVISIBLE.sub("", clean(text)).translate(_LOOKALIKES) for text in texts)
    return [escape(" ".join(text.split())) for text in visible]


def fact_line(fact: Fact, timezone: str = "UTC") -> Line | None:
    """Return the line of *fact*: `- content (avoid: error) (uncertain)`; None if it has no content.

    Args:
        fact: Preferences and corrections have groups of their own; the others stand under the day on which they were
            said, or began.
        timezone: IANA name of the time zone of the days.
    """
    content, error = to_lines([fact.content, fact.source_error or ""])
    if not content:
        return None
    notes = f"{f' (avoid: {error})' if error else ''}{' (uncertain)' if fact.confidence < CERTAIN else ''}"
    group, day = _GROUP_OF_CATEGORY.get(fact.effective_category), ""
    if group is None:
        day = shown_day(fact.said_at, timezone) or shown_day(fact.valid_from, timezone)
        group = DATED if day else FACTS
    return Line(f"- {content}{notes}\n", group, day)


_GROUP_OF_CATEGORY = {"preference": PREFERENCES, "correction": CORRECTIONS}


def episode_line(episode: Episode, timezone: str = "UTC") -> Line | None:
    """Return the line of *episode*, the assistant's words marked as such; None if it has no text.

    Args:
        episode: What was said.
        timezone: IANA name of the time zone of the days.
    """
    text = one_line(episode.text)
    if not text:
        return None
    mark = "assistant: " if episode.author == "assistant" else ""
    return Line(f"- {mark}{text}\n", QUOTES, shown_day(episode.at, timezone))


def shown_day(at: str, timezone: str) -> str:
    """Return the day of the time *at* in *timezone*; a partial date as it is, and "" for anything else."""
    return at if is_partial_date(at) else local_date(at, timezone)


def sort_lines(lines: Iterable[Line]) -> list[Line]:
    """Return *lines* in reading order: by group, then by day; lines of one day stay in order."""
    return sorted(lines, key=lambda line: (GROUPS.index(line.group), line.day))


def render_lines(lines: Iterable[Line]) -> str:
    """Return *lines* in reading order under their headings, each heading once."""
    parts, group, day = list[str](), "", ""
    for line in sort_lines(lines):
        if line.group != group:
            parts.append(line.group)
            group, day = line.group, ""
        if line.day != day:
            parts.append(day_heading(line.day))
            day = line.day
        parts.append(line.text)
    return "".join(parts)


def is_unbroken(line: str) -> bool:
    """Return whether the tokens of *line* may differ next to other lines: a long part has no token boundary."""
    if len(line) <= MAX_UNBROKEN_CHARS:
        return False
    boundaries = (0, *(match.end() for match in _TOKEN_BOUNDARY.finditer(line)), len(line))
    return any(end - start > MAX_UNBROKEN_CHARS for start, end in pairwise(boundaries))


def may_miscount(lines: Sequence[Line]) -> bool:
    """Return whether the tokens of *lines* may not add up."""
    return any(is_unbroken(line.text) for line in lines)
