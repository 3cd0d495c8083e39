"""An agent without a model, which answers with the memories that it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, cast

from langchain_core.messages import AIMessage, BaseMessage

from memgraph.agents.messages import last_user_index
from memgraph.agents.nodes import MemoryState
from memgraph.context import get_field
from memgraph.text.normalize import language_of_texts, unescape

ANSWERS: Mapping[Literal["en", "zh"], tuple[str, str]] = MappingProxyType(
    {
        "en": (
            "No model is configured, so I can only list what I remember about you:",
            "No model is configured, and I remember nothing about you yet. Introduce yourself, then ask again.",
        ),
        "zh": (
            "没有配置模型，我只能告诉你我记得的事：",
            "没有配置模型，我还不记得你的任何事。先告诉我一些，再来问我。",
        ),
    }
)
"""The first line of an answer with memories, and the answer without any, by language."""


def answer_from_memory(state: MemoryState | object) -> AIMessage:
    """Answer with what inject_memory found.

    The state may be a dict, a dataclass or a pydantic model. The answer is named `memory_context`, so that memory
    does not learn from itself.
    """
    messages = cast("Sequence[BaseMessage]", get_field(state, "messages") or ())
    start = last_user_index(messages)
    heading, no_memory = ANSWERS[language_of_texts([messages[start].text] if start is not None else [])]
    context = str(get_field(state, "memory_context") or "").splitlines()
    lines = [unescape(line) for line in context if line.startswith("- ") or line.endswith(":")]
    return AIMessage("\n".join([heading, "", *lines]) if lines else no_memory, name="memory_context")
