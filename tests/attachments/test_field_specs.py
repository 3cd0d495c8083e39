"""Every configuration class tells its fields, so that nobody has to write a form, or a template, by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from pydantic import BaseModel, Field, SecretStr

from memgraph.attachments.config import MemoryAttachment
from memgraph.attachments.definitions import StoreDefinition
from memgraph.attachments.files.sources import FileSource
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.registry import MEMORY_TYPES
from memgraph.cli.config_template import template
from memgraph.config import load_settings
from memgraph.fields import Choice, ChoiceLabels, FieldSpec, FieldSpecMixin
from memgraph.policy import Policy
from memgraph.retrieval.embeddings import EmbeddingConfig, EmbeddingParams
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


class Inner(BaseModel):
    deep: bool = False
    """Whether it is deep."""


class Base(FieldSpecMixin, BaseModel):
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


def test_a_class_tells_its_fields() -> None:
    """Type, default, range, choices and help, as they are checked and as the source says them; bases first."""
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
def test_every_field_says_what_it_is(config: type[FieldSpecMixin]) -> None:
    """A form has nothing else to show. Every choice of one of ours has its summary."""
    assert all(spec.help.endswith(".") for spec in config.field_specs())
    assert all(choice.summary for spec in config.field_specs() for choice in spec.choices)


@pytest.mark.parametrize("config", CLASSES, ids=lambda config: config.__name__)
def test_what_is_told_is_json(config: type[FieldSpecMixin]) -> None:
    """A form may be in a browser."""
    told = json.loads(json.dumps([spec.model_dump(mode="json") for spec in config.field_specs()]))

    assert tuple(FieldSpec.model_validate(spec) for spec in told) == config.field_specs()


def test_nothing_is_told_twice_or_left_out() -> None:
    """The fields are those of the class."""
    assert [spec.name for spec in Settings.field_specs()] == list(Settings.model_fields)


# -- the template ---------------------------------------------------------------------------------


def uncommented(text: str) -> str:
    """As it is when the `# ` is taken from the examples, and the empty lists from before them."""
    opened = text.replace("memories: []", "memories:").replace("attachments: {}", "attachments:")
    return re.sub(r"^# (?=  )", "", opened, flags=re.MULTILINE)


def loaded(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "memgraph.yaml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of whoever runs the tests out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMGRAPH_CONFIG", raising=False)
    monkeypatch.delenv("MEMGRAPH_STORAGE_PATH", raising=False)


def test_the_template_changes_nothing(tmp_path: Path) -> None:
    """Every key is there, with its default."""
    settings = loaded(tmp_path, template())

    assert settings == Settings()
    assert set(yaml.safe_load(template())["memory"]) == set(Settings.model_fields) - {"memories", "attachments"}


def test_without_its_comments_it_says_the_same(tmp_path: Path) -> None:
    """The comments are for people."""
    bare = "\n".join(line for line in template().splitlines() if not line.lstrip().startswith("#"))

    assert loaded(tmp_path, bare) == Settings()


def test_its_examples_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One memory of each type, and an attachment, when the comment marks are taken away."""
    settings = loaded(tmp_path, uncommented(template()))
    assert [memory["type"] for memory in settings.memories] == list(MEMORY_TYPES)
    assert len(settings.attachments) == 1
    memories: Any = [memory for memory in settings.memories if memory["type"] != "file"]

    manager = MemoryManager(memories, settings.attachments)

    assert list(manager.attachments) == ["answer"]


@pytest.mark.parametrize("kind", MEMORY_TYPES)
def test_its_examples_have_every_key(kind: str) -> None:
    """Nothing is left for the source to say."""
    memories = yaml.safe_load(uncommented(template()))["memories"]
    (example,) = [memory for memory in memories if memory["type"] == kind]

    assert set(example["config"]) == set(MEMORY_TYPES[kind].config_cls.model_fields)
