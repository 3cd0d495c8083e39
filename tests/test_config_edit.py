"""Setting one key of memgraph.yaml keeps the rest of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memgraph.cli.config import render_template
from memgraph.config import load_settings
from memgraph.config.edit import set_in_file
from memgraph.errors import ConfigError

NAME = "openai:gpt-4.1-mini"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memgraph.yaml"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "memory:\n  model_name: m\n"),
        ("# mine\n", "# mine\nmemory:\n  model_name: m\n"),
        ("memories: []", "memories: []\nmemory:\n  model_name: m\n"),
        ("memory:\n", "memory:\n  model_name: m\n"),
        ("memory:  # all\nmemories: []\n", "memory:\n  model_name: m  # all\nmemories: []\n"),
        ("memory: {}\n", "memory: {model_name: m}\n"),
        ("memory: {max_facts: 20}\n", "memory: {model_name: m, max_facts: 20}\n"),
        (
            "memory:\n    # few\n    max_facts: 20  # or more\n",
            "memory:\n    # few\n    model_name: m\n    max_facts: 20  # or more\n",
        ),
        ("memory:\n  model_name: old  # why\n  max_facts: 20\n", "memory:\n  model_name: m  # why\n  max_facts: 20\n"),
        ("memory:\n  model_name:\n  max_facts: 20\n", "memory:\n  model_name: m\n  max_facts: 20\n"),
        ("memory: {model_name: 'old', max_facts: 20}\n", "memory: {model_name: m, max_facts: 20}\n"),
        ("memory:\r\n  max_facts: 20\r\n", "memory:\r\n  model_name: m\n  max_facts: 20\r\n"),
        ("memory: {outbox: '${HOME}/o.db'}", "memory: {model_name: m, outbox: '${HOME}/o.db'}"),
    ],
)
def test_only_the_key_changes(file: Path, before: str, after: str) -> None:
    """Comments, order, quotes and variables stay as the user wrote them."""
    file.write_bytes(before.encode())

    set_in_file(file, "model_name", "m")

    assert file.read_bytes().decode() == after


def test_a_missing_file_is_created(file: Path) -> None:
    set_in_file(file, "model_name", NAME)

    assert load_settings(file).model_name == NAME


def test_the_template_with_its_comments_is_changed_in_one_line(file: Path) -> None:
    file.write_text(render_template())

    set_in_file(file, "model_name", NAME)

    before, after = render_template().splitlines(), file.read_text().splitlines()
    assert [(old, new) for old, new in zip(before, after, strict=True) if old != new] == [
        ("  model_name: null", f"  model_name: {NAME}")
    ]


@pytest.mark.parametrize("text", ["memory: [{name: notes}]\n", "- a\n", "memory: 5\n", "memory: {\n", "just text\n"])
def test_a_file_of_another_form_is_left_as_it_is(file: Path, text: str) -> None:
    file.write_text(text)

    with pytest.raises(ConfigError, match=r"memgraph\.yaml"):
        set_in_file(file, "model_name", "m")

    assert file.read_text() == text
    assert [path.name for path in file.parent.iterdir()] == ["memgraph.yaml"]


def test_permissions_and_links_stay(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_text("")
    real.chmod(0o640)
    file.symlink_to(real)

    set_in_file(file, "model_name", "m")

    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert load_settings(file).model_name == "m"


@given(value=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_any_value_is_read_back(value: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever a user types as the name of a model."""
    file = tmp_path_factory.mktemp("config") / "memgraph.yaml"
    file.write_text("memory:\n  max_facts: 20 # few\n")

    set_in_file(file, "model_name", value)

    assert yaml.safe_load(file.read_text("utf-8")) == {"memory": {"model_name": value, "max_facts": 20}}
