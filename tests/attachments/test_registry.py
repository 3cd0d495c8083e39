"""A memory of one's own is named in the file as those of the package are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attachment_fakes import Notes

from memgraph.attachments.config import StoreConfig
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.registry import MEMORY_TYPES, StoreContext, StoreRegistry, StoreType, register_memory_store
from memgraph.errors import ConfigError


class DiaryConfig(StoreConfig):
    path: str
    """Where the diary is."""
    pages: int = 3


class OtherConfig(StoreConfig):
    """Of another type."""


def diary(name: str, config: DiaryConfig, around: StoreContext) -> Notes:
    return Notes(name, str(around.folder / config.path), *["page"] * config.pages)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types hold for the process; other tests know none of these."""
    monkeypatch.setattr(MEMORY_TYPES, "_types", dict(MEMORY_TYPES))


def test_a_type_of_ones_own_is_built(tmp_path: Path) -> None:
    """With its configuration, read and checked, and with what is around it."""
    register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    manager = MemoryManager([{"name": "mine", "type": "diary", "config": {"path": "d", "pages": 1}}], folder=tmp_path)

    store = manager.store("mine")
    assert isinstance(store, Notes)
    assert store.contents == (str(tmp_path / "d"), "page")


def test_its_configuration_is_checked_by_its_class() -> None:
    """As that of every type, by its path."""
    register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    with pytest.raises(ConfigError, match=re.escape("memories[0].config.path is missing: Where the diary is.")):
        MemoryManager([{"name": "mine", "type": "diary"}])


@pytest.mark.parametrize("name", ["simple", "diary"])
def test_a_name_that_is_taken_stays_what_it_is(name: str) -> None:
    """Else whoever comes last would change what a file means to all others."""
    register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    with pytest.raises(ConfigError, match=f"there is a memory type '{name}' already"):
        register_memory_store(name, config_cls=OtherConfig, factory=diary, summary="Another.")


def test_the_same_type_may_be_added_again() -> None:
    """As a notebook's cell does that is run again."""
    for _ in range(2):
        register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    assert MEMORY_TYPES["diary"].config_cls is DiaryConfig


def test_a_manager_may_know_types_of_its_own() -> None:
    """Without telling the process."""
    types = StoreRegistry([StoreType("diary", DiaryConfig, diary, "Reads a diary.")])

    manager = MemoryManager([{"name": "mine", "type": "diary", "config": {"path": "d"}}], types=types)

    assert manager.names == ("mine",)
    assert "diary" not in MEMORY_TYPES


def test_every_type_says_what_it_does() -> None:
    """A form lists them to choose from."""
    assert list(MEMORY_TYPES) == ["simple", "file", "blackboard", "profile"]
    assert all(kind.summary.endswith(".") and kind.name == name for name, kind in MEMORY_TYPES.items())
