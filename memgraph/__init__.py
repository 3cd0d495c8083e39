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
    from memgraph.agents.middleware import MemoryMiddleware
    from memgraph.agents.nodes import MemoryState, capture_memory, inject_memory, with_memory
    from memgraph.agents.tools import memory_tools
    from memgraph.attachments.attach import attach
    from memgraph.attachments.config import MemoryAttachment
    from memgraph.attachments.manager import MemoryManager
    from memgraph.attachments.registry import register_memory_store
    from memgraph.attachments.store import MemoryStore
    from memgraph.background import Outbox, open_outbox
    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.background.invoker import Invoker
    from memgraph.background.server_invoker import ServerInvoker
    from memgraph.config import load_settings
    from memgraph.context import Context
    from memgraph.errors import (
        ConfigError,
        ConversationError,
        DamagedMemoryError,
        EditError,
        EmbeddingError,
        ForgottenError,
        IdentityError,
        MemgraphError,
        MemoryStoreError,
        ModelError,
        ModelSetupError,
        NotInReviewError,
        OutboxError,
        QueueFullError,
        RevisionConflictError,
        StorageError,
        UnreadableAnswerError,
        WrongStorageError,
    )
    from memgraph.graph import build_graph
    from memgraph.models import Fact, Memory, MemoryUpdate, Scope, Section
    from memgraph.policy import Policy
    from memgraph.report import Report
    from memgraph.retrieval.index_cache import IndexCache
    from memgraph.retrieval.recall import rank_facts, recall
    from memgraph.retrieval.results import ScoredFact
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage, open_storage

__all__ = [
    "BackgroundInvoker",
    "ConfigError",
    "Context",
    "ConversationError",
    "DamagedMemoryError",
    "EditError",
    "EmbeddingError",
    "Fact",
    "ForgottenError",
    "IdentityError",
    "IndexCache",
    "Invoker",
    "MemgraphError",
    "Memory",
    "MemoryAttachment",
    "MemoryManager",
    "MemoryMiddleware",
    "MemoryState",
    "MemoryStorage",
    "MemoryStore",
    "MemoryStoreError",
    "MemoryUpdate",
    "ModelError",
    "ModelSetupError",
    "NotInReviewError",
    "Outbox",
    "OutboxError",
    "Policy",
    "QueueFullError",
    "Report",
    "RevisionConflictError",
    "Scope",
    "ScoredFact",
    "Section",
    "ServerInvoker",
    "Settings",
    "StorageError",
    "UnreadableAnswerError",
    "WrongStorageError",
    "attach",
    "build_graph",
    "capture_memory",
    "inject_memory",
    "load_settings",
    "memory_tools",
    "open_outbox",
    "open_storage",
    "rank_facts",
    "recall",
    "register_memory_store",
    "with_memory",
]

_MODULES = {
    "BackgroundInvoker": "background.background_invoker",
    "Context": "context",
    "Fact": "models",
    "IndexCache": "retrieval.index_cache",
    "Invoker": "background.invoker",
    "Memory": "models",
    "MemoryAttachment": "attachments.config",
    "MemoryManager": "attachments.manager",
    "MemoryMiddleware": "agents.middleware",
    "MemoryState": "agents.nodes",
    "MemoryStorage": "storage",
    "MemoryStore": "attachments.store",
    "MemoryUpdate": "models",
    "Outbox": "background",
    "Policy": "policy",
    "Report": "report",
    "Scope": "models",
    "ScoredFact": "retrieval.results",
    "Section": "models",
    "ServerInvoker": "background.server_invoker",
    "Settings": "settings",
    "attach": "attachments.attach",
    "build_graph": "graph",
    "capture_memory": "agents.nodes",
    "inject_memory": "agents.nodes",
    "load_settings": "config",
    "memory_tools": "agents.tools",
    "open_outbox": "background",
    "open_storage": "storage",
    "rank_facts": "retrieval.recall",
    "recall": "retrieval.recall",
    "register_memory_store": "attachments.registry",
    "with_memory": "agents.nodes",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes are of any type
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"memgraph.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
