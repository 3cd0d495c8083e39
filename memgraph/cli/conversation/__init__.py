"""A conversation, from a file in any of the forms people keep them in."""

from __future__ import annotations

from memgraph.cli.conversation.read import read_conversation

__all__ = ["read_conversation"]
