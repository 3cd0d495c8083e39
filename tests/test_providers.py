"""The model that learns if none is configured: that of the first provider that can be used."""

from __future__ import annotations

import logging
import socket
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from memgraph.config import choose_model, load_settings, make_context, providers
from memgraph.config.providers import OLLAMA, PROVIDERS
from memgraph.settings import Settings


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The packages that are installed, besides those of memgraph; no Ollama runs."""
    installed = {"langchain", "langchain_openai"}
    monkeypatch.setattr(providers, "find_spec", lambda name: name if name in installed else None)
    return installed


def install(packages: set[str], *names: str) -> None:
    packages.update(name.replace("-", "_") for name in names)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_a_provider_whose_key_is_set_learns(
    provider: providers.Provider, packages: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who has set a key expects its model, not the rules."""
    install(packages, provider.package)
    monkeypatch.setenv(provider.variables[-1], "k")

    choice = choose_model(Settings())

    assert choice.name == f"{provider.name}:{provider.default_model}"
    assert choice.reason == f"{provider.variables[-1]} is set"
    assert not choice.is_fallback


def test_a_configured_model_is_used_whatever_keys_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    choice = choose_model(Settings(model_name="offline"))

    assert (choice.name, choice.reason, choice.is_fallback) == ("offline", "model_name is set", False)


def test_an_openai_compatible_server_may_have_a_model_of_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://x/v1")
    monkeypatch.setenv("OPENAI_MODEL", "qwen")

    assert choose_model(Settings()).name == "openai:qwen"


def test_an_empty_key_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a .env file that was copied and not filled in."""
    monkeypatch.setenv("OPENAI_API_KEY", "")

    assert choose_model(Settings()).is_fallback


def test_without_a_provider_the_offline_model_learns() -> None:
    choice = choose_model(Settings())

    assert (choice.name, choice.reason, choice.is_fallback) == ("offline", "no model provider is configured", True)


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        ({"langchain_anthropic"}, "langchain-anthropic is not installed"),
        ({"langchain_anthropic", "langchain"}, "langchain and langchain-anthropic is not installed"),
    ],
)
def test_a_key_without_its_package_is_the_reason_for_the_offline_model(
    packages: set[str], monkeypatch: pytest.MonkeyPatch, missing: set[str], text: str
) -> None:
    """The rules never learn silently instead of the model whose key is there."""
    packages -= missing
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    assert choose_model(Settings()).reason == f"ANTHROPIC_API_KEY is set, but {text}"


def test_a_provider_without_its_package_is_skipped(packages: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    install(packages, "langchain-mistralai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("MISTRAL_API_KEY", "k")

    assert choose_model(Settings()).name == "mistralai:mistral-small-latest"


# -- Ollama ---------------------------------------------------------------------------------------


@pytest.fixture
def ollama(packages: set[str], httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    """A server of Ollama, whose package is installed."""
    install(packages, OLLAMA.package)
    monkeypatch.setenv("OLLAMA_HOST", httpserver.url_for("/").rstrip("/"))
    return httpserver


def serve_models(server: HTTPServer, *models: dict[str, Any]) -> None:
    server.expect_request("/api/tags").respond_with_json({"models": models})


def test_a_running_ollama_learns_with_its_latest_chat_model(ollama: HTTPServer) -> None:
    """Models that only embed texts cannot answer."""
    serve_models(
        ollama,
        {"name": "nomic-embed-text:latest"},
        {"name": "minilm:l6", "details": {"family": "bert"}},
        {"name": "qwen3:4b", "details": {"family": "qwen3"}},
        {"name": "llama3.2:3b"},
    )

    choice = choose_model(Settings())

    assert choice.name == "ollama:qwen3:4b"
    assert choice.reason == f"Ollama runs at {ollama.url_for('').rstrip('/')}"


def test_a_key_is_preferred_to_ollama(ollama: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local server is not even looked for."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    assert choose_model(Settings()).name == "openai:gpt-4.1-mini"
    assert ollama.log == []


def test_ollama_without_a_model_is_not_used(ollama: HTTPServer) -> None:
    serve_models(ollama)

    assert choose_model(Settings()).is_fallback


@pytest.mark.parametrize("body", ["not JSON", "[]", '{"models": 5}', '{"models": [5]}'])
def test_another_program_on_its_port_is_not_ollama(ollama: HTTPServer, body: str) -> None:
    ollama.expect_request("/api/tags").respond_with_data(body)

    assert choose_model(Settings()).is_fallback


def test_ollama_that_does_not_run_is_not_used(packages: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    install(packages, OLLAMA.package)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{unused.getsockname()[1]}")

        assert choose_model(Settings()).is_fallback


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - as its users write it
        ("gpu.local:8000", "http://gpu.local:8000"),
        ("https://gpu.local:443/", "https://gpu.local:443"),
    ],
)
def test_ollama_is_found_where_its_own_variable_points(value: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", value)

    assert providers._ollama_url() == url


# -- the warning ----------------------------------------------------------------------------------


@pytest.fixture
def new_process() -> None:
    """Forget what was logged once."""
    providers.warn_of_fallback.cache_clear()


@pytest.mark.usefixtures("new_process")
def test_learning_by_the_fallback_is_logged_once_and_says_how_to_change_it(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        make_context(load_settings(storage_path="memory:"))

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "no model provider is configured; run `memgraph setup`, or set model_name" in record.message


@pytest.mark.usefixtures("new_process")
def test_an_offline_model_that_was_chosen_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    make_context(load_settings(storage_path="memory:", model_name="offline"))

    assert caplog.records == []
