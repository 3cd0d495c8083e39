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

    from memgraph.agents.middleware import MemoryMiddleware as MemoryMiddleware
    from memgraph.agents.nodes import MemoryState as MemoryState
    from memgraph.agents.nodes import answer_from_memory as answer_from_memory
    from memgraph.agents.nodes import capture_memory as capture_memory
    from memgraph.agents.nodes import inject_memory as inject_memory
    from memgraph.agents.nodes import with_memory as with_memory
    from memgraph.agents.tools import memory_tools as memory_tools
    from memgraph.api.app import create_app as create_app
    from memgraph.attachments.manager import MemoryManager as MemoryManager
    from memgraph.attachments.manager import attach as attach
    from memgraph.attachments.node_io import context_entries as context_entries
    from memgraph.attachments.registry import register_memory_store as register_memory_store
    from memgraph.attachments.store import MemoryAttachment as MemoryAttachment
    from memgraph.attachments.store import MemoryStore as MemoryStore
    from memgraph.background import Outbox as Outbox
    from memgraph.background import open_outbox as open_outbox
    from memgraph.background.background_invoker import BackgroundInvoker as BackgroundInvoker
    from memgraph.background.invoker import Invoker as Invoker
    from memgraph.background.server_invoker import ServerInvoker as ServerInvoker
    from memgraph.client import AsyncMemoryClient as AsyncMemoryClient
    from memgraph.client import MemoryClient as MemoryClient
    from memgraph.config import load_settings as load_settings
    from memgraph.config import make_chat_model as make_chat_model
    from memgraph.config import make_context as make_context
    from memgraph.context import Context as Context
    from memgraph.context import UserContext as UserContext
    from memgraph.errors import AlreadyDecidedError as AlreadyDecidedError
    from memgraph.errors import ConfigError as ConfigError
    from memgraph.errors import ConversationError as ConversationError
    from memgraph.errors import DamagedMemoryError as DamagedMemoryError
    from memgraph.errors import EditError as EditError
    from memgraph.errors import EmbeddingError as EmbeddingError
    from memgraph.errors import ForgottenError as ForgottenError
    from memgraph.errors import IdentityError as IdentityError
    from memgraph.errors import MemgraphError as MemgraphError
    from memgraph.errors import MemoryStoreError as MemoryStoreError
    from memgraph.errors import ModelError as ModelError
    from memgraph.errors import ModelSetupError as ModelSetupError
    from memgraph.errors import OutboxError as OutboxError
    from memgraph.errors import QueueFullError as QueueFullError
    from memgraph.errors import RevisionConflictError as RevisionConflictError
    from memgraph.errors import StorageError as StorageError
    from memgraph.errors import UnreadableAnswerError as UnreadableAnswerError
    from memgraph.errors import WrongStorageError as WrongStorageError
    from memgraph.memory import Memory as Memory
    from memgraph.models import Fact as Fact
    from memgraph.models import MemoryDocument as MemoryDocument
    from memgraph.models import MemoryUpdate as MemoryUpdate
    from memgraph.models import Scope as Scope
    from memgraph.models import Section as Section
    from memgraph.policy import Policy as Policy
    from memgraph.recall_graph import build_recall_graph as build_recall_graph
    from memgraph.report import Report as Report
    from memgraph.retrieval.index_cache import IndexCache as IndexCache
    from memgraph.retrieval.pipeline import RecallPipeline as RecallPipeline
    from memgraph.retrieval.recall import make_recall_pipeline as make_recall_pipeline
    from memgraph.retrieval.recall import rank_facts as rank_facts
    from memgraph.retrieval.recall import recall as recall
    from memgraph.retrieval.results import ScoredFact as ScoredFact
    from memgraph.settings import Settings as Settings
    from memgraph.storage import MemoryStorage as MemoryStorage
    from memgraph.storage import open_storage as open_storage
    from memgraph.storage.langgraph_auth import protect_store as protect_store
    from memgraph.update.graph import build_graph as build_graph
    from memgraph.update.upkeep import build_upkeep_graph as build_upkeep_graph

# The public names, by their module; type checkers read them above
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
    "errors": (
        *("AlreadyDecidedError", "ConfigError", "ConversationError", "DamagedMemoryError", "EditError"),
        *("EmbeddingError", "ForgottenError", "IdentityError", "MemgraphError", "MemoryStoreError"),
        *("ModelError", "ModelSetupError", "OutboxError", "QueueFullError", "RevisionConflictError"),
        *("StorageError", "UnreadableAnswerError", "WrongStorageError"),
    ),
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
_MODULES = dict(sorted((name, module) for module, names in _NAMES.items() for name in names))
__all__ = list(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll] - the imports above are re-exports by their form


def __getattr__(name: str) -> Any:  # noqa: ANN401 - attributes of a module have any type
    if name == "__version__":
        value = _installed_version()
    elif name in _MODULES:
        value = getattr(importlib.import_module(f"memgraph.{_MODULES[name]}"), name)
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
