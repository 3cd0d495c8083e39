"""Chat models by name: `offline`, any `provider:NAME` that LangChain supports, and plain names such as `gpt-4.1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr, ValidationError

from memgraph.errors import ModelSetupError
from memgraph.llm import OFFLINE, OFFLINE_LOCAL

_OPENAI_HOST = "api.openai.com"


def chat_model(name: str, params: Mapping[str, Any] | None = None) -> BaseChatModel:
    """Create the chat model called *name*, without retries of its own, since memgraph retries.

    Args:
        name: `offline`; `offline:local`, which uses the embedding model of the extra `local`; `provider:model`, such as
            `openai:gpt-4.1-mini`; `loopback:PORT/NAME`, of an OpenAI-compatible server on this machine; or the name of
            a well-known model alone, such as `gpt-4.1-mini` or `claude-haiku-4-5`.
        params: Arguments of the model's class, such as `{"max_tokens": 1000}`; `offline` has none.

    Raises:
        ModelSetupError: If the name or a parameter is invalid, or a package or an API key is missing.
    """
    qualified = _with_provider(name)
    provider, _, model = qualified.partition(":")
    build = CHAT_MODELS.get(provider)
    given = {**(params or {}), "max_retries": 0}
    try:
        return build(model, given) if build else _any_provider(qualified, given)
    except ValidationError as error:
        raise ModelSetupError(f"model_params are not valid for {name!r}: {error}") from error


def _with_provider(name: str) -> str:
    """Return *name* as `provider:model`, if its beginning is that of a well-known family of models."""
    if ":" in name or name in CHAT_MODELS:
        return name
    families = (family for family in MODEL_FAMILIES if name.lower().startswith(family))
    family = next(families, None)
    return f"{MODEL_FAMILIES[family]}:{name}" if family else name


def _offline(model: str, _params: Mapping[str, Any]) -> BaseChatModel:
    from memgraph.llm.offline import OfflineChatModel

    if not model:
        return OfflineChatModel()
    if model != "local":
        raise ModelSetupError(f"there is no model {OFFLINE}:{model}: use {OFFLINE}, or {OFFLINE_LOCAL}")
    from memgraph.retrieval.embedding_models import make_embeddings

    return OfflineChatModel(embeddings=make_embeddings("local"))


def _openai(model: str, params: Mapping[str, Any]) -> BaseChatModel:
    """Create a model of OpenAI, or of the OpenAI-compatible server at OPENAI_BASE_URL."""
    from langchain_openai import ChatOpenAI
    from openai import OpenAIError

    if not model:
        raise ModelSetupError("the name of the model is missing: use openai:NAME, for example openai:gpt-4.1-mini")
    try:
        return ChatOpenAI(model=model, **params)
    except OpenAIError as error:
        keyless = ChatOpenAI(model=model, api_key=SecretStr("none"), **params)
        if keyless.root_client.base_url.host == _OPENAI_HOST:
            raise ModelSetupError(
                "no key for openai: set OPENAI_API_KEY, or OPENAI_BASE_URL for an OpenAI-compatible server"
            ) from error
        return keyless  # a local server needs no key, but the client requires one


def _loopback(model: str, params: Mapping[str, Any]) -> BaseChatModel:
    """Create a model of the OpenAI-compatible server at a port of this machine: *model* is PORT/NAME."""
    port, _, name = model.partition("/")
    if not (port.isdecimal() and name):
        raise ModelSetupError(f"loopback:{model} names no port and model: use loopback:PORT/NAME")
    return _openai(name, {"base_url": f"http://127.0.0.1:{port}/v1", "api_key": SecretStr("none"), **params})


def _any_provider(name: str, params: Mapping[str, Any]) -> BaseChatModel:
    if ":" not in name:
        raise ModelSetupError(f"{name!r} is not a model name: use offline, or provider:model as in openai:gpt-4.1-mini")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ModelSetupError(
            f"{name!r} needs the package langchain: pip install 'langgraph-memgraph[agents]'"
        ) from error
    try:
        return cast("BaseChatModel", init_chat_model(name, **params))
    except ValidationError:
        raise
    except (ImportError, ValueError) as error:  # a missing package, an unknown provider, a missing key
        raise ModelSetupError(f"{name!r} cannot be used: {error}") from error


CHAT_MODELS: Mapping[str, Callable[[str, Mapping[str, Any]], BaseChatModel]] = {
    OFFLINE: _offline,
    "openai": _openai,
    "loopback": _loopback,
}
"""Functions that create models, by provider; all other providers are left to init_chat_model."""

MODEL_FAMILIES: Mapping[str, str] = {
    "gpt-": "openai",
    "chatgpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "google_genai",  # LangChain itself would take Vertex AI, which needs more than a key
    "mistral": "mistralai",
    "mixtral": "mistralai",
    "codestral": "mistralai",
    "deepseek": "deepseek",
    "grok": "xai",
    "command": "cohere",
}
"""Providers by the beginning of the names of their models."""
