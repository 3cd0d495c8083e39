"""Which facts and episodes fit the token budget: the best first, each with its share if both compete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from memgraph.retrieval.lines import MIN_LINE_TOKENS, Line, day_heading

SUMMARIES_SHARE = 0.5
"""Share of the budget that the summaries may take."""
MAX_MISSES = 32
"""After so many lines in a row that do not fit, what is left of the budget is taken to be too little."""

BATCH = 64
"""How many lines are made and counted at once."""

TokenCounter = Callable[[Sequence[str]], Sequence[int]]
"""Returns the tokens of lines and headings."""


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
    lines_of: Callable[[Sequence[int]], Sequence[Line | None]]


class _Entry(NamedTuple):
    """A candidate with its line, and the tokens of that."""

    position: int
    line: Line
    tokens: int


@dataclass
class _Block:
    """The lines selected so far: each costs its own tokens, and those of the headings that it is the first under."""

    count: TokenCounter
    left: int
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The groups, and the days in them, that have their headings."""
    headings: dict[str, int] = field(default_factory=lambda: {"": 0})
    """The tokens of the headings of groups and days."""

    def read(self, candidates: Candidates) -> Iterator[_Entry]:
        """Yield *candidates* in order, except those without a line; lines are made and counted in batches."""
        for start in range(0, len(candidates.order), BATCH):
            positions = candidates.order[start : start + BATCH]
            pairs = zip(positions, candidates.lines_of(positions), strict=True)
            yield from self._count([(position, line) for position, line in pairs if line is not None])

    def _count(self, batch: Sequence[tuple[int, Line]]) -> Iterator[_Entry]:
        """Yield the entries of *batch*, and keep the tokens of their headings."""
        days = {line.day for _, line in batch} - self.headings.keys()
        headings = {line.group: line.group for _, line in batch if line.group} | {day: day_heading(day) for day in days}
        tokens = self.count([*(line.text for _, line in batch), *headings.values()])
        self.headings.update(zip(headings, tokens[len(batch) :], strict=True))
        return (_Entry(*pair, cost) for pair, cost in zip(batch, tokens, strict=False))

    def cost(self, entry: _Entry) -> int:
        group, day = entry.line.group, entry.line.day
        if (group, day) in self.places:
            return entry.tokens
        is_new_group = (group, "") not in self.places
        return entry.tokens + (self.headings[group] if is_new_group else 0) + self.headings[day]

    def add(self, line: Line, cost: int) -> None:
        self.places |= {(line.group, ""), (line.group, line.day)}
        self.left -= cost


def fit(
    facts: Candidates,
    episodes: Candidates,
    *,
    guaranteed: AbstractSet[int],
    sources_of: Callable[[Iterable[int]], AbstractSet[int]],
    shares: Shares,
    count: TokenCounter,
) -> tuple[list[int], list[int]]:
    """Return the positions of the facts and of the episodes that fit, the best first.

    Corrections and preferences fill their share first. Of the rest, facts take all but the share of the episodes,
    episodes what is left, and facts what these leave over. An episode that a selected fact was learned from is not
    selected: its words are in the fact. A line that does not fit does not block the ones after it.

    Args:
        facts: All facts.
        episodes: All episodes.
        guaranteed: Positions of corrections and preferences.
        sources_of: Returns the positions of the episodes that some facts were learned from.
        shares: How the tokens are divided.
        count: Counts tokens; those of lines and headings must add up.
    """
    block = _Block(count, shares.tokens)
    chosen = set[int]()
    first = Candidates([position for position in facts.order if position in guaranteed], facts.lines_of)
    chosen.update(_fill(block, first, chosen, min(shares.tokens, shares.guaranteed)))
    room = int(block.left * (1 - shares.episodes)) if episodes.order else block.left
    chosen.update(_fill(block, facts, chosen, room))
    quoted = _fill(block, episodes, sources_of(chosen), block.left)
    chosen.update(_fill(block, facts, chosen, block.left))
    return [position for position in facts.order if position in chosen], quoted


def _fill(block: _Block, candidates: Candidates, skipped: AbstractSet[int], room: int) -> list[int]:
    """Select positions in order, except those *skipped*, while their lines fit into *room* tokens."""
    selected, misses = list[int](), 0
    if room < MIN_LINE_TOKENS:
        return selected
    for entry in block.read(candidates):
        if entry.position in skipped:
            continue
        cost = block.cost(entry)
        if cost > room:
            misses += 1
        else:
            block.add(entry.line, cost)
            selected.append(entry.position)
            room, misses = room - cost, 0
        if room < MIN_LINE_TOKENS or misses >= MAX_MISSES:
            break
    return selected
