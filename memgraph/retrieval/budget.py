"""What fits the token budget: the summaries, words that are not learned yet, and the best facts and episodes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, Protocol, TypeVar

from memgraph.analysis.admission import steering_problem
from memgraph.analysis.sentences import cut_at_sentence
from memgraph.analysis.tokens import count_tokens
from memgraph.models import SECTIONS, MemoryDocument, SectionName
from memgraph.retrieval.memory_index import Ranking
from memgraph.retrieval.render import (
    CLOSING,
    MIN_LINE_TOKENS,
    OPENING,
    PROFILE,
    QUOTES,
    Line,
    day_heading,
    one_line,
    profile_lines,
    recalled_summary,
    summary_line,
    summary_titles,
    today_line,
)
from memgraph.sections import section_title

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
    profile: Sequence[str] = ()
    """The lines of the profile that fit."""


def summary_priority(memory: MemoryDocument) -> tuple[SectionName, ...]:
    """Return the order in which the summaries of *memory* take their share of the budget."""
    others = (name for name, section in memory.sections() if name not in SECTIONS and section.summary)
    custom = (name for name in others if not steering_problem(section_title(name)))
    return (*_FIRST, *custom, *_LAST)


def fit_summaries(memory: MemoryDocument, max_tokens: int) -> Summaries:
    """Return the summaries of *memory* that fit, in order of priority; the last may be cut at a sentence end.

    Args:
        memory: The memory.
        max_tokens: Maximum tokens of the summaries with their headings and the frame of the block.
    """
    texts, tokens = dict[SectionName, str](), frame_tokens()
    profile, profile_tokens = _fit_profile(memory, int((max_tokens - tokens) * PROFILE_SHARE))
    tokens += profile_tokens
    priority = summary_priority(memory)
    titles = summary_titles(priority)
    used_headings = set[str]()
    for name in priority:
        (heading, title), summary = titles[name], one_line(recalled_summary(memory.section(name)))
        spent = tokens + (0 if heading in used_headings else count_tokens(heading))
        if text := _cut_summary(title, summary, max_tokens - spent):
            texts[name] = text
            used_headings.add(heading)
            tokens = spent + count_tokens(summary_line(title, text))
    return Summaries(texts, tokens, tuple(profile))


def _fit_profile(memory: MemoryDocument, max_tokens: int) -> tuple[list[str], int]:
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
    unlearned: int
    """Of these, at most for the words that no update has learned yet."""
    guaranteed: int
    """Of these, for what is shown whatever the question is."""
    noise: int
    """Of these, at most for lines that are noise."""


@dataclass(frozen=True)
class Candidates:
    """What may be selected: facts or episodes, the best first, and their lines; None for one that has none."""

    ranking: Ranking
    """Its scores are on the scale of those of the other candidates."""
    line_of: Callable[[int], Line | None]

    def lines(self, only: Iterable[int] | None = None) -> Iterator[tuple[int, Line]]:
        """Yield positions in order with their lines, those without a line left out.

        Args:
            only: Other positions, in their order; default: all of this order.
        """
        # most of the order is never looked at: the budget is spent before
        for position in self.ranking.order if only is None else only:
            if line := self.line_of(position):
                yield position, line


class Overlap(Protocol):
    """Which lines cover the content of another one."""

    def claims_in(self, episode: int) -> Sequence[int]:
        """Return the facts whose lines are words of the episode."""
        ...

    def is_episode_covered(self, episode: int, facts: Container[int]) -> bool:
        """Return whether the lines of these facts cover the episode."""
        ...

    def is_fact_covered(self, fact: int, episodes: Container[int]) -> bool:
        """Return whether one of these episodes covers the fact."""
        ...


@dataclass
class _Block:
    """The lines selected so far: each costs its own tokens, and those of the headings that it is the first under."""

    left: int
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The groups, and the days in them, that have their headings."""

    def cost(self, line: Line) -> int:
        if (line.group, line.day) in self.places:
            return line.tokens
        is_new_group = (line.group, "") not in self.places
        headings = count_tokens(day_heading(line.day)) + (count_tokens(line.group) if is_new_group else 0)
        return line.tokens + headings

    def add(self, line: Line, cost: int) -> None:
        self.left -= cost
        if cost > line.tokens:
            self.places.update(((line.group, ""), (line.group, line.day)))


def tokens_of(lines: Iterable[Line]) -> int:
    """Return the tokens of *lines* with their headings."""
    block = _Block(0)
    for line in lines:
        block.add(line, block.cost(line))
    return -block.left


Lines = dict[int, Line]
"""The lines selected, by position; the best first."""


