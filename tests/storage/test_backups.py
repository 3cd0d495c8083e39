"""Backups are private, and kept for a limited time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memgraph import Fact, MemoryDocument, Scope, Settings, open_storage
from memgraph.api.services import Services
from memgraph.storage.backups import Backups, new_name

LONG_AGO = "20200101T000000000000Z.json"
MEMORY = MemoryDocument(facts=(Fact(content="Likes tea."),))


def save_another(folder: Path) -> None:
    Backups(folder).save(Scope("bob"), MEMORY, new_name())


def start_api(folder: Path) -> None:
    services = Services(Settings(storage_class="memory:", api_backups=str(folder)))
    services.open()
    services.close()


@pytest.mark.parametrize("happens", [save_another, start_api])
def test_a_backup_beyond_the_age_limit_is_deleted(tmp_path: Path, happens: Callable[[Path], None]) -> None:
    """Also if its memory never changes again."""
    folder = tmp_path / "backups"
    backups, name = Backups(folder), new_name()
    recent = backups.save(Scope("ada", "coder"), MEMORY, name)
    recent.with_name(LONG_AGO).write_bytes(recent.read_bytes())

    happens(folder)

    assert [backup.name for backup in backups.list(Scope("ada", "coder"))] == [name]


def test_only_the_owner_can_read_a_backup(tmp_path: Path) -> None:
    file = Backups(tmp_path / "data" / "backups").save(Scope("ada"), MEMORY, new_name())

    folders = [folder for folder in file.parents if folder.is_relative_to(tmp_path / "data")]
    assert file.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}


@pytest.mark.parametrize("url", ["file:{}/link/memory", "file:{}/data/../data/memory", "sqlite:{}/link/memory.db"])
def test_a_storage_has_one_place_for_backups_by_every_path(tmp_path: Path, url: str) -> None:
    """Erasing by one path must find what was backed up by another."""
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    kind, _, path = url.format(tmp_path).partition(":")
    direct = f"{kind}:{tmp_path / 'data' / Path(path).name}"

    places = [Backups.of(open_storage(each).name, None).folder for each in (f"{kind}:{path}", direct)]

    assert places[0] == places[1]
