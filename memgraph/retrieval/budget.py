"""What fits the token budget: the summaries, then the best facts and episodes, each with its share if both compete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import filterfalse, islice

from memgraph.models import SECTIONS, Memory, SectionName
from memgraph.retrieval.render import (
    CLOSING,
    MIN_LINE_TOKENS,
    OPENING,
    PROFILE,
    CountedLine,
    is_unbroken,
    profile_lines,
    summary_line,
    summary_titles,
    to_lines,
    today_line,
)
from memgraph.text.sentences import cut_at_sentence
from memgraph.text.tokens import count_tokens

SUMMARIES_SHARE = 0.5
"""Share of the budget that the summaries may take."""
PROFILE_SHARE = 0.5
"""Share of these tokens that the profile may take."""
_FIRST: tuple[SectionName, ...] = ("top_of_mind", "work_context")
_LAST: tuple[SectionName, ...] = ("personal_context", "recent_months", "earlier_context", "long_term_background")
MAX_ENTITY_CHARS = 5
"""Length of `&amp;`."""
MAX_MISSES = 32
"""After so many lines in a row that do not fit, what is left of the budget is taken to be too little."""
BATCH = 64
"""How many lines are made and counted at once."""
_LONGEST_DATE = "2026-12-31"


# -- summaries ------------------------------------------------------------------------------------


def frame_tokens() -> int:
    """Return the tokens of a block with nothing in it; those of every date are the same."""
    return count_tokens(OPENING) + count_tokens(today_line(_LONGEST_DATE)) + count_tokens(CLOSING)


@dataclass(frozen=True, slots=True)
class Summaries:
    """The summaries that fit their share of the budget."""

    texts: Mapping[SectionName, str]
    """On one line each, and escaped."""
    tokens: int
    """Their tokens with their headings and the frame of the block."""
    may_miscount: bool
    """Whether their tokens may differ next to other lines."""
    profile: Sequence[str] = ()
    """The lines of the profile that fit."""


def summary_priority(memory: Memory) -> tuple[SectionName, ...]:
    """Return the order in which the summaries of *memory* take their share of the budget."""
    custom = (name for name, section in memory.sections() if name not in SECTIONS and section.summary)
    return (*_FIRST, *custom, *_LAST)


def fit_summaries(memory: Memory, max_tokens: int) -> Summaries:
    """Return the summaries of *memory* that fit, in order of priority; the last may be cut at a sentence end.

    Args:
        memory: The memory.
        max_tokens: Maximum tokens of the summaries with their headings and the frame of the block.
    """
    texts, tokens = dict[SectionName, str](), frame_tokens()
    profile, profile_tokens = _fit_profile(memory, int((max_tokens - tokens) * PROFILE_SHARE))
    tokens += profile_tokens
    priority = summary_priority(memory)
    summaries = to_lines(memory.section(name).summary for name in priority)
    titles = summary_titles(priority)
    used_headings = set[str]()
    for name, summary in zip(priority, summaries, strict=True):
        heading, title = titles[name]
        spent = tokens + (0 if heading in used_headings else count_tokens(heading))
        if text := _cut_summary(title, summary, max_tokens - spent):
            texts[name] = text
            used_headings.add(heading)
            tokens = spent + count_tokens(summary_line(title, text))
    return Summaries(
        texts, tokens, may_miscount=any(map(is_unbroken, (*texts.values(), *profile))), profile=tuple(profile)
    )


def _fit_profile(memory: Memory, max_tokens: int) -> tuple[list[str], int]:
    """Return the first lines of the profile that fit, and their tokens with the heading."""
    lines, tokens = list[str](), count_tokens(PROFILE)
    for line in profile_lines(memory.profile.values):
        cost = count_tokens(line)
        if tokens + cost > max_tokens:
            break
        lines.append(line)
        tokens += cost
    return lines, tokens if lines else 0


def _cut_summary(title: str, text: str, max_tokens: int) -> str:
    """Return *text* cut so that its line takes at most *max_tokens*, without half an entity such as `&lt;`."""
    if not text:
        return ""
    cut = cut_at_sentence(text, max_tokens, lambda part: count_tokens(summary_line(title, part)))
    entity = cut.rfind("&", -MAX_ENTITY_CHARS)
    return cut if entity < 0 or ";" in cut[entity:] else cut[:entity].rstrip()


# -- facts and episodes ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Shares:
    """How the tokens of a block are divided."""

    tokens: int
    """For everything; what the summaries and the frame take is off already."""
    guaranteed: int
    """Of these, for corrections and preferences alone."""
    episodes: float
    """Share of the rest that episodes have if there are any, in [0, 1]."""


@dataclass(frozen=True)
class Candidates:
    """What may be selected: positions, the best first, and their lines; None for one that has none."""

    order: Sequence[int]
    lines_of: Callable[[Sequence[int]], Sequence[CountedLine | None]]

    def lines(
        self, skipped: AbstractSet[int] | Mapping[int, object], only: AbstractSet[int] | None = None
    ) -> Iterator[tuple[int, CountedLine]]:
        """Yield positions in order with their lines, except those *skipped*, and those without a line.

        Args:
            skipped: Positions that are left out.
            only: So are those that are not among these; default: none.
        """
        # most of the order is never looked at: the budget is spent before
        wanted = self.order if only is None else filter(only.__contains__, self.order)
        remaining = filterfalse(skipped.__contains__, wanted)
        while positions := list(islice(remaining, BATCH)):
            for position, line in zip(positions, self.lines_of(positions), strict=True):
                if line is not None:
                    yield position, line


@dataclass
class _Block:
    """The lines selected so far: each costs its own tokens, and those of the headings that it is the first under."""

    left: int
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The groups, and the days in them, that have their headings."""

    def cost(self, line: CountedLine) -> int:
        if (line.group, line.day) in self.places:
            return line.tokens
        is_new_group = (line.group, "") not in self.places
        return line.tokens + line.day_tokens + (line.group_tokens if is_new_group else 0)

    def add(self, line: CountedLine, cost: int) -> None:
        self.left -= cost
        if cost > line.tokens:
            self.places.update(((line.group, ""), (line.group, line.day)))


