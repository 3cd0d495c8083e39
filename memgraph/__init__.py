"""Long-term memory for LangGraph agents, updated by a LangGraph graph.

```python
from langchain_core.messages import HumanMessage

from memgraph import Context, build_graph

graph = build_graph(model="offline")
result = graph.invoke({"messages": [HumanMessage("I'm Ada.", id="m1")]}, context=Context(user_id="ada"))
print(result["outcome"])
```

Public names are imported on first use, so importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    """The version of the installed package."""

    from memgraph.agents.middleware import MemoryMiddleware
    from memgraph.agents.nodes import MemoryState, answer_from_memory, capture_memory, inject_memory, with_memory
    from memgraph.agents.tools import memory_tools
    from memgraph.api.app import create_app
    from memgraph.attachments.manager import MemoryManager, attach
    from memgraph.attachments.node_io import context_entries
    from memgraph.attachments.registry import register_memory_store
    from memgraph.attachments.store import MemoryAttachment, MemoryStore
    from memgraph.background import Outbox, open_outbox
    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.background.invoker import Invoker
    from memgraph.background.server_invoker import ServerInvoker
    from memgraph.client import AsyncMemoryClient, MemoryClient
    from memgraph.config import load_settings, make_chat_model, make_context
    from memgraph.context import Context, UserContext
    from memgraph.errors import (
        AlreadyDecidedError,
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
        OutboxError,
        QueueFullError,
        RevisionConflictError,
        StorageError,
        UnreadableAnswerError,
        WrongStorageError,
    )
    from memgraph.memory import Memory
    from memgraph.models import Fact, MemoryDocument, MemoryUpdate, Scope, Section
    from memgraph.policy import Policy
    from memgraph.recall_graph import build_recall_graph
    from memgraph.report import Report
    from memgraph.retrieval.index_cache import IndexCache
    from memgraph.retrieval.pipeline import RecallPipeline
    from memgraph.retrieval.recall import make_recall_pipeline, rank_facts, recall
    from memgraph.retrieval.results import ScoredFact
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage, open_storage
    from memgraph.storage.langgraph_auth import protect_store
    from memgraph.update.graph import build_graph
    from memgraph.update.upkeep import build_upkeep_graph

__all__ = [
    "AlreadyDecidedError",
    "AsyncMemoryClient",
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
    "MemoryClient",
    "MemoryDocument",
    "MemoryManager",
    "MemoryMiddleware",
    "MemoryState",
    "MemoryStorage",
    "MemoryStore",
    "MemoryStoreError",
    "MemoryUpdate",
    "ModelError",
    "ModelSetupError",
    "Outbox",
    "OutboxError",
    "Policy",
    "QueueFullError",
    "RecallPipeline",
    "Report",
    "RevisionConflictError",
    "Scope",
    "ScoredFact",
    "Section",
    "ServerInvoker",
    "Settings",
    "StorageError",
    "UnreadableAnswerError",
    "UserContext",
    "WrongStorageError",
    "answer_from_memory",
    "attach",
    "build_graph",
    "build_recall_graph",
    "build_upkeep_graph",
    "capture_memory",
    "context_entries",
    "create_app",
    "inject_memory",
    "load_settings",
    "make_chat_model",
    "make_context",
    "make_recall_pipeline",
    "memory_tools",
    "open_outbox",
    "open_storage",
    "protect_store",
    "rank_facts",
    "recall",
    "register_memory_store",
    "with_memory",
]

# The public names that are not errors, by their module
_NAMES = {
    "agents.middleware": ("MemoryMiddleware",),
    "agents.nodes": ("MemoryState", "answer_from_memory", "capture_memory", "inject_memory", "with_memory"),
    "agents.tools": ("memory_tools",),
    "api.app": ("create_app",),
    "attachments.node_io": ("context_entries",),
    "attachments.manager": ("MemoryManager", "attach"),
    "attachments.registry": ("register_memory_store",),
    "attachments.store": ("MemoryAttachment", "MemoryStore"),
    "background": ("Outbox", "open_outbox"),
    "background.background_invoker": ("BackgroundInvoker",),
    "background.invoker": ("Invoker",),
    "background.server_invoker": ("ServerInvoker",),
    "client": ("AsyncMemoryClient", "MemoryClient"),
    "config": ("load_settings", "make_chat_model", "make_context"),
    "context": ("Context", "UserContext"),
    "update.graph": ("build_graph",),
    "memory": ("Memory",),
    "models": ("Fact", "MemoryDocument", "MemoryUpdate", "Scope", "Section"),
    "policy": ("Policy",),
    "recall_graph": ("build_recall_graph",),
    "report": ("Report",),
    "retrieval.index_cache": ("IndexCache",),
    "retrieval.pipeline": ("RecallPipeline",),
    "retrieval.recall": ("make_recall_pipeline", "rank_facts", "recall"),
    "retrieval.results": ("ScoredFact",),
    "settings": ("Settings",),
    "storage": ("MemoryStorage", "open_storage"),
    "storage.langgraph_auth": ("protect_store",),
    "update.upkeep": ("build_upkeep_graph",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - attributes of a module have any type
    if name == "__version__":
        value = _installed_version()
    elif name in __all__:
        value = getattr(importlib.import_module(f"memgraph.{_MODULES.get(name, 'errors')}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _installed_version() -> str:
    """Return the version of the installed package; "0" if it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("langgraph-memgraph")
    except PackageNotFoundError:
        return "0"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