def fit(
    facts: Candidates,
    episodes: Candidates,
    *,
    unlearned: Sequence[int],
    guaranteed: AbstractSet[int],
    cutoff: float,
    overlap: Overlap,
    shares: Shares,
    urgency: Callable[[int], int] = lambda _: 0,
    repeated: AbstractSet[int] = frozenset(),
) -> tuple[Lines, Lines]:
    """Return the lines of the facts and of the episodes that fit, the best first.

    If everything fits, all is selected. Otherwise the words that no update has learned yet come first, then what is
    guaranteed, each within its share. Then facts and episodes compete by their scores; those that are noise come last,
    within their share. What the lines selected cover is left out. A line that does not fit does not block the ones
    after it.

    Args:
        facts: All facts.
        episodes: All episodes.
        unlearned: Positions of the episodes that no update has learned yet, the newest first.
        guaranteed: Positions of the facts that are shown whatever the question is.
        cutoff: What matches and has no higher similarity is noise: see `RankedMemory.cutoff`.
        overlap: Which lines cover the content of another one.
        shares: How the tokens are divided.
        urgency: Returns how much the fact at a position matters among those of a set.
        repeated: Positions of the facts that come last of all, in what is left of the guaranteed share.
    """
    block, selection = _Block(shares.tokens), _Selection(overlap)

    def by_urgency(positions: AbstractSet[int]) -> Iterator[tuple[int, Line]]:
        in_order = filter(positions.__contains__, facts.ranking.order)
        return facts.lines(sorted(in_order, key=urgency, reverse=True))

    if found := _all_lines(facts, episodes, shares.tokens):
        selection.add(_take(block, selection.new(found), shares.tokens))
    else:
        selection.add(_take(block, selection.new(_tag("episode", episodes.lines(unlearned))), shares.unlearned))
        before = block.left
        selection.add(_take(block, selection.new(_tag("fact", by_urgency(guaranteed))), shares.guaranteed))
        reserved = shares.guaranteed - (before - block.left)
        for above, up_to, room in ((cutoff, 1.0, shares.tokens), (0.0, cutoff, shares.noise)):
            found = _best(facts, episodes, min(room, block.left), above, up_to)
            selection.add(_take(block, selection.new(found), room))
        selection.add(_take(block, selection.new(_tag("fact", by_urgency(repeated))), reserved))
    in_order = filter(selection.facts.__contains__, facts.ranking.order)
    return {position: selection.facts[position] for position in in_order}, selection.episodes


Place = tuple[Literal["fact", "episode"], int]
"""A fact or an episode by its position."""


@dataclass
class _Selection:
    """The facts and episodes selected so far."""

    overlap: Overlap
    facts: Lines = field(default_factory=Lines)
    episodes: Lines = field(default_factory=Lines)

    def new(self, candidates: Iterable[tuple[Place, Line]]) -> Iterator[tuple[Place, Line]]:
        """Yield those of *candidates* that are not selected, and that the lines selected by then do not cover."""
        for (kind, position), line in candidates:
            if kind == "fact":
                is_known = position in self.facts
                is_known = is_known or (bool(self.episodes) and self.overlap.is_fact_covered(position, self.episodes))
                # two claims may rest on the same words
                is_known = is_known or (line.group == QUOTES and line in self.facts.values())
            else:
                is_known = position in self.episodes or self.overlap.is_episode_covered(position, self.facts)
            if not is_known:
                yield (kind, position), line

    def add(self, lines: Iterable[tuple[Place, Line]]) -> None:
        """Select *lines*."""
        for (kind, position), line in lines:
            (self.facts if kind == "fact" else self.episodes)[position] = line
            for claim in self.overlap.claims_in(position) if kind == "episode" else ():
                self.facts.pop(claim, None)


def _tag(kind: Literal["fact", "episode"], lines: Iterable[tuple[int, Line]]) -> Iterator[tuple[Place, Line]]:
    for position, line in lines:
        yield (kind, position), line


def _best(
    facts: Candidates, episodes: Candidates, room: int, above: float, up_to: float
) -> Iterator[tuple[Place, Line]]:
    """Yield as many facts and matching episodes as *room* could hold, the best first; of equals facts are first.

    Their similarity is above *above*, and at most *up_to*. A line is made when it is asked for: few of them fit.
    """
    most = max(0, room // MIN_LINE_TOKENS)
    known, said = facts.ranking.between(above, up_to), episodes.ranking.between(max(0.0, above), up_to)
    found = [*((facts, at) for at in islice(known, most)), *((episodes, at) for at in islice(said, most))]
    for candidates, at in sorted(found, key=lambda each: -each[0].ranking.scores[each[1]]):
        if line := candidates.line_of(at):
            yield ("fact" if candidates is facts else "episode", at), line


def _all_lines(facts: Candidates, episodes: Candidates, room: int) -> list[tuple[Place, Line]] | None:
    """Return all lines, those of the facts first; None if they do not fit into *room* tokens."""
    if (len(facts.ranking.order) + len(episodes.ranking.order)) * MIN_LINE_TOKENS > room:
        return None
    found = [*_tag("fact", facts.lines()), *_tag("episode", episodes.lines())]
    return found if tokens_of(line for _, line in found) <= room else None


def fit_in_order(lines: Iterable[tuple[int, Line]], room: int) -> tuple[Lines, int]:
    """Return those of *lines*, the best first, that fit into *room* tokens, and how many tokens they take."""
    block = _Block(room)
    fitting = dict(_take(block, lines, room))
    return fitting, room - block.left


T = TypeVar("T")


def _take(block: _Block, candidates: Iterable[tuple[T, Line]], room: int) -> Iterator[tuple[T, Line]]:
    """Yield those of *candidates*, in order, that fit into *room* tokens and into *block*, which has them then."""
    room, misses = min(room, block.left), 0
    if room < MIN_LINE_TOKENS:
        return
    for place, line in candidates:
        cost = block.cost(line)
        if cost > room:
            misses += 1
        else:
            block.add(line, cost)
            yield place, line
            room, misses = room - cost, 0
        if room < MIN_LINE_TOKENS or misses >= MAX_MISSES:
            return
