"""Memory types of the application are configured like those of the package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from attachment_fakes import FakeStore

from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.registry import MEMORY_TYPES, StoreContext, StoreType, register_memory_store
from memgraph.attachments.store import StoreConfig
from memgraph.errors import ConfigError


class DiaryConfig(StoreConfig):
    path: str
    """Path of the diary."""
    pages: int = 3


class OtherConfig(StoreConfig):
    """The configuration of another type."""


def diary(name: str, config: DiaryConfig, context: StoreContext) -> FakeStore:
    return FakeStore(name, str(context.folder / config.path), *["page"] * config.pages)


@pytest.fixture(autouse=True)
def restore_types() -> Iterator[None]:
    """Types are registered for the process; remove that of a test after it."""
    yield
    MEMORY_TYPES.pop("diary", None)


def test_a_registered_type_is_built(tmp_path: Path) -> None:
    """With its validated configuration and the context."""
    register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    manager = MemoryManager([{"name": "mine", "type": "diary", "config": {"path": "d", "pages": 1}}], folder=tmp_path)

    store = manager.store("mine")
    assert isinstance(store, FakeStore)
    assert store.contents == (str(tmp_path / "d"), "page")


def test_its_configuration_is_checked_by_its_class() -> None:
    """Errors name the path, as for every type."""
    register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    with pytest.raises(ConfigError, match=re.escape("memories[0].config.path is missing: Path of the diary.")):
        MemoryManager([{"name": "mine", "type": "diary"}])


@pytest.mark.parametrize("name", ["simple", "diary"])
def test_a_registered_type_cannot_be_replaced(name: str) -> None:
    """Otherwise the meaning of a file would depend on the order of imports."""
    register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    with pytest.raises(ConfigError, match=f"there is a memory type '{name}' already"):
        register_memory_store(name, config_cls=OtherConfig, factory=diary, summary="Another.")


def test_the_same_type_may_be_registered_again() -> None:
    """As by a notebook cell that is run again."""
    for _ in range(2):
        register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    assert MEMORY_TYPES["diary"].config_cls is DiaryConfig


def test_a_manager_may_have_its_own_registry() -> None:
    """Without registration for the process."""
    types = {"diary": StoreType("diary", DiaryConfig, diary, "Reads a diary.")}

    manager = MemoryManager([{"name": "mine", "type": "diary", "config": {"path": "d"}}], types=types)

    assert manager.names == ("mine",)
    assert "diary" not in MEMORY_TYPES


def test_every_type_has_a_summary() -> None:
    """A form lists the types with their summaries."""
    assert list(MEMORY_TYPES) == ["simple", "file", "blackboard", "profile"]
    assert all(kind.summary.endswith(".") and kind.name == name for name, kind in MEMORY_TYPES.items())
