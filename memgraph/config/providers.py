"""Which chat model learns if none is configured: that of the first provider that can be used on this machine."""

from __future__ import annotations

import functools
import logging
import os
import platform
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from memgraph.llm import OFFLINE, OFFLINE_LOCAL
from memgraph.retrieval.embedding_config import choose_embedding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memgraph.settings import Settings

logger = logging.getLogger("memgraph.config")

T = TypeVar("T")

CONNECT_SECONDS = 0.2
"""Timeout of the check whether a local model server accepts connections."""
LIST_SECONDS = 2.0
"""Timeout of the request for the models of a local server that accepts connections."""
OLLAMA_PORT = 11434
LOOPBACK_PORTS: Mapping[int, str] = {1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
"""Ports on which OpenAI-compatible servers listen by default, each with the program that it is most often."""
LOCAL_PLATFORMS = frozenset({("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")})
"""Where the package of the local embedding model has a wheel: the marker of the extra `local`."""
HOW_TO_CHOOSE = "run `memgraph setup`, or set model_name (MEMGRAPH_MODEL_NAME) or a provider's key"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The chat model that learns, and why it is that one."""

    name: str
    """As for `chat_model`."""
    reason: str
    is_fallback: bool = False
    """Whether it is the built-in offline model because no provider can be used."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that is used without being configured if the environment has its key."""

    name: str
    """LangChain's name."""
    title: str
    variables: tuple[str, ...]
    """Environment variables, any of which is enough."""
    default_model: str
    package: str
    """The LangChain package that it needs, as pip calls it."""

    @property
    def variable(self) -> str | None:
        """The variable that is set; None if none is."""
        return next((name for name in self.variables if os.environ.get(name)), None)

    @property
    def missing_packages(self) -> tuple[str, ...]:
        """The packages to install, as pip calls them."""
        needed = (self.package,) if self.name == "openai" else ("langchain", self.package)
        return tuple(name for name in needed if find_spec(name.replace("-", "_")) is None)

    @property
    def model(self) -> str:
        """The model to use, as `provider:model`; `OPENAI_MODEL` and its like replace the default."""
        chosen = os.environ.get("OPENAI_MODEL") if self.name == "openai" else None
        return f"{self.name}:{chosen or self.default_model}"


PROVIDERS: tuple[Provider, ...] = (
    Provider("openai", "OpenAI", ("OPENAI_API_KEY", "OPENAI_BASE_URL"), "gpt-4.1-mini", "langchain-openai"),
    Provider("anthropic", "Anthropic", ("ANTHROPIC_API_KEY",), "claude-haiku-4-5", "langchain-anthropic"),
    Provider(
        "google_genai", "Google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "gemini-2.5-flash", "langchain-google-genai"
    ),
    Provider("mistralai", "Mistral", ("MISTRAL_API_KEY",), "mistral-small-latest", "langchain-mistralai"),
    Provider("groq", "Groq", ("GROQ_API_KEY",), "llama-3.3-70b-versatile", "langchain-groq"),
    Provider("deepseek", "DeepSeek", ("DEEPSEEK_API_KEY",), "deepseek-chat", "langchain-deepseek"),
)
"""In the order in which they are tried; a server of Ollama comes after them."""
OLLAMA = Provider("ollama", "Ollama", (), "", "langchain-ollama")


def choose_model(settings: Settings) -> ModelChoice:
    """Return the model that learns: the configured one, else that of a usable provider, else `offline`.

    A provider is usable if its key is set and its package is installed; Ollama, if its server runs on this machine
    (or at OLLAMA_HOST), has a model, and the package is installed.
    """
    if settings.model_name:
        return ModelChoice(settings.model_name, "model_name is set")
    obstacles: list[str] = []
    for provider in PROVIDERS:
        variable, missing = provider.variable, provider.missing_packages
        if variable and not missing:
            return ModelChoice(provider.model, f"{variable} is set")
        if variable:
            obstacles.append(f"{variable} is set, but {' and '.join(missing)} is not installed")
    if not OLLAMA.missing_packages and (model := ollama_model()):
        return ModelChoice(f"ollama:{model}", f"Ollama runs at {_ollama_url()}")
    return ModelChoice(OFFLINE, "; ".join(obstacles) or "no model provider is configured", is_fallback=True)


def default_model(settings: Settings) -> str:
    """Return the name of the model that learns, see `choose_model`; a fallback is logged once a process.

    The offline model also uses the embedding model `local`, if the settings name it.
    """
    choice = choose_model(settings)
    if choice.is_fallback:
        warn_of_fallback(choice.reason)
    return with_embedding(choice.name, settings)


def with_embedding(model: T, settings: Settings) -> T | str:
    """Return *model*; the offline model with the embedding model `local`, if the settings choose that."""
    return OFFLINE_LOCAL if model == OFFLINE and _embedding_name(settings) == "local" else model


def _embedding_name(settings: Settings) -> str:
    """Return the name of the embedding model that finds memory; "" if words alone do."""
    chosen = choose_embedding(settings.embedding)
    return chosen.name if chosen else ""


def describe_finding(settings: Settings) -> str:
    """Return by what memory is found, what that costs, and what would change it."""
    name = _embedding_name(settings)
    if name == "local":
        return "words and meaning (local model: 95 MB, about 25 ms of CPU a sentence; embedding: none turns it off)"
    if name:
        return f"words and meaning ({name})"
    if settings.embedding == "auto":
        has_wheel = (sys.platform, platform.machine()) in LOCAL_PLATFORMS
        return (
            "words (install 'langgraph-memgraph[local]' to find by meaning, too)"
            if has_wheel
            else f"words (the local model is not available for {sys.platform} {platform.machine()})"
        )
    return "words (embedding: auto also finds by meaning)"


@functools.cache
def warn_of_fallback(reason: str) -> None:
    """Log, once a process, that the built-in model learns although it was not chosen."""
    logger.warning(
        "memory learns by the built-in offline model, which finds less than a chat model: %s; %s "
        "(model_name: offline hides this warning)",
        reason,
        HOW_TO_CHOOSE,
    )


def ollama_model() -> str | None:
    """Return the chat model that Ollama's server changed last; None if it does not run, or has none."""
    return next(iter(_chat_models(f"{_ollama_url()}/api/tags", "models", "name")), None)


def loopback_models() -> list[tuple[str, str]]:
    """Return the title and the model names of each OpenAI-compatible server that runs on this machine."""
    return [
        (title, f"loopback:{port}/{name}")
        for port, title in LOOPBACK_PORTS.items()
        for name in _chat_models(f"http://127.0.0.1:{port}/v1/models", "data", "id")
    ]


def _chat_models(url: str, key: str, name: str) -> list[str]:
    """Return the names of the models that the server at *url* lists below *key*, without those that only embed texts.

    It has none if it does not run, or is another program.
    """
    import json
    import socket
    from urllib.request import ProxyHandler, build_opener

    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname or "", address.port or OLLAMA_PORT), CONNECT_SECONDS).close()
        with build_opener(ProxyHandler({})).open(url, timeout=LIST_SECONDS) as response:
            listed: Any = json.load(response)[key]
            families = {str(model[name]): str(model.get("details", {}).get("family", "")) for model in listed}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []
    return [model for model, family in families.items() if "embed" not in model and "bert" not in family]


def _ollama_url() -> str:
    """Return the address that OLLAMA_HOST gives, in any of the forms that Ollama accepts."""
    host = os.environ.get("OLLAMA_HOST") or "127.0.0.1"
    address = urlsplit(host if "://" in host else f"http://{host}")
    name = address.hostname or "127.0.0.1"
    local = "127.0.0.1" if name == "0.0.0.0" else name  # noqa: S104 - the address that a server listens on
    return f"{address.scheme}://{local}:{address.port or OLLAMA_PORT}"
