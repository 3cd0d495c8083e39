"""The built-in chat model: rules instead of a network, no key."""

from memgraph.llm.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
