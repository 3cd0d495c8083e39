"""Chat models by name: `offline`, any `provider:NAME` that LangChain supports, and plain names such as `gpt-4.1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from memgraph.errors import ModelSetupError
from memgraph.llm import OFFLINE

_OPENAI_HOST = "api.openai.com"


def chat_model(name: str) -> BaseChatModel:
    """Create the chat model called *name*, without retries of its own, since memgraph retries.

    Args:
        name: `offline`; `provider:model`, such as `openai:gpt-4.1-mini`; or the name of a well-known model alone, such
            as `gpt-4.1-mini` or `claude-haiku-4-5`.

    Raises:
        ModelSetupError: If the name is invalid, or a package or an API key is missing.
    """
    qualified = _with_provider(name)
    provider, _, model = qualified.partition(":")
    build = CHAT_MODELS.get(provider)
    return build(model) if build else _any_provider(qualified)


def _with_provider(name: str) -> str:
    """Return *name* as `provider:model`, if its beginning is that of a well-known family of models."""
    if ":" in name or name in CHAT_MODELS:
        return name
    families = (family for family in MODEL_FAMILIES if name.lower().startswith(family))
    family = next(families, None)
    return f"{MODEL_FAMILIES[family]}:{name}" if family else name


def _offline(_: str) -> BaseChatModel:
    from memgraph.llm.offline import OfflineChatModel

    return OfflineChatModel()


def _openai(model: str) -> BaseChatModel:
    """Create a model of OpenAI, or of the OpenAI-compatible server at OPENAI_BASE_URL."""
    from langchain_openai import ChatOpenAI
    from openai import OpenAIError

    if not model:
        raise ModelSetupError("the name of the model is missing: use openai:NAME, for example openai:gpt-4.1-mini")
    try:
        return ChatOpenAI(model=model, max_retries=0)
    except OpenAIError as error:
        keyless = ChatOpenAI(model=model, max_retries=0, api_key=SecretStr("none"))
        if keyless.root_client.base_url.host == _OPENAI_HOST:
            raise ModelSetupError(
                "no key for openai: set OPENAI_API_KEY, or OPENAI_BASE_URL for an OpenAI-compatible server"
            ) from error
        return keyless  # a local server needs no key, but the client requires one


def _any_provider(name: str) -> BaseChatModel:
    if ":" not in name:
        raise ModelSetupError(f"{name!r} is not a model name: use offline, or provider:model as in openai:gpt-4.1-mini")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ModelSetupError(
            f"{name!r} needs the package langchain: pip install 'langgraph-memgraph[agents]'"
        ) from error
    try:
        return init_chat_model(name, max_retries=0)
    except (ImportError, ValueError) as error:  # a missing package, an unknown provider, a missing key
        raise ModelSetupError(f"{name!r} cannot be used: {error}") from error


CHAT_MODELS: Mapping[str, Callable[[str], BaseChatModel]] = MappingProxyType({OFFLINE: _offline, "openai": _openai})
"""Functions that create models, by provider; all other providers are left to init_chat_model."""

MODEL_FAMILIES: Mapping[str, str] = MappingProxyType(
    {
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
)
"""Providers by the beginning of the names of their models."""
