"""About the assistant: a memory is of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.finding import Finding, of_fact
from memgraph.models import Memory

_SELF = r"(?:the\s+)?(?:ai\s+)?(?:assistant|chatbot|language model|ai model|llm)"
SAYS = re.compile(
    rf"\s*(?:{_SELF}\s+(?:is|was|has|had|can|cannot|can't|could|did|does|doesn't|said|told|suggested|recommended|explained|"
    r"provided|offered|answered|replied|helped|apologi[sz]ed|asked|agreed|promised|gave|will|responded|mentioned)\b"
    r"|as an ai\b|i am an ai\b|i'm an ai\b"
    r"|(?:AI|人工智能)?助手(?:是|说|建议|回答|提供|无法|不能|可以|表示|已经|帮)|作为(?:一个|一名)?(?:AI|人工智能))",
    re.IGNORECASE,
)
ORDERS = re.compile(
    rf"\s*(?:{_SELF}\s+(?:should|must|needs to|has to|is expected to)\b|you\s+(?:should|must|are|have to|need to)\b"
    r"|(?:AI|人工智能)?助手(?:应该|应当|必须|需要|要)|你(?:应该|必须|要))",
    re.IGNORECASE,
)


def about_assistant(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts about the assistant. What it should do may be a wish of the user's: that is for a person to judge."""
    del now
    for fact in memory.facts:
        if fact.kind == "correction":
            continue
        if SAYS.match(fact.content):
            yield of_fact("about_assistant", fact, "it is about the assistant, not about the user")
        elif ORDERS.match(fact.content):
            why = "it tells the assistant what to do; if it is a wish of the user's, say so: Prefers ..."
            yield of_fact("about_assistant", fact, why, remove=False)
