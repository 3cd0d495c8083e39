"""Config: what `memgraph.yaml` and the environment say, as Settings, and what those settings open.

This is floor 4: nothing below reads the environment.
"""

from __future__ import annotations

from memgraph.config.factories import default_model, has_explicit_model, make_chat_model, make_context, make_storage
from memgraph.config.load import LoadedSettings, load_settings, read_settings

__all__ = [
    "LoadedSettings",
    "default_model",
    "has_explicit_model",
    "load_settings",
    "make_chat_model",
    "make_context",
    "make_storage",
    "read_settings",
]
