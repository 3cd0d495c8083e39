"""Confirmation: a model may change a fact that a person wrote only if that person agrees."""

from __future__ import annotations

from typing import Any

from langgraph.types import interrupt

from memgraph.editing import find_fact
from memgraph.models import Fact, MemoryDocument

AFFIRMATIVE = frozenset(
    {"yes", "y", "true", "ok", "okay", "agree", "agreed", "approve", "approved", "是", "好", "可以", "同意"}
)


class ConfirmationRequiredError(Exception):
    """A change would touch a fact that a person wrote. The tools handle it; it never reaches the agent."""

    def __init__(self, fact: Fact) -> None:
        super().__init__(fact.id)
        self.fact = fact


def check_confirmed(memory: MemoryDocument, fact_id: str, confirmed: Fact | None) -> Fact:
    """Return the fact *fact_id* if it is a learned one, or a manual one that equals the one *confirmed*.

    Raises:
        EditError: If there is no such fact.
        ConfirmationRequiredError: If a person wrote it and has not confirmed a change of it as it is now.
    """
    fact = find_fact(memory, fact_id)
    if fact.is_manual and fact != confirmed:
        raise ConfirmationRequiredError(fact)
    return fact


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
