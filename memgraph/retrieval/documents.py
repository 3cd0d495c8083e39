"""What is searched: facts and episodes as documents of weighted texts, with their thread and their time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memgraph.models import MANUAL, UNKNOWN_THREAD, Episode, Fact

QUOTE_WEIGHT = 0.5
"""Weight of a word of a fact's quotes, or of the turn before an episode, relative to a word of its own text."""
PRECEDING_WEIGHT = 0.25
"""Weight of a word of the turn before a quote."""
NO_THREAD = frozenset({MANUAL, UNKNOWN_THREAD, ""})
"""Sources that are not a conversation."""


@dataclass(frozen=True, slots=True)
class Document:
    """A fact or an episode as it is searched."""

    text: str
    """Its own text, which an embedding model compares with the question."""
    context: tuple[tuple[str, float], ...] = ()
    """Further texts by which it is found, each with the weight of a word in it."""
    thread: str = ""
    """The conversation it is from; empty if there is none."""
    dates: tuple[str, ...] = ()
    """The times that it is about, as (partial) ISO 8601 dates: the first of them to the last."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its own text and its context."""
        return (self.text, *(text for text, _ in self.context))


def fact_documents(facts: Iterable[Fact], preceding: Mapping[str, str]) -> tuple[Document, ...]:
    """Return the documents of *facts*: their content, their quotes and the turns before these.

    Args:
        facts: N facts.
        preceding: The turn before an episode, by the id of the episode.
    """
    return tuple(_fact_document(fact, preceding) for fact in facts)


def _fact_document(fact: Fact, preceding: Mapping[str, str]) -> Document:
    context = [(item.quote, QUOTE_WEIGHT) for item in fact.evidence if item.quote]
    # a turn that two quotes are from counts once
    turns = dict.fromkeys(preceding.get(item.episode, "") for item in fact.evidence)
    context.extend((turn, PRECEDING_WEIGHT) for turn in turns if turn)
    return Document(
        searchable_text(fact),
        tuple(context),
        "" if fact.source in NO_THREAD else fact.source,
        tuple(date for date in (fact.said_at, fact.valid_from, fact.valid_until) if date),
    )


def searchable_text(fact: Fact) -> str:
    """Return the text of *fact*: its content, and what went wrong."""
    return f"{fact.content}\n{fact.source_error}" if fact.source_error else fact.content


def episode_documents(episodes: Iterable[Episode], preceding: Mapping[str, str]) -> tuple[Document, ...]:
    """Return the documents of *episodes*: their text, and the turn before."""
    return tuple(_episode_document(episode, preceding.get(episode.id, "")) for episode in episodes)


def _episode_document(episode: Episode, preceding: str) -> Document:
    context = ((preceding, QUOTE_WEIGHT),) if preceding else ()
    thread = "" if episode.thread_id in NO_THREAD else episode.thread_id
    return Document(episode.text, context, thread, (episode.at,) if episode.at else ())


def preceding_turns(episodes: Sequence[Episode], *, before: Sequence[Episode] = ()) -> dict[str, str]:
    """Return the text of the turn before, by the id of each of *episodes* that has one in its thread.

    Args:
        episodes: The oldest first.
        before: Older episodes, of which only the last of each thread counts.
    """
    last = {episode.thread_id: episode.text for episode in before}
    return dict(_pair_with_preceding(episodes, last))


def _pair_with_preceding(episodes: Iterable[Episode], last: dict[str, str]) -> Iterator[tuple[str, str]]:
    for episode in episodes:
        if episode.thread_id in last and episode.thread_id not in NO_THREAD:
            yield episode.id, last[episode.thread_id]
        last[episode.thread_id] = episode.text
