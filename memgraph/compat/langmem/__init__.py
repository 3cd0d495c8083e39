"""LangMem's functions by name, over memgraph's memory and with its rules: change the imports, and its guides run.

The contract is that of langmem 0.0.30. The tools and the searcher need no package; the managers run LangMem's own
extraction, so that langmem stays installed. What is different:

- A namespace is one user's memory, the one that `MemoryMiddleware` and everything else use: the user is its parts
  except "memories", joined by "/". So `("memories", "{langgraph_user_id}")` is the memory of that user.
- A memory is a fact, and its id that of the fact. The text of a structured one is JSON.
- The rules of an update apply. A text has to rest on the user's words in the conversation. No conversation has the
  words of a structured one: it has the origin `tool`. A fact that a person wrote is not changed. What is refused, or
  waits for a review, is answered by a text with the reason; a manager leaves it out, and logs that.
- Memories are kept in the store that a guide passes, in memgraph's format. So its `search` finds none of them, unless
  it is the `InMemoryStore` of this module, or `memory.store()`.
"""

from importlib import import_module
from typing import Any

from memgraph.compat.langmem.namespace_store import InMemoryStore
from memgraph.compat.langmem.tools import create_manage_memory_tool, create_memory_searcher, create_search_memory_tool

__all__ = ["InMemoryStore", "create_manage_memory_tool", "create_memory_searcher", "create_search_memory_tool"]


def __getattr__(name: str) -> Any:
    """Return LangMem's managers over a memory, or from LangMem itself what stores nothing: both need the package."""
    if name.startswith("_"):
        raise AttributeError(name)
    managers = import_module(f"{__name__}.managers")
    return getattr(managers, name, None) or getattr(import_module("langmem"), name)
