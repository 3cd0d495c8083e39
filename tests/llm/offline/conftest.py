"""How the tests talk to the offline model: with the blocks of the real prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from memgraph.llm.offline import OfflineChatModel
from memgraph.models import Fact, Turn
from memgraph.prompts.update_prompt import render_fact, render_turn

Answer = dict[str, Any]


def _prompt(turns: Sequence[Turn], known: Sequence[Fact], earlier: int) -> str:
    facts = "\n".join(render_fact(fact, fact.effective_category) for fact in known)
    shown = "\n".join(render_turn(turn, place + 1, is_new=place >= earlier) for place, turn in enumerate(turns))
    return f"<known_facts>\n{facts}\n</known_facts>\n<conversation>\n{shown}\n</conversation>"


@pytest.fixture
def learn() -> Callable[..., Answer]:
    """Ask about turns, the last of which the user speaks; they take turns with the assistant.

    What the answer leaves out is empty.
    """

    def ask(*texts: str, known: Sequence[Fact] = (), earlier: int = 0) -> Answer:
        first = len(texts) % 2
        turns = [
            Turn(id=str(place), role="human" if place % 2 != first else "ai", text=text)
            for place, text in enumerate(texts)
        ]
        answer = OfflineChatModel().invoke([HumanMessage(_prompt(turns, known, earlier))])
        found = json.loads(answer.text)
        return {
            "newFacts": [{"replaces": []} | fact for fact in found["newFacts"]],
            "factsToRemove": found.get("factsToRemove", []),
        }

    return ask


@pytest.fixture
def contents(learn: Callable[..., Answer]) -> Callable[..., list[str]]:
    """What is learned from one turn of the user."""

    def read(text: str) -> list[str]:
        return [fact["content"] for fact in learn(text)["newFacts"]]

    return read
