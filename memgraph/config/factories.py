"""Factories: the storage, the chat model and the context that settings describe."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memgraph.llm import OFFLINE
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from memgraph.context import Context
    from memgraph.storage import MemoryStorage

OPENAI_DEFAULT = "gpt-4.1-mini"


def default_model(settings: Settings) -> str:
    """Return the model's name: the configured one, else OpenAI's if its key or base URL is set, else `offline`."""
    if settings.model_name:
        return settings.model_name
    if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
        return f"openai:{os.environ.get('OPENAI_MODEL') or OPENAI_DEFAULT}"
    return OFFLINE


def has_explicit_model(settings: Settings) -> bool:
    """Whether a model is configured, by the settings or by OpenAI's environment variables."""
    return bool(settings.model_name) or default_model(settings) != OFFLINE


def make_chat_model(settings: Settings) -> BaseChatModel | None:
    """Make the chat model that an agent answers with.

    Retries are off, so that the caller chooses them: `make_chat_model(settings).with_retry(stop_after_attempt=3)`.

    Returns:
        The model of *settings*, else OpenAI's if the environment has a key or a base URL. None if that leaves only the
        built-in offline model, which extracts facts but cannot hold a conversation.

    Raises:
        ModelSetupError: If the model's name is invalid, or its package or API key is missing.
    """
    from memgraph.llm.models import chat_model

    name = default_model(settings)
    return None if name == OFFLINE else chat_model(name)


def make_storage(settings: Settings) -> MemoryStorage:
    """Open the storage of *settings*.

    Raises:
        ConfigError: If storage_path is invalid, or storage_class cannot be loaded and storage_fallback is off.
    """
    from memgraph.storage import open_storage

    return open_storage(
        settings.storage_class or "file:",
        storage_path=settings.storage_path,
        fallback=settings.storage_fallback,
    )


def make_context(settings: Settings) -> Context:
    """Make the context that *settings* describe: the `defaults` of `build_graph` and `build_recall_graph`.

        settings = load_settings()
        graph = build_graph(defaults=make_context(settings))

    Returns:
        A Context with storage, model, policy, prompt, signals, review, structured_output and what runs over HTTP may
        choose, and no user: each run names its own.

    Raises:
        ConfigError: If the storage cannot be opened, or the prompt or the signal files cannot be read.
    """
    from memgraph.context import AllowedChoices, Context
    from memgraph.prompts.template import read_instructions
    from memgraph.text.signals import load_signals

    allowed = AllowedChoices(
        models=settings.allowed_models,
        prompts={
            name: read_instructions(path, setting=f"allowed_prompts.{name}")
            for name, path in settings.allowed_prompts.items()
        },
        storages=settings.allowed_storages,
    )

    return Context(
        enabled=settings.enabled,
        model=default_model(settings),
        storage=make_storage(settings),
        policy=settings.policy,
        prompt=read_instructions(settings.prompt_path) if settings.prompt_path else None,
        signals=load_signals(settings.signals_dir) if settings.signals_dir else None,
        structured_output=settings.structured_output,
        review=settings.review,
        allowed=allowed,
    )
