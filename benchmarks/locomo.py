"""LoCoMo's conversations as dated turns and memories, and how much of the evidence a selection of facts covers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import HERE

from memgraph import Fact
from memgraph.analysis.tokens import count_tokens
from memgraph.models import Episode, Evidence, Turn, timestamp

LOCOMO = HERE.parent.parent / "shared/data/locomo_dev.json"
"""Outside the checkout: the data set is not part of this project."""
CATEGORY_NAMES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}

MAX_QUOTES = 3
MAX_QUOTE_CHARS = 400

Cost = Callable[[str], float]
"""The cost of a fact's text, in the units of the budget."""


@dataclass(frozen=True)
class Question:
    """A question, the turns that answer it, its category and its answer."""

    text: str
    evidence: frozenset[str]
    category: int
    answer: str = ""


@dataclass(frozen=True)
class Conversation:
    """A conversation of two people: its turns, its facts, the turns behind each fact, and questions."""

    turns: tuple[Turn, ...]
    """In the order of the conversation, each with its time and its speaker; the id is LoCoMo's, such as `D1:3`."""
    facts: tuple[Fact, ...]
    """With the time of the session in `said_at`."""
    learned_from: tuple[frozenset[str], ...]
    """For each fact, the ids of the turns that it was learned from."""
    speakers: tuple[str, ...]
    """For each fact, the person that it is about."""
    questions: tuple[Question, ...]

    def of_speaker(self, name: str) -> Conversation:
        """The same conversation and questions with the facts about one person only."""
        own = [index for index, speaker in enumerate(self.speakers) if speaker == name]
        return replace(
            self,
            facts=tuple(self.facts[index] for index in own),
            learned_from=tuple(self.learned_from[index] for index in own),
            speakers=(name,) * len(own),
        )


def read_conversations(path: Path) -> list[Conversation]:
    """Read the conversations; the facts are all observations in session order."""
    return [_to_conversation(conversation) for conversation in json.loads(path.read_text("utf-8"))]


def _to_conversation(conversation: dict[str, Any]) -> Conversation:
    turns = tuple(_turns(conversation["conversation"]))
    turn_ids = {turn.id for turn in turns}
    observations = sorted(conversation["observation"].items(), key=lambda item: _session_number(item[0]))
    facts, learned_from, speakers = list[Fact](), list[frozenset[str]](), list[str]()
    for session, by_speaker in observations:
        said_at = _session_time(conversation["conversation"], _session_number(session))
        for speaker, entries in by_speaker.items():
            for content, evidence in entries:
                facts.append(Fact(content=content, source=session, confidence=0.9, said_at=said_at))
                learned_from.append(_turn_ids(evidence))
                speakers.append(speaker)
    questions = [
        Question(
            item["question"],
            _turn_ids(item.get("evidence", [])) & turn_ids,
            item["category"],
            str(item.get("answer", "")),
        )
        for item in conversation["qa"]
    ]
    return Conversation(
        turns,
        tuple(facts),
        tuple(learned_from),
        tuple(speakers),
        tuple(question for question in questions if question.evidence),
    )


def _turns(sessions: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of all sessions, in the order of the sessions' numbers."""
    numbers = sorted(_session_number(name) for name in sessions if re.fullmatch(r"session_\d+", name))
    for number in numbers:
        at = _session_time(sessions, number)
        for turn in sessions[f"session_{number}"]:
            yield Turn(id=turn["dia_id"], role="human", text=_text(turn), at=at, speaker=turn["speaker"])


def _text(turn: Mapping[str, str]) -> str:
    """Return what was said, with the caption of a shared photo."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [image: {caption}]" if caption else turn["text"]


def _session_number(name: str) -> int:
    return int(name.split("_")[1])


def _session_time(sessions: Mapping[str, Any], number: int) -> str:
    """Return when a session began, read as UTC: LoCoMo names no time zone."""
    began = sessions[f"session_{number}_date_time"]
    return timestamp(datetime.strptime(began, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC))


def _turn_ids(evidence: object) -> frozenset[str]:
    return frozenset(re.findall(r"D\d+:\d+", str(evidence)))


def to_episodes(conversation: Conversation) -> tuple[Episode, ...]:
    """Return the turns of both speakers as episodes, each with the name of its speaker; a session is a thread."""
    return tuple(
        Episode(
            id=turn.id,
            thread_id=_session_of(turn.id),
            message_id=turn.id,
            at=turn.at,
            text=f"{turn.speaker}: {turn.text}",
        )
        for turn in conversation.turns
    )


def with_evidence(conversation: Conversation, episodes: Sequence[Episode]) -> tuple[Fact, ...]:
    """Return the facts with the turns that they were learned from as evidence, at most 3 quotes each."""
    by_turn = {episode.message_id: episode for episode in episodes}
    return tuple(
        fact.model_copy(
            update={
                "evidence": tuple(
                    Evidence(episode=by_turn[turn].id, quote=by_turn[turn].text[:MAX_QUOTE_CHARS])
                    for turn in sorted(turns & by_turn.keys())[:MAX_QUOTES]
                )
            }
        )
        for fact, turns in zip(conversation.facts, conversation.learned_from, strict=True)
    )


def _session_of(turn: str) -> str:
    """Return the name of the session of a turn such as `D1:3`, as facts have it."""
    return f"session_{turn[1:].partition(':')[0]}_observation"


def share_covered(
    conversation: Conversation, question: Question, order: Sequence[int], budget: int, cost: Cost
) -> float:
    """Select facts in *order* while they fit the budget; return the share of the evidence they cover."""
    covered, remaining = set[str](), float(budget)
    for index in order:
        price = cost(conversation.facts[index].content)
        if price <= remaining:
            remaining -= price
            covered |= conversation.learned_from[index]
    return len(question.evidence & covered) / len(question.evidence)


def by_characters(content: str) -> float:
    """Estimate the tokens of a fact as published comparisons do."""
    return len(content) / 4 + 3


def by_tokens(content: str) -> float:
    """Return the exact tokens of a fact's line in a prompt."""
    return count_tokens(f"- [context | 0.90] {content}\n")
