"""Every configuration class describes its fields, for generated forms and templates."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from pydantic import BaseModel, Field, SecretStr

from memgraph.attachments.documents import FileSource
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.registry import MEMORY_TYPES, StoreDefinition
from memgraph.attachments.store import MemoryAttachment
from memgraph.cli.config import render_template
from memgraph.config import load_settings
from memgraph.fields import Choice, ChoiceLabels, FieldSpec, FieldSpecMixin
from memgraph.policy import Policy
from memgraph.retrieval.embedding_config import EmbeddingConfig, EmbeddingParams
from memgraph.settings import Settings

CLASSES: list[type[FieldSpecMixin]] = [
    Settings,
    Policy,
    StoreDefinition,
    MemoryAttachment,
    FileSource,
    EmbeddingConfig,
    EmbeddingParams,
    *(kind.config_cls for kind in MEMORY_TYPES.values()),
]


class Inner(BaseModel, use_attribute_docstrings=True):
    deep: bool = False
    """Whether it is deep."""


class Base(FieldSpecMixin, BaseModel, use_attribute_docstrings=True):
    size: Annotated[int, Field(ge=1, le=9)] | None = None
    """How large;
    none is any."""


class Example(Base):
    colour: Annotated[Literal["red", "blue"], ChoiceLabels(red="like roses")]
    key: SecretStr | None = None
    """Of the door."""
    inner: tuple[Inner, ...] = (Inner(),)
    path: Path | str = Path("here")
    share: float = Field(default=0.5, ge=0, le=1)


def test_a_class_describes_its_fields() -> None:
    """Type, default, range, choices and help, from annotations and docstrings; base classes first."""
    size, colour, key, inner, path, share = Example.field_specs()

    assert size == FieldSpec(name="size", type="integer", help="How large; none is any.", minimum=1, maximum=9)
    choices = (Choice(value="red", summary="like roses"), Choice(value="blue"))
    assert colour == FieldSpec(name="colour", type="string", required=True, choices=choices)
    assert key == FieldSpec(name="key", type="string", help="Of the door.", is_secret=True)
    assert (inner.type, inner.default) == ("array", [{"deep": False}])
    assert inner.fields == (FieldSpec(name="deep", type="boolean", default=False, help="Whether it is deep."),)
    assert (path.type, path.default) == ("string", "here")
    assert (share.minimum, share.maximum, share.default) == (0, 1, 0.5)


@pytest.mark.parametrize("config", CLASSES, ids=lambda config: config.__name__)
def test_every_field_has_a_help_text(config: type[FieldSpecMixin]) -> None:
    """Forms show it. Every choice has a summary."""
    assert all(spec.help.endswith(".") for spec in config.field_specs())
    assert all(choice.summary for spec in config.field_specs() for choice in spec.choices)


@pytest.mark.parametrize("config", CLASSES, ids=lambda config: config.__name__)
def test_specs_are_json(config: type[FieldSpecMixin]) -> None:
    """A form may run in a browser."""
    specs = json.loads(json.dumps([spec.model_dump(mode="json") for spec in config.field_specs()]))

    assert tuple(FieldSpec.model_validate(spec) for spec in specs) == config.field_specs()


def test_every_field_has_one_spec() -> None:
    """None is missing or repeated."""
    assert [spec.name for spec in Settings.field_specs()] == list(Settings.model_fields)


# -- the template ---------------------------------------------------------------------------------


def uncommented(text: str) -> str:
    """Return the template with its examples: without their `# `, and without the empty lists before them."""
    uncommented_lists = text.replace("memories: []", "memories:").replace("attachments: {}", "attachments:")
    return re.sub(r"^# (?=  )", "", uncommented_lists, flags=re.MULTILINE)


def loaded(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "memgraph.yaml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file)


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the settings of the developer's machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMGRAPH_CONFIG", raising=False)
    monkeypatch.delenv("MEMGRAPH_STORAGE_PATH", raising=False)
    monkeypatch.delenv("MEMGRAPH_EMBEDDING")


def test_the_template_changes_nothing(tmp_path: Path) -> None:
    """Every key is there, with its default."""
    settings = loaded(tmp_path, render_template())

    assert settings == Settings()
    assert set(yaml.safe_load(render_template())["memory"]) == set(Settings.model_fields) - {"memories", "attachments"}


def test_comments_of_the_template_have_no_effect(tmp_path: Path) -> None:
    """Without them the settings are the same."""
    bare = "\n".join(line for line in render_template().splitlines() if not line.lstrip().startswith("#"))

    assert loaded(tmp_path, bare) == Settings()


def test_examples_of_the_template_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without their comment marks: one memory of each type, and an attachment."""
    settings = loaded(tmp_path, uncommented(render_template()))
    assert [memory["type"] for memory in settings.memories] == list(MEMORY_TYPES)
    assert len(settings.attachments) == 1
    memories: Any = [memory for memory in settings.memories if memory["type"] != "file"]

    manager = MemoryManager(memories, settings.attachments)

    assert list(manager.attachments) == ["answer"]


@pytest.mark.parametrize("kind", MEMORY_TYPES)
def test_examples_of_the_template_have_every_key(kind: str) -> None:
    """So that users need not read the source."""
    memories = yaml.safe_load(uncommented(render_template()))["memories"]
    (example,) = [memory for memory in memories if memory["type"] == kind]

    assert set(example["config"]) == set(MEMORY_TYPES[kind].config_cls.model_fields)
