"""memgraph setup tests a model by one update, and stores the choice."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from memgraph.cli.app import start
from memgraph.config import load_settings, providers
from memgraph.llm import models as chat_models
from memgraph.testing import ScriptedModel, update_answer

KEY = "sk-hush-hush"


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScriptedModel]:
    """Make models called `scripted:NAME` answer with the given facts."""

    def make(*facts: str) -> ScriptedModel:
        model = ScriptedModel(update_answer(*facts))
        known = {**chat_models.CHAT_MODELS, "scripted": lambda _name, _params: model}
        monkeypatch.setattr(chat_models, "CHAT_MODELS", MappingProxyType(known))
        return model

    return make


def test_a_model_that_learns_is_stored(memgraph: Any, scripted: Callable[..., ScriptedModel], tmp_path: Path) -> None:
    """After one real update, whose facts are shown."""
    model = scripted("Lives in Lisbon.")
    (tmp_path / "memgraph.yaml").write_text("memory:\n  max_facts: 20  # few\n")

    result = memgraph("setup", "--model", "scripted:one")

    assert result.code == 0
    assert len(model.asked) == 1
    assert "I live in Lisbon" in model.asked[0][-1].text
    assert "+ [context | 0.90] Lives in Lisbon." in result.out
    assert (tmp_path / "memgraph.yaml").read_text() == "memory:\n  model_name: scripted:one\n  max_facts: 20  # few\n"
    assert not (tmp_path / "memories").exists(), "the test must not write into a real memory"


def test_a_model_that_learns_nothing_is_not_stored(
    memgraph: Any, scripted: Callable[..., ScriptedModel], tmp_path: Path
) -> None:
    """It would be silent for ever."""
    scripted()

    result = memgraph("setup", "--model", "scripted:one")

    assert result.code == 1
    assert "scripted:one answered, but learned nothing" in result.err
    assert not (tmp_path / "memgraph.yaml").exists()


def test_a_model_that_cannot_be_made_is_not_stored(memgraph: Any, tmp_path: Path) -> None:
    result = memgraph("setup", "--model", "openai:m")

    assert result.code == 2
    assert "OPENAI_API_KEY" in result.err
    assert not (tmp_path / "memgraph.yaml").exists()


def test_a_variable_that_overrides_the_file_is_reported(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_MODEL_NAME", "openai:m")

    assert "MEMGRAPH_MODEL_NAME is set in the environment" in memgraph("setup", "--model", "offline").err


def test_without_a_terminal_the_model_must_be_named(memgraph: Any) -> None:
    assert "name one with --model" in memgraph("setup").err
    assert memgraph("setup", "--json").code == 2


# -- asking ---------------------------------------------------------------------------------------


@pytest.fixture
def answer(
    type_lines: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Answer the question at a terminal; no model server runs on this machine."""
    monkeypatch.setattr(providers, "ollama_model", lambda: None)
    monkeypatch.setattr(providers, "LOOPBACK_PORTS", {})

    def run(*lines: str) -> tuple[int, str]:
        type_lines(*lines)
        code = start(["setup"])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


def test_the_providers_are_listed_with_what_each_needs(
    answer: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    """A key is only looked for, never shown."""
    httpserver.expect_request("/v1/chat/completions").respond_with_data("invalid key", status=401)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))

    code, out = answer("")  # the default is the first that is ready

    assert code != 0, "the key is not valid"
    lines = {words[1]: line for line in out.splitlines() if (words := line.split()) and words[0].isdecimal()}
    assert lines["OpenAI"].endswith("openai:gpt-4.1-mini              ready")
    assert "needs ANTHROPIC_API_KEY in the environment" in lines["Anthropic"]
    assert "pip install langchain-mistralai" in lines["Mistral"]
    assert "needs a running server with a model" in lines["Ollama"]
    assert KEY not in out


def test_a_number_chooses_a_provider(answer: Callable[..., tuple[int, str]]) -> None:
    last = str(len(providers.PROVIDERS) + 2)

    code, _ = answer(last)

    assert code == 0
    assert load_settings().model_name == "offline"


def test_a_name_chooses_any_model(
    answer: Callable[..., tuple[int, str]], scripted: Callable[..., ScriptedModel]
) -> None:
    scripted("Lives in Lisbon.")

    assert answer("scripted:mine")[0] == 0
    assert load_settings().model_name == "scripted:mine"


@pytest.mark.parametrize(
    ("line", "reason"), [("2", "Anthropic needs ANTHROPIC_API_KEY in the environment"), ("99", "99 is not one of")]
)
def test_a_choice_that_cannot_be_used_changes_nothing(
    answer: Callable[..., tuple[int, str]], line: str, reason: str
) -> None:
    code, out = answer(line)

    assert code == 2
    assert reason in out
    assert not os.path.exists("memgraph.yaml")  # noqa: PTH110 - in the working directory of the test


def test_the_models_of_a_server_on_this_machine_are_offered_and_one_is_tested(
    answer: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    """Those that only embed texts are not; it needs no key and no address in the environment."""
    monkeypatch.setattr(providers, "LOOPBACK_PORTS", {httpserver.port: "LM Studio"})
    listed = {"data": [{"id": "text-embedding-nomic"}, {"id": "qwen/qwen3-4b"}]}
    httpserver.expect_request("/v1/models").respond_with_json(listed)
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": update_answer("Lives in Lisbon.")},
    }
    reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(reply)

    code, out = answer(str(len(providers.PROVIDERS) + 2))

    assert code == 0, out
    assert "text-embedding" not in out
    assert load_settings().model_name == f"loopback:{httpserver.port}/qwen/qwen3-4b"


@pytest.mark.parametrize("name", ["loopback:qwen", "loopback:8080/", "loopback:x/qwen"])
def test_a_server_on_this_machine_is_named_by_its_port(memgraph: Any, name: str) -> None:
    assert "use loopback:PORT/NAME" in memgraph("setup", "--model", name).err


def test_the_end_of_input_changes_nothing(answer: Callable[..., tuple[int, str]]) -> None:
    code, out = answer()

    assert code == 0
    assert "Nothing was changed." in out
