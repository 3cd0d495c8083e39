"""Episodes: the messages of a conversation that are kept word for word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memgraph.analysis import dates
from memgraph.analysis.admission import admitted_sentences
from memgraph.analysis.orders import without_orders
from memgraph.analysis.secrets import mask
from memgraph.analysis.sentences import cut_at_sentence, split_text
from memgraph.models import Episode, Turn

if TYPE_CHECKING:
    from memgraph.policy import Policy

MAX_ANSWER_CHARS = 500
"""Maximum characters of an episode of the assistant; the rest of its answer is not kept."""


def episode_id(thread: str, message_id: str, part: int = 0) -> str:
    """Return the id of one part of a message: the same in every run, so that a message is kept once.

    Args:
        thread: The thread, or "unknown".
        message_id: The id of the turn.
        part: The number of the part, from 0; a message of at most `max_episode_chars` characters has one.
    """
    digest = hashlib.sha256(f"{thread}\0{message_id}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return f"e_{digest}-{part}" if part else f"e_{digest}"


def episodes_of(turns: Sequence[Turn], *, thread: str, policy: Policy) -> tuple[Episode, ...]:
    """Return what is kept of *turns*: the own words of their authors without orders to a model, secrets masked.

    Args:
        turns: Consecutive turns of a conversation, the oldest first.
        thread: The thread, or "unknown".
        policy: `episodes` selects the turns: those of the user, with `exchange` also the assistant's last turn before
            the next one of the user, with `off` none. A turn of more than `max_episode_chars` characters is kept in
            parts, cut at sentence ends if possible.

    Returns:
        The episodes in the order of *turns*. Other speakers' turns are not kept.
    """
    if policy.episodes == "off":
        return ()
    found: list[Episode] = []
    for index, turn in enumerate(turns):
        if turn.is_users:
            words = kept_words(turn.own_words)
            words = admitted_sentences(words) if turn.by_tool else words  # who wrote them is not known
            found += _episodes_of_turn(turn, split_text(words, policy.max_episode_chars), thread)
        elif policy.episodes == "exchange" and _is_final_answer(turns, index):
            found += _episodes_of_turn(turn, [cut_at_sentence(mask(turn.own_words), MAX_ANSWER_CHARS, len)], thread)
    return tuple(found)


def kept_words(text: str) -> str:
    """Return what an episode keeps of *text*: no orders to a model, secrets masked."""
    return mask(without_orders(text))


def find_episode(kept: Iterable[Episode], words: str) -> str:
    """Return the id of the episode that keeps *words*, of those of one turn; empty if none does."""
    return next((episode.id for episode in kept if words in episode.text), "")


def select_episodes(
    episodes: Sequence[Episode], *, thread: str | None = None, since: str | None = None, timezone: str = "UTC"
) -> Sequence[Episode]:
    """Return the episodes of one thread, or since a date.

    Args:
        episodes: Any episodes.
        thread: None selects all threads.
        since: A time, or a year, month or day such as `2026-05`, of which those of the first day are included. None
            selects all times; otherwise, episodes of an unknown time are left out.
        timezone: In which a day of *since* begins, such as `Europe/Lisbon`.

    Raises:
        ValueError: If *since* is not a date.
    """
    if thread is not None:
        episodes = [episode for episode in episodes if episode.thread_id == thread]
    if since is None:
        return episodes
    is_since = dates.since(since, timezone)
    return [episode for episode in episodes if is_since(episode.at)]


def _is_final_answer(turns: Sequence[Turn], index: int) -> bool:
    return turns[index].role == "ai" and (index + 1 == len(turns) or turns[index + 1].role == "human")


def _episodes_of_turn(turn: Turn, parts: Iterable[str], thread: str) -> list[Episode]:
    return [
        Episode(
            id=episode_id(thread, turn.id, number),
            thread_id=thread,
            message_id=turn.id,
            at=turn.at,
            text=text,
            author="user" if turn.role == "human" else "assistant",
            origin="tool" if turn.by_tool else None,
        )
        for number, text in enumerate(parts)
        if text
    ]
