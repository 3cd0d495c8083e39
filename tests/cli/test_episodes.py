"""memgraph episodes, and episodes in exports and imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memgraph.analysis.normalize import clean_visible
from memgraph.models import Episode, Evidence, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage.file import FileStorage

ADA = Scope("ada")


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    """Three episodes of ada: two days, two threads, one answer."""
    storage = FileStorage(tmp_path / "memories")
    storage.append_episodes(
        ADA,
        [
            Episode(id="e1", thread_id="t1", at="2026-05-03T09:00:00Z", text="I moved to\nMarrowby."),
            Episode(id="e2", thread_id="t2", at="2026-06-11T23:30:00Z", text="\x1b[2J I have a dog."),
            Episode(id="e3", thread_id="t2", at="2026-06-11T23:31:00Z", text="Which one?", author="assistant"),
        ],
        Policy(),
    )
    return storage


@pytest.mark.usefixtures("storage")
def test_episodes_are_listed_by_day(memgraph: Any) -> None:
    """On one line each, without what could control a terminal."""
    assert memgraph("episodes", "-u", "ada").out.splitlines() == [
        "3 episodes",
        "2026-05-03",
        "  t1  I moved to Marrowby.",
        "2026-06-11",
        "  t2  <U+001B>[2J I have a dog.",
        "  t2  assistant: Which one?",
    ]


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--thread", "t1"], ["e1"]),
        (["--thread", "t3"], []),
        (["--since", "2026"], ["e1", "e2", "e3"]),
        (["--since", "2026-06"], ["e2", "e3"]),
        (["--since", "2026-05-04"], ["e2", "e3"]),
        (["--since", "2026-06-12"], []),
        (["--since", "2026-06-11T23:31:00Z"], ["e3"]),
        (["--since", "2026-05", "--thread", "t2"], ["e2", "e3"]),
    ],
)
def test_episodes_are_selected_by_thread_and_date(memgraph: Any, options: list[str], found: list[str]) -> None:
    result = memgraph("episodes", "-u", "ada", *options, "--json").json

    assert ([episode["id"] for episode in result["episodes"]], result["total"]) == (found, 3)


@pytest.mark.usefixtures("storage")
def test_a_day_is_that_of_the_users_time_zone(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_TIMEZONE", "Europe/Lisbon")

    result = memgraph("episodes", "-u", "ada", "--since", "2026-06-12")

    assert result.out.splitlines()[1] == "2026-06-12"


def test_a_user_without_episodes_is_named(memgraph: Any) -> None:
    assert memgraph("episodes", "-u", "ada").out.startswith("No episodes of user 'ada' in ")


@pytest.mark.parametrize("options", [[], ["--keep-words"]])
def test_a_removed_fact_takes_its_words_with_it(memgraph: Any, storage: FileStorage, options: list[str]) -> None:
    """Unless they are to stay."""
    evidence = (Evidence(episode="e1", quote="I moved to\nMarrowby"),)
    storage.save(ADA, MemoryDocument(facts=(Fact(id="f1", content="Lives in Marrowby.", evidence=evidence),)))

    result = memgraph("fact", "remove", "f1", "-u", "ada", *options)

    assert ("I moved to Marrowby." in result.out) is not bool(options)
    assert [episode.id for episode in storage.episodes(ADA)] == [*(["e1"] if options else []), "e2", "e3"]


def test_an_export_holds_the_episodes(memgraph: Any, storage: FileStorage) -> None:
    """And only an export: the stored document has no such key. An import removes hidden characters."""
    exported = memgraph("export", "-u", "ada").out.encode()
    visible = tuple(said.model_copy(update={"text": clean_visible(said.text)}) for said in storage.episodes(ADA))

    assert memgraph("import", "-", "-u", "bob", stdin=exported).code == 0
    assert [episode["id"] for episode in json.loads(exported)["episodes"]] == ["e1", "e2", "e3"]
    assert storage.episodes(Scope("bob")) == visible
    assert "episodes" not in memgraph("show", "-u", "bob", "--json").json


def test_importing_twice_adds_each_episode_once(memgraph: Any, storage: FileStorage) -> None:
    exported = memgraph("export", "-u", "ada").out.encode()
    storage.remove_episodes(ADA, ["e2"])

    counts = [memgraph("import", "-", "-u", "ada", "--json", stdin=exported).json["counts"] for _ in range(2)]

    assert [count["episodes"] for count in counts] == [1, 0]
    assert [episode.id for episode in storage.episodes(ADA)] == ["e1", "e2", "e3"]


def test_an_import_masks_secrets_in_episodes(memgraph: Any, storage: FileStorage) -> None:
    given = {"facts": [], "episodes": [{"id": "e9", "text": "My password is hunter2"}]}

    memgraph("import", "-", "-u", "ada", stdin=json.dumps(given).encode())

    assert "My password is ***" in [episode.text for episode in storage.episodes(ADA)]


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    "episodes", [3, [3], [{"id": "e9"}], [{"text": "x"}], [{"id": "e9", "text": "x", "author": "y"}]]
)
def test_an_import_of_damaged_episodes_changes_nothing(memgraph: Any, tmp_path: Path, episodes: Any) -> None:
    given = {"facts": ["Likes tea."], "episodes": episodes}

    result = memgraph("import", "-", "-u", "ada", stdin=json.dumps(given).encode())

    assert result.code == 2
    assert "episodes" in result.err
    assert not (tmp_path / "memories/users/ada/memory.json").exists()


def test_nothing_is_imported_if_episodes_are_off(
    memgraph: Any, storage: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = memgraph("export", "-u", "ada").out.encode()
    monkeypatch.setenv("MEMGRAPH_EPISODES", "off")

    memgraph("import", "-", "-u", "bob", stdin=exported)

    assert list(storage.episodes(Scope("bob"))) == []


def test_a_backup_brings_back_forgotten_episodes(memgraph: Any, storage: FileStorage) -> None:
    """Replacing a memory writes one; the episodes themselves are not replaced."""
    memgraph("fact", "add", "Likes tea.", "-u", "ada")
    result = memgraph("import", "-", "-u", "ada", "--replace", "--json", stdin=b'{"facts": ["Likes rum."]}').json
    backup = Path(result["backup"]).read_bytes()  # which is deleted with the memory
    replaced = [episode.id for episode in storage.episodes(ADA)]
    memgraph("forget", "-u", "ada", "--yes")
    forgotten = list(storage.episodes(ADA))

    memgraph("import", "-", "-u", "ada", "--replace", "--trusted", stdin=backup)

    assert (replaced, forgotten) == (["e1", "e2", "e3"], [])
    assert [episode.id for episode in storage.episodes(ADA)] == ["e1", "e2", "e3"]
