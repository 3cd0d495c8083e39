"""Config: Settings from `memgraph.yaml` and the environment, and the objects that they describe.

Nothing below this layer reads the environment.
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
