"""An agent without a model: it can still tell what it remembers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from langchain_core.messages import AIMessage

from memgraph.agents.messages import last_user_index
from memgraph.agents.nodes import MemoryState
from memgraph.text.language import language_of
from memgraph.text.normalize import unescape

SAID: Mapping[Literal["en", "zh"], tuple[str, str]] = MappingProxyType(
    {
        "en": (
            "No model is configured, so I can only tell what I remember of you:",
            "No model is configured, and I remember nothing of you yet. Tell me about yourself, then ask again.",
        ),
        "zh": (
            "没有配置模型，我只能告诉你我记得的事：",
            "没有配置模型，我还不记得你的任何事。先告诉我一些，再来问我。",
        ),
    }
)
"""Where something is remembered, and where nothing is."""


def answer_from_memory(state: MemoryState) -> AIMessage:
    """Answer with what inject_memory found, and say that this is all there is.

    The answer is named as memory is, so that memory does not learn from itself.
    """
    messages = state["messages"]
    start = last_user_index(messages)
    something, nothing = SAID[language_of([messages[start].text] if start is not None else [])]
    told = state.get("memory_context", "").splitlines()
    lines = [unescape(line) for line in told if line.startswith("- ") or line.endswith(":")]
    return AIMessage("\n".join([something, "", *lines]) if lines else nothing, name="memory_context")
