"""LoCoMo's conversations as memories, and how much of the evidence a selection of facts covers."""

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
"""Outside the checkout: the data set is not part of this project."""
CATEGORY_NAMES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}

Cost = Callable[[str], float]
"""The cost of a fact's text, in the units of the budget."""


@dataclass(frozen=True)
class Question:
    """A question, the turns that answer it, and its category."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True)
class Conversation:
    """A conversation: its facts, the turns behind each fact, and questions."""

    facts: tuple[Fact, ...]
    learned_from: tuple[frozenset[str], ...]
    questions: tuple[Question, ...]


def read_conversations(path: Path) -> list[Conversation]:
    """Read the conversations; the facts are all observations in session order."""
    return [_to_conversation(conversation) for conversation in json.loads(path.read_text("utf-8"))]


def _to_conversation(conversation: dict[str, Any]) -> Conversation:
    sessions = [turns for name, turns in conversation["conversation"].items() if re.fullmatch(r"session_\d+", name)]
    turn_ids = {turn["dia_id"] for turns in sessions for turn in turns}
    observations = sorted(conversation["observation"].items(), key=lambda item: int(item[0].split("_")[1]))
    facts, learned_from = list[Fact](), list[frozenset[str]]()
    for session, by_speaker in observations:
        for content, turns in (entry for entries in by_speaker.values() for entry in entries):
            facts.append(Fact(content=content, source=session, confidence=0.9))
            learned_from.append(_turn_ids(turns))
    questions = [
        Question(item["question"], _turn_ids(item.get("evidence", [])) & turn_ids, item["category"])
        for item in conversation["qa"]
    ]
    return Conversation(
        tuple(facts), tuple(learned_from), tuple(question for question in questions if question.evidence)
    )


def _turn_ids(evidence: object) -> frozenset[str]:
    return frozenset(re.findall(r"D\d+:\d+", str(evidence)))


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
