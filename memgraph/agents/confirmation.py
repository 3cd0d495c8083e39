"""Confirmation: a model may change a fact that a person wrote only if that person agrees."""

from __future__ import annotations

from typing import Any

from langgraph.types import interrupt

from memgraph.models import Fact

AFFIRMATIVE = frozenset(
    {"yes", "y", "true", "ok", "okay", "agree", "agreed", "approve", "approved", "是", "好", "可以", "同意"}
)


class ConfirmationRequiredError(Exception):
    """A change would touch a fact that a person wrote. The tools handle it; it never reaches the agent."""

    def __init__(self, fact: Fact) -> None:
        super().__init__(fact.id)
        self.fact = fact


def request_confirmation(action: str, fact: Fact, change: dict[str, Any]) -> bool:
    """Interrupt the run to ask whether *change* may be applied to *fact*, and return the answer.

    `Command(resume="yes")` resumes the run. True counts as agreement too; any other value as refusal.
    """
    answer: object = interrupt(
        {
            "type": "memory_consent",
            "question": f"May the assistant {action} this, which you wrote yourself?",
            "action": action,
            "fact": {"id": fact.id, "content": fact.content, "category": fact.category, "confidence": fact.confidence},
            "change": change,
        }
    )
    return answer is True or (isinstance(answer, str) and answer.strip().casefold() in AFFIRMATIVE)
