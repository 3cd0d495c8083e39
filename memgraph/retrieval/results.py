"""The results of recall: scored facts and episodes, what fits the budget, and the text for a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field

from memgraph.models import Episode, Fact, PastFact, SectionName

NOTHING_FOUND = "Nothing found."


class _Scored(BaseModel, frozen=True, extra="forbid"):
    score: float
    """What items are ordered by, the highest first; in [0, 1]."""
    similarity: float
    """To the query, in [0, 1]; 1 is the most similar item of the memory."""
    position: int = 0
    """In the memory: lines of one day are read in this order."""
    matched: tuple[str, ...] = ()
    """Words by which the query finds it: of its own text, its quotes and the turn before."""


class ScoredFact(_Scored, frozen=True, extra="forbid"):
    """A fact with its scores."""

    fact: Fact
    """The fact, as the memory has it."""


class ScoredPastFact(_Scored, frozen=True, extra="forbid"):
    """A past fact with its scores."""

    fact: PastFact
    """The past fact, with when and why it ended."""


class ScoredEpisode(_Scored, frozen=True, extra="forbid"):
    """An episode with its scores."""

    episode: Episode
    """The user's words, with their time and thread."""
    ended: str = ""
    """What was learned from them and does not hold any more, and what followed: see `ending_note`."""


class RankedItem(BaseModel, frozen=True, extra="forbid"):
    """The scores of a fact or an episode, by its id."""

    id: str
    score: float
    similarity: float


class Ranked(BaseModel, frozen=True, extra="forbid"):
    """The order of a memory, the best first."""

    facts: tuple[RankedItem, ...] = ()
    episodes: tuple[RankedItem, ...] = ()
    """As many as the budget could hold; those with a similarity of 0 are shown only if everything fits."""
    past: tuple[RankedItem, ...] = ()
    """Past facts that answer the query if it is about the past."""
    unlearned: tuple[str, ...] = ()
    """Ids of the episodes that no update has learned yet, the newest first."""
    answered: float = 1.0
    """How much of the question the best of them answers, in [0, 1]; 0 if nothing does: what matches is noise."""


class Selection(BaseModel, frozen=True, extra="forbid"):
    """What of a memory fits the budget."""

    summaries: Mapping[SectionName, str] = Field(default_factory=dict[SectionName, str])
    """On one line each and escaped; cut if they did not fit."""
    profile: tuple[str, ...] = ()
    """The lines of the profile, escaped."""
    facts: tuple[ScoredFact, ...] = ()
    """The best first."""
    episodes: tuple[ScoredEpisode, ...] = ()
    """The best first."""
    past: tuple[ScoredPastFact, ...] = ()
    """The best first."""
    today: str = ""
    """The date of the user's day."""


class RecallResult(BaseModel, frozen=True, extra="forbid"):
    """The memory text for a prompt, and the facts and episodes in it."""

    text: str
    """One `<memory>` block; "" if the memory is empty, or nothing fits."""
    tokens: int
    """Size of the text in tokens of cl100k_base."""
    facts: tuple[ScoredFact, ...] = ()
    """The facts in the text with their scores; the best first."""
    episodes: tuple[ScoredEpisode, ...] = ()
    """The episodes in the text with their scores; the best first."""
    past: tuple[ScoredPastFact, ...] = ()
    """The past facts in the text with their scores; the best first. Only questions about the past find them."""
    note: str = ""
    """NOTHING_FOUND if there are none of these."""

    @classmethod
    def of(cls, chosen: Selection, text: str, tokens: int) -> RecallResult:
        """Return the result of what was *chosen*, with its *text* of so many *tokens*."""
        facts, episodes, past = chosen.facts, chosen.episodes, chosen.past
        note = "" if facts or episodes or past else NOTHING_FOUND
        return cls(text=text, tokens=tokens, facts=facts, episodes=episodes, past=past, note=note)
