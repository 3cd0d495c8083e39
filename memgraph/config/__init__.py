"""Config: what `memgraph.yaml` and the environment say, as Settings, and what those settings open.

This is floor 4: nothing below reads the environment.
"""

from __future__ import annotations

from memgraph.config.load import Loaded, load_settings, read_settings
from memgraph.config.opening import context_of, default_model, is_model_configured, storage_of

__all__ = [
    "Loaded",
    "context_of",
    "default_model",
    "is_model_configured",
    "load_settings",
    "read_settings",
    "storage_of",
]
