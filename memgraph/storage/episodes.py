"""Episodes in a storage: their order, their limits and their JSON.

They are read when a memory is recalled, and never on the way of an update: appending does not parse what is stored.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from memgraph.models import Episode, timestamp
from memgraph.policy import Policy
from memgraph.storage.document import repair_surrogates

logger = logging.getLogger("memgraph.storage")

EVICTED_AT_ONCE = 20
"""An eviction removes one of so many of the allowed episodes more than it must."""
_EPISODE_BYTES = 1_200
"""Size of a parsed episode without its text."""


def storable(episode: Episode) -> Episode:
    """Return *episode* as it is read after it was stored: unpaired surrogates become U+FFFD."""
    try:
        episode.model_dump_json()
    except PydanticSerializationError:
        return Episode.model_validate(repair_surrogates(episode.model_dump(by_alias=True)))
    return episode


def encode_episode(episode: Episode) -> str:
    """Return a storable *episode* as JSON on one line, in camelCase."""
    return episode.model_dump_json(by_alias=True)


def decode_episode(data: bytes | str) -> Episode | None:
    """Parse an episode; None if *data* is not one."""
    try:
        return Episode.model_validate_json(data)
    except ValidationError:
        return None


def merge_episodes(known: tuple[Episode, ...], new: Iterable[Episode]) -> tuple[Episode, ...]:
    """Return *known* and those of *new* with other ids, the oldest first; *known* itself if there are none.

    Episodes of an unknown time come first; those of the same time keep their order.
    """
    ids = {episode.id for episode in known}
    added: dict[str, Episode] = {}
    for episode in new:
        if episode.id not in ids:
            added.setdefault(episode.id, episode)
    if not added:
        return known
    return tuple(sorted((*known, *added.values()), key=lambda episode: episode.at))


def oldest_allowed(policy: Policy, now: datetime) -> str:
    """Return the time before which an episode is evicted; "" if there is none."""
    return timestamp(now - timedelta(days=policy.episode_days)) if policy.episode_days else ""


def within_limits(episodes: Sequence[Episode], policy: Policy, now: datetime) -> Sequence[Episode]:
    """Return those of *episodes*, the oldest first, that *policy* keeps. Those of an unknown time never expire."""
    limit = oldest_allowed(policy, now)
    allowed = [episode for episode in episodes if not "" < episode.at < limit]
    return allowed[excess_of(len(allowed), policy) :]


def excess_of(count: int, policy: Policy) -> int:
    """Return how many of *count* episodes are evicted: none within the limit, else down to 95 % of it.

    After an eviction, a file is rewritten and what recall has indexed is indexed again. So it has to be rare.
    """
    if count <= policy.max_episodes:
        return 0
    return count - policy.max_episodes + policy.max_episodes // EVICTED_AT_ONCE


@functools.lru_cache(maxsize=64)
def log_kept_words(storage: str, kept_words: str) -> None:
    """Log, once a process, what *storage* keeps word for word: `Policy.kept_words`."""
    logger.info("%s: %s", storage, kept_words)


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeSnapshot:
    """The episodes of one scope, as they were read."""

    version: object
    """Differs if the stored episodes do."""
    episodes: tuple[Episode, ...]
    unreadable: int = 0
    """Stored lines that cannot be read as episodes."""

    @property
    def bytes(self) -> int:
        """About how much RAM it takes."""
        return sum(_EPISODE_BYTES + len(episode.text) for episode in self.episodes)
