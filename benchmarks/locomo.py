"""The conversations of LoCoMo as memories, and how much of an answer a choice of facts covers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import HERE

from memgraph import Fact
from memgraph.text.tokens import count_tokens

LOCOMO = HERE.parent.parent / "shared/data/locomo_dev.json"
"""Beside the checkout: it is not ours to ship."""
CATEGORY_NAMES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}

Cost = Callable[[str], float]
"""What a fact takes of a budget."""


@dataclass(frozen=True)
class Question:
    """A question, the turns that answer it, and what kind it is."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True)
class Talk:
    """The facts of a conversation, the turns that each was learned from, and questions."""

    facts: tuple[Fact, ...]
    learned_from: tuple[frozenset[str], ...]
    questions: tuple[Question, ...]


def read_talks(path: Path) -> list[Talk]:
    """Read conversations as the protocol says: memory = all observations in session order."""
    return [_talk(conversation) for conversation in json.loads(path.read_text("utf-8"))]


def _talk(conversation: dict[str, Any]) -> Talk:
    sessions = [turns for name, turns in conversation["conversation"].items() if re.fullmatch(r"session_\d+", name)]
    known = {turn["dia_id"] for turns in sessions for turn in turns}
    observed = sorted(conversation["observation"].items(), key=lambda item: int(item[0].split("_")[1]))
    facts, learned_from = list[Fact](), list[frozenset[str]]()
    for session, by_speaker in observed:
        for content, turns in (entry for entries in by_speaker.values() for entry in entries):
            facts.append(Fact(content=content, source=session, confidence=0.9))
            learned_from.append(_turn_ids(turns))
    questions = [
        Question(item["question"], _turn_ids(item.get("evidence", [])) & known, item["category"])
        for item in conversation["qa"]
    ]
    return Talk(tuple(facts), tuple(learned_from), tuple(question for question in questions if question.evidence))


def _turn_ids(said: object) -> frozenset[str]:
    return frozenset(re.findall(r"D\d+:\d+", str(said)))


def share_covered(talk: Talk, question: Question, order: Sequence[int], budget: int, cost: Cost) -> float:
    """Take facts, the best first, while they fit; return the share of the evidence they cover."""
    covered, room = set[str](), float(budget)
    for place in order:
        price = cost(talk.facts[place].content)
        if price <= room:
            room -= price
            covered |= talk.learned_from[place]
    return len(question.evidence & covered) / len(question.evidence)


def by_characters(content: str) -> float:
    """What a fact takes by a rule of thumb, as comparisons with others have it."""
    return len(content) / 4 + 3


def by_tokens(content: str) -> float:
    """What a fact takes as recall says it: exact tokens of its line."""
    return count_tokens(f"- [context | 0.90] {content}\n")
