"""open_storage: URLs, paths and class paths."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from memgraph.errors import ConfigError, StorageError
from memgraph.models import MemoryDocument, Scope
from memgraph.storage import STORAGES, MemoryStorage, open_storage

HOME = Path(platformdirs.user_data_dir("memgraph", appauthor=False))
USABLE = "its_module.Usable"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, and a module with custom storages."""
    monkeypatch.chdir(tmp_path)
    code = """
        from memgraph.models import MemoryDocument
        from memgraph.storage import MemoryStorage

        class Usable(MemoryStorage):
            def __init__(self, storage_path=None):
                self.storage_path = storage_path
            def load(self, scope):
                return MemoryDocument()
            def save(self, scope, memory):
                return memory

        class Half(MemoryStorage):
            def load(self, scope):
                return MemoryDocument()

        class Broken(Usable):
            def __init__(self, storage_path=None):
                raise KeyError("password")

        class Stranger:
            def __init__(self, storage_path=None):
                pass
    """
    module = tmp_path / "modules" / "its_module.py"
    module.parent.mkdir()
    module.write_text("\n".join(line[8:] for line in code.splitlines()))
    (module.parent / "its_typo.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(str(module.parent))
    monkeypatch.delitem(sys.modules, "its_module", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("file:data", "file:{here}/data"),
        ("FILE:data", "file:{here}/data"),
        ("file:./data/", "file:{here}/data"),
        ("file:/abs/dir", "file:/abs/dir"),
        ("file:///abs/dir", "file:/abs/dir"),
        ("file:~/data", "file:{home}/data"),
        ("file:data/notes.json", "file:{here}/data/notes.json"),
        ("data", "file:{here}/data"),
        ("./data", "file:{here}/data"),
        ("/abs/v1.2/dir", "file:/abs/v1.2/dir"),
        ("~/data", "file:{home}/data"),
        ("notes.json", "file:{here}/notes.json"),
        ("C:data", "file:{here}/C:data"),  # on this platform a folder, and never a scheme
        ("sqlite:x.db", "sqlite:{here}/x.db"),
        ("sqlite:/abs/x.db", "sqlite:/abs/x.db"),
        ("sqlite:///x.db", "sqlite:{here}/x.db"),
        ("sqlite:////abs/x.db", "sqlite:/abs/x.db"),
        ("sqlite:~/x.db", "sqlite:{home}/x.db"),
        ("file:", f"file:{HOME}"),
        ("", f"file:{HOME}"),
        ("sqlite:", f"sqlite:{HOME}/memory.db"),
    ],
)
def test_a_url_opens_a_storage(url: str, name: str, folder: Path) -> None:
    assert open_storage(url).name == name.format(here=folder, home=Path.home())


@pytest.mark.parametrize("url", ["file:data", "sqlite:x.db", "memory:", "file:"])
def test_opening_writes_nothing(url: str, folder: Path) -> None:
    open_storage(url)

    assert [path.name for path in folder.iterdir()] == ["modules"]


def test_the_name_of_a_storage_opens_the_same_one() -> None:
    for url in ("file:data/notes.json", "sqlite:x.db", "data"):
        name = open_storage(url).name

        assert open_storage(name).name == name


def test_a_storage_is_returned_unchanged() -> None:
    storage = open_storage("memory:")

    assert open_storage(storage, storage_path="elsewhere") is storage


def test_each_in_memory_storage_is_separate() -> None:
    assert open_storage("memory:").name != open_storage("memory:").name


@pytest.mark.parametrize(
    ("storage_path", "name"),
    [
        ("data", "file:{here}/data"),
        ("my.folder", "file:{here}/my.folder"),
        ("notes.json", "file:{here}/notes.json"),
        ("sqlite:x.db", "sqlite:{here}/x.db"),
        ("file:", f"file:{HOME}"),
        (None, f"file:{HOME}"),
    ],
)
def test_storage_path_completes_a_url_without_a_location(storage_path: str | None, name: str, folder: Path) -> None:
    assert open_storage("file:", storage_path=storage_path).name == name.format(here=folder)


def test_a_url_with_a_location_wins(folder: Path) -> None:
    assert open_storage("file:data", storage_path="other").name == f"file:{folder}/data"


@pytest.mark.parametrize("url", ["redis://:password@host/0", "unknown:x", "https://x.org"])
def test_the_error_for_an_unknown_scheme_quotes_only_the_scheme(url: str) -> None:
    """A URL may hold a password."""
    with pytest.raises(ConfigError, match=url.split(":", maxsplit=1)[0]) as caught:
        open_storage(url)

    assert "password" not in str(caught.value)
    assert all(scheme in str(caught.value) for scheme in STORAGES)


@pytest.mark.parametrize(
    "url", ["memory:name", "sqlite::memory:", "file://host/data", "sqlite://x.db", "file:~nobody_/x"]
)
def test_an_incomplete_url_is_an_error(url: str) -> None:
    with pytest.raises(ConfigError):
        open_storage(url)


def test_a_class_is_called_with_storage_path() -> None:
    storage = open_storage(USABLE, storage_path="its/place")

    assert vars(storage) == {"storage_path": "its/place"}


def test_a_custom_class_needs_only_load_and_save() -> None:
    with open_storage(USABLE) as storage:
        assert storage.name == USABLE
        assert storage.reload(Scope("ada")) == MemoryDocument()
        assert isinstance(storage, MemoryStorage)
        with pytest.raises(StorageError, match="cannot list"):
            storage.scopes()


UNUSABLE = ["no_such.Module", "its_module.Missing", "its_module.Half", "its_module.Broken", "its_module.Stranger"]


@pytest.mark.parametrize("dotted", [*UNUSABLE, "its_module.Memory", "its_typo.Class", "os.path"])
def test_a_class_that_cannot_be_opened_is_an_error(dotted: str) -> None:
    with pytest.raises(ConfigError, match=dotted):
        open_storage(dotted, fallback=False)


@pytest.mark.parametrize("dotted", UNUSABLE)
def test_with_a_fallback_it_is_only_logged(dotted: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    storage = open_storage(dotted, storage_path="data")

    assert storage.name == f"file:{folder}/data"
    assert [(record.name, record.levelno) for record in caplog.records] == [("memgraph.storage", logging.ERROR)]
    assert dotted in caplog.text


def test_importing_storages_imports_no_backend() -> None:
    """So `memgraph --help` stays fast."""
    code = "import sys, memgraph.storage; print({'sqlite3', 'filelock', 'platformdirs'} & set(sys.modules))"
    root = Path(sys.modules["memgraph.storage"].__file__ or "").parents[2]

    output = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)

    assert output.stdout == "set()\n"
