"""Config: Settings from `memgraph.yaml` and the environment, and the objects that they describe.

Nothing below this layer reads the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memgraph._validation import check_arguments
from memgraph.config.load import LoadedSettings as LoadedSettings
from memgraph.config.load import given_settings as given_settings
from memgraph.config.load import load_settings as load_settings
from memgraph.config.load import read_settings as read_settings
from memgraph.config.providers import ModelChoice as ModelChoice
from memgraph.config.providers import choose_model as choose_model
from memgraph.config.providers import default_model as default_model
from memgraph.config.providers import describe_finding as describe_finding
from memgraph.config.providers import with_embedding
from memgraph.llm import OFFLINE
from memgraph.retrieval.embedding_config import chosen_embeddings
from memgraph.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from memgraph.context import Context
    from memgraph.storage import MemoryStorage


@check_arguments
def make_chat_model(settings: Settings) -> BaseChatModel | None:
    """Make the chat model that an agent answers with.

    Retries are off, so that the caller chooses them: `make_chat_model(settings).with_retry(stop_after_attempt=3)`.

    Returns:
        The model of *settings*, else that of the first usable provider, see `choose_model`. None if that leaves only
        the built-in offline model, which extracts facts but cannot hold a conversation.

    Raises:
        ModelSetupError: If the model's name is invalid, or its package or API key is missing.
    """
    from memgraph.llm.models import chat_model

    name = choose_model(settings).name
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


@check_arguments
def make_context(
    settings: Settings,
    *,
    model: str | BaseChatModel | None = None,
    storage: str | MemoryStorage | None = None,
    embeddings: Embeddings | None = None,
) -> Context:
    """Make the context that *settings* describe: the `defaults` of `build_graph` and `build_recall_graph`.

    ```python
    from memgraph import build_graph, load_settings, make_context

    settings = load_settings()
    graph = build_graph(defaults=make_context(settings, model="offline"))
    ```

    Args:
        settings: The settings.
        model: Used instead of the one that they describe.
        storage: Used instead of the one that they describe.
        embeddings: Used instead of the model that they describe.

    Returns:
        A Context with storage, model, policy, prompt, signals, slots, embeddings, review, review_by, structured_output,
        timezone and what runs over HTTP may choose, and no user: each run names its own. A model that is not configured
        is chosen by `choose_model`; if no provider can be used, that is the offline model, which is logged once a
        process.

    Raises:
        ConfigError: If the storage cannot be opened, or the prompt, the signal files or the slot files cannot be read.
    """
    from memgraph.analysis.signals import load_signals
    from memgraph.analysis.slots import load_slots
    from memgraph.context import AllowedChoices, Context
    from memgraph.prompts.template import read_instructions
    from memgraph.storage import open_storage
    from memgraph.storage.document import log_kept_words

    prompts = {
        name: read_instructions(path, setting=f"allowed_prompts.{name}")
        for name, path in settings.allowed_prompts.items()
    }
    if not isinstance(storage, str):  # a URL is opened by the first run
        storage = make_storage(settings) if storage is None else open_storage(storage)
    if settings.enabled and not isinstance(storage, str):
        log_kept_words(storage.name, settings.policy.kept_words)
    return Context(
        enabled=settings.enabled,
        model=default_model(settings) if model is None else with_embedding(model, settings),
        storage=storage,
        policy=settings.policy,
        prompt=read_instructions(settings.prompt_path) if settings.prompt_path else None,
        signals=load_signals(settings.signals_dir) if settings.signals_dir else None,
        slots=load_slots(settings.slots_dir) if settings.slots_dir else None,
        embeddings=chosen_embeddings(settings.embedding) if embeddings is None else embeddings,
        checks_folder=checks_folder(settings, storage if isinstance(storage, str) else storage.name),
        model_params=settings.model_params,
        structured_output=settings.structured_output,
        review=settings.review,
        review_by=settings.review_by,
        timezone=settings.timezone,
        allowed=AllowedChoices(models=settings.allowed_models, prompts=prompts, storages=settings.allowed_storages),
    )


def checks_folder(settings: Settings, storage: str) -> Path | None:
    """Return the folder of the outbox, which stores the results of probes; None for a *storage* in RAM."""
    from memgraph.storage.paths import absolute, default_folder, sqlite_path

    scheme, _, location = (settings.outbox or "").rpartition(":")
    if storage.startswith("memory:") or scheme == "memory":
        return None
    if location and scheme in {"", "sqlite"}:
        return absolute(sqlite_path(location, "an outbox")).parent
    return default_folder()
