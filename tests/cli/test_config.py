"""memgraph config shows the configuration, status what learns and finds by it; setup tests a model and stores it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from memgraph.config import checks_folder, load_settings, make_chat_model, providers
from memgraph.llm import models as chat_models
from memgraph.llm.checkers import Checkers
from memgraph.settings import Settings
from memgraph.testing import ScriptedModel, update_answer

KEY = "sk-hush-hush"


def test_the_template_is_a_valid_configuration_of_defaults(
    memgraph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`memgraph config --template > memgraph.yaml` works, although the shell creates the empty file first."""
    monkeypatch.delenv("MEMGRAPH_STORAGE_PATH")
    (tmp_path / "memgraph.yaml").touch()

    printed = memgraph("config", "--template")

    (tmp_path / "memgraph.yaml").write_text(printed.out)
    assert (printed.code, printed.err) == (0, "")
    assert load_settings() == Settings()


def test_the_template_is_printed_despite_invalid_settings(memgraph: Any, tmp_path: Path) -> None:
    """Users with an invalid file need it most."""
    (tmp_path / "memgraph.yaml").write_text("memory: {max_fact: 5}")

    assert memgraph("config", "--template").code == 0


def test_the_template_as_json(memgraph: Any) -> None:
    """--json works for every command."""
    assert memgraph("config", "--template", "--json").json["template"] == memgraph("config", "--template").out


def test_the_model_that_learns_is_shown_with_the_reason(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sets a key sees whether it is used."""
    assert "Model:   offline (no model provider is configured)" in memgraph("config").out

    monkeypatch.setenv("ANTHROPIC_API_KEY", "hush")
    result = memgraph("config")

    assert "Model:   anthropic:claude-haiku-4-5 (ANTHROPIC_API_KEY is set)" in result.out
    assert "hush" not in result.out
    assert memgraph("config", "--json").json["model_reason"] == "ANTHROPIC_API_KEY is set"


@pytest.mark.parametrize(
    ("setting", "value", "kept"),
    [
        ("MAX_EPISODES", "500", "the user's own words are kept, without a time limit, at most 500 episodes per memory"),
        ("EPISODE_DAYS", "30", "the user's own words are kept, for 30 days, at most 10,000 episodes per memory"),
        ("EPISODES", "exchange", "the user's own words and the final answers are kept, without a time limit"),
        ("EPISODES", "off", "no words of a conversation are kept, only facts and summaries"),
    ],
)
def test_what_is_kept_word_for_word_is_shown(
    memgraph: Any, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, kept: str
) -> None:
    monkeypatch.setenv(f"MEMGRAPH_{setting}", value)

    assert f"Kept:    {kept}" in memgraph("config").out
    assert kept in memgraph("config", "--json").json["kept_words"]


def test_invalid_memories_are_reported(memgraph: Any, tmp_path: Path) -> None:
    """Before an agent starts with them."""
    (tmp_path / "memgraph.yaml").write_text("memories: [{name: notes, type: smple}]")

    result = memgraph("config")

    assert result.code == memgraph("config", "--config", "nowhere.yaml").code != 0
    assert "memories[0].type is 'smple', which is not a memory type; did you mean simple?" in result.err


def test_api_keys_of_memories_are_redacted(memgraph: Any, tmp_path: Path) -> None:
    """Terminal output may be shared."""
    model = "{provider: openai, base_url: 'http://localhost:1/v1', api_key: hush}"
    (tmp_path / "memgraph.yaml").write_text(f"memories: [{{name: n, type: simple, config: {{embedding: {model}}}}}]")

    result = memgraph("config")

    assert (result.code, result.err) == (0, "")
    assert "hush" not in result.out
    assert "'max_tokens': None" in result.out, "a limit is no secret"


# -- status ---------------------------------------------------------------------------------------


def test_a_new_machine_learns_with_the_built_in_model(memgraph: Any) -> None:
    result = memgraph("status")

    assert result.code == 0
    assert "Learning: offline (no model provider is configured)" in result.out
    assert "Checking: the rules alone" in result.out
    assert "Finding:  words" in result.out
    assert "memgraph setup" in result.out


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (None, "the rules alone, until the model was probed"),
        (True, "the model, which passed its probe on 20"),
        (False, "the rules alone: the model failed its probe on 20"),
    ],
)
def test_it_tells_what_the_probe_of_the_model_has_shown(
    memgraph: Any, monkeypatch: pytest.MonkeyPatch, *, passed: bool | None, told: str
) -> None:
    """So does memgraph config."""
    monkeypatch.setenv("OPENAI_API_KEY", "hush")
    settings = load_settings()
    model = make_chat_model(settings)
    assert model is not None
    if passed is not None:
        Checkers(checks_folder(settings, "file:/x")).note(model, passed=passed)

    assert told in memgraph("status", "--json").json["checking"]
    assert told in memgraph("config").out


def test_it_counts_what_waits(memgraph: Any) -> None:
    assert memgraph("status", "--json").json["waiting"] == 0
    assert "Waiting:  0 conversations" in memgraph("status").out


@pytest.mark.parametrize(
    ("embedding", "installed", "machine", "told"),
    [
        ("auto", True, "x86_64", "words and meaning (local model: 95 MB"),
        ("auto", False, "x86_64", "words (install 'langgraph-memgraph[local]'"),
        ("auto", False, "riscv64", "words (the local model is not available for linux riscv64)"),
        ("none", True, "x86_64", "words (embedding: auto also finds by meaning)"),
        ("openai:small", False, "x86_64", "words and meaning (openai:small)"),
    ],
)
def test_it_tells_by_what_memory_is_found(
    memgraph: Any, monkeypatch: pytest.MonkeyPatch, embedding: str, *, installed: bool, machine: str, told: str
) -> None:
    """So do memgraph config and GET /memory/status."""
    monkeypatch.setenv("MEMGRAPH_EMBEDDING", embedding)
    monkeypatch.setattr("memgraph.retrieval.embedding_config.find_spec", lambda _: installed)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: machine)

    assert memgraph("status", "--json").json["finding"].startswith(told)
    assert memgraph("config", "--json").json["finding"].startswith(told)


# -- setup ----------------------------------------------------------------------------------------


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
def answer(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Answer the question at a terminal; no model server runs on this machine."""
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    monkeypatch.setattr(providers, "LOOPBACK_PORTS", {})

    def run(*lines: str) -> tuple[int, str]:
        result = memgraph("setup", typed=lines)
        return result.code, result.out + result.err

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
