"""Config: Settings from `memgraph.yaml` and the environment, and the objects that they describe.

Nothing below this layer reads the environment.
"""

from __future__ import annotations

from memgraph.config.factories import checks_folder, make_chat_model, make_context, make_storage
from memgraph.config.load import LoadedSettings, load_settings, read_settings
from memgraph.config.providers import ModelChoice, choose_model, default_model, describe_finding

__all__ = [
    "LoadedSettings",
    "ModelChoice",
    "checks_folder",
    "choose_model",
    "default_model",
    "describe_finding",
    "load_settings",
    "make_chat_model",
    "make_context",
    "make_storage",
    "read_settings",
]
