"""memgraph config: what is in force, whether it can be, and what there is to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph.config import load_settings
from memgraph.settings import Settings


def test_a_template_can_be_kept_as_it_is_printed(
    memgraph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`memgraph config --template > memgraph.yaml`, which a shell makes empty first; it changes nothing."""
    monkeypatch.delenv("MEMGRAPH_STORAGE_PATH")
    (tmp_path / "memgraph.yaml").touch()

    printed = memgraph("config", "--template")

    (tmp_path / "memgraph.yaml").write_text(printed.out)
    assert (printed.code, printed.err) == (0, "")
    assert load_settings() == Settings()


def test_a_template_is_printed_where_the_settings_cannot_be_read(memgraph: Any, tmp_path: Path) -> None:
    """That is when somebody looks for one."""
    (tmp_path / "memgraph.yaml").write_text("memory: {max_fact: 5}")

    assert memgraph("config", "--template").code == 0


def test_machines_get_the_template_as_json(memgraph: Any) -> None:
    """As from every command."""
    assert memgraph("config", "--template", "--json").json["template"] == memgraph("config", "--template").out


def test_memories_that_cannot_be_are_named(memgraph: Any, tmp_path: Path) -> None:
    """Before an agent starts with them."""
    (tmp_path / "memgraph.yaml").write_text("memories: [{name: notes, type: smple}]")

    result = memgraph("config")

    assert result.code == memgraph("config", "--config", "nowhere.yaml").code != 0
    assert "memories[0].type is 'smple', which is no type of memory; did you mean simple?" in result.err


def test_keys_of_memories_are_left_out(memgraph: Any, tmp_path: Path) -> None:
    """The screen may be seen by others."""
    model = "{provider: openai, base_url: 'http://localhost:1/v1', api_key: hush}"
    (tmp_path / "memgraph.yaml").write_text(f"memories: [{{name: n, type: simple, config: {{embedding: {model}}}}}]")

    result = memgraph("config")

    assert (result.code, result.err) == (0, "")
    assert "hush" not in result.out
