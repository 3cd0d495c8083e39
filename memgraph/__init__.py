"""Long-term memory for LangGraph agents, updated by a LangGraph graph.

    from langchain_core.messages import HumanMessage
    from memgraph import Context, build_graph

    graph = build_graph()
    result = graph.invoke({"messages": [HumanMessage("I'm Ada.")]}, context=Context(user_id="ada"))
    print(result["outcome"], result["saved"].facts)

Public names are imported when they are first used, so that importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memgraph.config import load_settings
    from memgraph.context import Context
    from memgraph.errors import (
        ConfigError,
        ConversationError,
        DamagedMemoryError,
        EditError,
        ForgottenError,
        IdentityError,
        MemgraphError,
        ModelError,
        ModelSetupError,
        RevisionConflictError,
        StorageError,
        UnreadableAnswerError,
        WrongStorageError,
    )
    from memgraph.graph import build_graph
    from memgraph.models import Fact, Memory, MemoryUpdate, Scope, Section
    from memgraph.policy import Policy
    from memgraph.report import Report
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage, open_storage

__all__ = [
    "ConfigError",
    "Context",
    "ConversationError",
    "DamagedMemoryError",
    "EditError",
    "Fact",
    "ForgottenError",
    "IdentityError",
    "MemgraphError",
    "Memory",
    "MemoryStorage",
    "MemoryUpdate",
    "ModelError",
    "ModelSetupError",
    "Policy",
    "Report",
    "RevisionConflictError",
    "Scope",
    "Section",
    "Settings",
    "StorageError",
    "UnreadableAnswerError",
    "WrongStorageError",
    "build_graph",
    "load_settings",
    "open_storage",
]

_MODULES = {
    "Context": "context",
    "Fact": "models",
    "Memory": "models",
    "MemoryStorage": "storage",
    "MemoryUpdate": "models",
    "Policy": "policy",
    "Report": "report",
    "Scope": "models",
    "Section": "models",
    "Settings": "settings",
    "build_graph": "graph",
    "load_settings": "config",
    "open_storage": "storage",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes are of any type
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"memgraph.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
