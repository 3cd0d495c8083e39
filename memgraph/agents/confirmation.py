"""Consent: what a person wrote is changed by a model only if the person agrees."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from memgraph.models import Fact

AFFIRMATIVE = frozenset(
    {"yes", "y", "true", "ok", "okay", "agree", "agreed", "approve", "approved", "是", "好", "可以", "同意"}
)


_CHECKPOINTER = "__pregel_checkpointer"  # LangGraph exports no name for it; were it another, a run would end at `ask`


class ConfirmationRequiredError(Exception):
    """A change would touch a fact that a person wrote. It never leaves the tools."""

    def __init__(self, fact: Fact) -> None:
        super().__init__(fact.id)
        self.fact = fact


def can_interrupt(config: RunnableConfig) -> bool:
    """Tell whether a run that is interrupted can be resumed: without a checkpointer it would end without an answer."""
    return config.get("configurable", {}).get(_CHECKPOINTER, ...) is not None


def request_confirmation(action: str, fact: Fact, change: dict[str, Any]) -> bool:
    """Interrupt the run to ask whether *fact* may be changed so; return the answer it is resumed with.

    The run is resumed by `Command(resume="yes")`; True counts too, and everything else is a no.
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
