"""What settings open: a storage, a chat model, and the context that a graph starts from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memgraph.llm import OFFLINE
from memgraph.settings import Settings

if TYPE_CHECKING:
    from memgraph.context import Context
    from memgraph.storage import MemoryStorage

OPENAI_DEFAULT = "gpt-4.1-mini"


def default_model(settings: Settings) -> str:
    """Name the model: the configured one, else OpenAI's where the environment has a key or a server, else `offline`."""
    if settings.model_name:
        return settings.model_name
    if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
        return f"openai:{os.environ.get('OPENAI_MODEL') or OPENAI_DEFAULT}"
    return OFFLINE


def has_explicit_model(settings: Settings) -> bool:
    """Whether somebody chose a model, rather than nobody."""
    return bool(settings.model_name) or default_model(settings) != OFFLINE


def make_storage(settings: Settings) -> MemoryStorage:
    """Open the storage of *settings*.

    Raises:
        ConfigError: If storage_path names no place, or storage_class cannot be loaded and storage_fallback is off.
    """
    from memgraph.storage import open_storage

    return open_storage(
        settings.storage_class or "file:",
        storage_path=settings.storage_path,
        fallback=settings.storage_fallback,
    )


def make_context(settings: Settings) -> Context:
    """The defaults of a graph that runs with *settings*.

    Raises:
        ConfigError: If the storage, the prompt or the signals cannot be read.
    """
    from memgraph.context import Context
    from memgraph.prompts.template import read_instructions
    from memgraph.text.signals import load_signals

    return Context(
        enabled=settings.enabled,
        model=default_model(settings),
        storage=make_storage(settings),
        policy=settings.policy,
        prompt=read_instructions(settings.prompt_path) if settings.prompt_path else None,
        signals=load_signals(settings.signals_dir) if settings.signals_dir else None,
        structured_output=settings.structured_output,
        review=settings.review,
    )
