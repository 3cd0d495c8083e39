"""The built-in chat model, which needs no key and no network."""

from memgraph.llm.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