Lines = dict[int, CountedLine]
"""The lines selected, by position; the best first."""


def fit(
    facts: Candidates,
    episodes: Candidates,
    *,
    guaranteed: AbstractSet[int],
    sources_of: Callable[[Iterable[int]], AbstractSet[int]],
    shares: Shares,
) -> tuple[Lines, Lines]:
    """Return the lines of the facts and of the episodes that fit.

    Corrections and preferences fill their share first. Of the rest, facts take all but the share of the episodes,
    episodes what is left, and facts what these leave over. An episode that a selected fact was learned from is not
    selected: its words are in the fact. A line that does not fit does not block the ones after it.

    Args:
        facts: All facts.
        episodes: All episodes.
        guaranteed: Positions of corrections and preferences.
        sources_of: Returns the positions of the episodes that some facts were learned from.
        shares: How the tokens are divided.
    """
    facts.lines_of(facts.order[:BATCH])  # the guaranteed and the others share most of these: they are made at once
    block = _Block(shares.tokens)
    chosen = _fill(block, facts.lines({}, guaranteed), min(shares.tokens, shares.guaranteed))
    others = int(block.left * (1 - shares.episodes)) if episodes.order else block.left
    chosen |= _fill(block, facts.lines(chosen), others)
    quoted = _fill(block, episodes.lines(sources_of(chosen)), block.left)
    chosen |= _fill(block, facts.lines(chosen), block.left)
    in_order = islice(filter(chosen.__contains__, facts.order), len(chosen))
    return {position: chosen[position] for position in in_order}, quoted


def fit_past(past: Candidates, room: int) -> tuple[Lines, int]:
    """Return the lines of past facts that fit into *room* tokens, and how many tokens they take."""
    block = _Block(room)
    lines = _fill(block, past.lines({}), room)
    return lines, room - block.left


def _fill(block: _Block, candidates: Iterable[tuple[int, CountedLine]], room: int) -> Lines:
    """Select lines in order, while they fit into *room* tokens."""
    selected, misses = Lines(), 0
    if room < MIN_LINE_TOKENS:
        return selected
    for position, line in candidates:
        cost = block.cost(line)
        if cost > room:
            misses += 1
        else:
            block.add(line, cost)
            selected[position] = line
            room, misses = room - cost, 0
        if room < MIN_LINE_TOKENS or misses >= MAX_MISSES:
            break
    return selected
