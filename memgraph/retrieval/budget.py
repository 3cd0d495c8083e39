"""Which facts and episodes fit the token budget: the best first, each with its share if both compete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from memgraph.retrieval.lines import MIN_LINE_TOKENS, Line, day_heading

SUMMARIES_SHARE = 0.5
"""Share of the budget that the summaries may take."""
MAX_MISSES = 32
"""After so many lines in a row that do not fit, what is left of the budget is taken to be too little."""

TokenCounter = Callable[[str], int]
"""Returns the tokens of a line or a heading."""


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
    """What may be selected: positions, the best first, and the line of each; None for one that has none."""

    order: Sequence[int]
    line_of: Callable[[int], Line | None]


@dataclass
class _Block:
    """The lines selected so far: each costs its own tokens, and those of the headings that it is the first under."""

    count: TokenCounter
    left: int
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The groups, and the days in them, that have their headings."""

    def cost(self, line: Line) -> int:
        tokens = self.count(line.text)
        return tokens if (line.group, line.day) in self.places else tokens + self._heading_tokens(line)

    def add(self, line: Line, cost: int) -> None:
        self.places |= {(line.group, ""), (line.group, line.day)}
        self.left -= cost

    def _heading_tokens(self, line: Line) -> int:
        is_new_group = (line.group, "") not in self.places
        return (self.count(line.group) if is_new_group else 0) + self.count(day_heading(line.day))


def fit(
    facts: Candidates,
    episodes: Candidates,
    *,
    guaranteed: AbstractSet[int],
    sources_of: Callable[[int], Iterable[int]],
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
        sources_of: Returns the positions of the episodes that a fact was learned from.
        shares: How the tokens are divided.
        count: Counts tokens; those of lines and headings must add up.
    """
    block = _Block(count, shares.tokens)
    chosen = set[int]()
    first = Candidates([position for position in facts.order if position in guaranteed], facts.line_of)
    chosen.update(_fill(block, first, chosen, min(shares.tokens, shares.guaranteed)))
    room = int(block.left * (1 - shares.episodes)) if episodes.order else block.left
    chosen.update(_fill(block, facts, chosen, room))
    known = {source for position in chosen for source in sources_of(position)}
    quoted = _fill(block, episodes, known, block.left)
    chosen.update(_fill(block, facts, chosen, block.left))
    return [position for position in facts.order if position in chosen], quoted


def _fill(block: _Block, candidates: Candidates, skipped: AbstractSet[int], room: int) -> list[int]:
    """Select positions in order, except those *skipped*, while their lines fit into *room* tokens."""
    selected, misses = list[int](), 0
    for position in candidates.order:
        if room < MIN_LINE_TOKENS or misses >= MAX_MISSES:
            break
        if position in skipped or (line := candidates.line_of(position)) is None:
            continue
        cost = block.cost(line)
        if cost > room:
            misses += 1
            continue
        block.add(line, cost)
        selected.append(position)
        room, misses = room - cost, 0
    return selected
