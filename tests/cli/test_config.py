"""memgraph config shows and validates the configuration, and prints a template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph.config import load_settings
from memgraph.settings import Settings


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
