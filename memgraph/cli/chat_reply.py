"""What the chat replies without a chat model: what it learned, and what it knows, in the user's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from memgraph.cli.format import shown_line
from memgraph.models import Episode, Fact, MemoryDocument
from memgraph.retrieval.results import ScoredEpisode, ScoredFact
from memgraph.retrieval.terms import extract_all_words
from memgraph.text.dates import local_date

if TYPE_CHECKING:
    from memgraph.retrieval.pipeline import RecallPipeline

Language = Literal["en", "zh"]

MAX_QUOTED = 5
"""Maximum facts and episodes in a reply."""
MAX_CANDIDATES = 20
"""Results of a search from which they are taken."""


@dataclass(frozen=True, slots=True)
class ChatTexts:
    """The texts of the chat in one language, by default in English."""

    remembered: str = "I remember:"
    nothing: str = "I know nothing about that yet."
    learned: str = "Learned: {}"
    kept: str = "Kept your words."
    before: str = "(Before: {})"
    quote: str = '"{}"'
    greeting: str = "Hello! Introduce yourself, or ask what I remember. /help lists the commands."
    acknowledged: str = "All right."
    not_kept: str = "I did not keep that: {}."
    is_off: str = "memory is off"
    nothing_about_you: str = "I found nothing about you in it"
    known_already: str = "I know that already."


TEXTS: Mapping[Language, ChatTexts] = MappingProxyType(
    {
        "en": ChatTexts(),
        "zh": ChatTexts(
            remembered="我记得：",
            nothing="这个我还不知道。",
            learned="学到了：{}",
            kept="你的原话我记下了。",
            before="（之前：{}）",
            quote="“{}”",
            greeting="你好！跟我说说你自己，或者问我记得什么。输入 /help 查看命令。",
            acknowledged="好的。",
            not_kept="这个我没有记下：{}。",
            is_off="记忆已关闭",
            nothing_about_you="其中没有关于你的内容",
            known_already="这个我已经知道了。",
        ),
    }
)


def join_facts(facts: Sequence[Fact]) -> str:
    """Return the facts as sentences on one line."""
    return " ".join(shown_line(fact.content) for fact in facts)


def format_learned(texts: ChatTexts, added: Sequence[Fact], removed: Sequence[Fact]) -> str:
    """Return the line about what was learned, and what it replaced; empty if nothing was."""
    parts = [
        *([texts.learned.format(join_facts(added))] if added else []),
        *([texts.before.format(join_facts(removed))] if removed else []),
    ]
    return " ".join(parts)


def find_quotes(
    pipeline: RecallPipeline, memory: MemoryDocument, episodes: Sequence[Episode], text: str
) -> Sequence[ScoredFact | ScoredEpisode]:
    """Return the facts that answer *text*, and what the user said about it that they do not cover, the best first."""
    from memgraph.retrieval.fact_index import resolve_superseded

    superseded = {memory.facts[position].id for position in resolve_superseded(memory.facts)}
    found = pipeline.search(memory, text, episodes=episodes, limit=MAX_CANDIDATES)
    facts = [each for each in found if isinstance(each, ScoredFact) and each.fact.id not in superseded]
    said = [each for each in found if not isinstance(each, ScoredFact) and not _is_covered(each, facts)]
    return sorted((*facts, *said), key=lambda each: -each.score)[:MAX_QUOTED]


def _is_covered(said: ScoredEpisode, facts: Sequence[ScoredFact]) -> bool:
    """Return whether one of *facts* was learned from *said*, or later has the same of the question: it is current."""
    terms = _matched_terms(said)
    return any(
        said.episode.id in {item.episode for item in each.fact.evidence}
        or (terms <= _matched_terms(each) and said.episode.at <= (each.fact.said_at or each.fact.created_at))
        for each in facts
    )


def _matched_terms(found: ScoredFact | ScoredEpisode) -> set[str]:
    """Return the terms of the question that the text itself has, without its quotes and the turn before."""
    text = found.fact.content if isinstance(found, ScoredFact) else found.episode.text
    return {term for word, term in extract_all_words([text])[0] if word in found.matched}


def quote_all(memory: MemoryDocument, timezone: str) -> Iterator[str]:
    """Yield a line for each of the facts in use, the most certain first, as many as a reply quotes."""
    from memgraph.retrieval.fact_index import resolve_superseded

    superseded = resolve_superseded(memory.facts)
    current = [fact for position, fact in enumerate(memory.facts) if position not in superseded]
    for fact in sorted(current, key=lambda fact: -fact.confidence)[:MAX_QUOTED]:
        yield format_fact_line(fact, timezone)


def format_quote(texts: ChatTexts, found: ScoredFact | ScoredEpisode, timezone: str) -> str:
    """Return a fact, or the user's own words in quotation marks, with the day on which it was said."""
    if isinstance(found, ScoredFact):
        return format_fact_line(found.fact, timezone)
    return _with_day(texts.quote.format(shown_line(found.episode.text)), local_date(found.episode.at, timezone))


def format_fact_line(fact: Fact, timezone: str) -> str:
    """Return a fact with the day since which it is true, or on which it was said or written."""
    return _with_day(
        shown_line(fact.content), shown_line(fact.valid_from) or local_date(fact.said_at or fact.created_at, timezone)
    )


def _with_day(text: str, day: str) -> str:
    return f"{text} ({day})" if day else text
