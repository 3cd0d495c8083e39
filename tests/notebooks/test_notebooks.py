"""The notebooks are stored with outputs, and print the same today, in a clean environment without a network."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

CELL_TIMEOUT_SECONDS = 120
MAX_PICTURE_BYTES = 60_000
"""Pictures are in the repository, in each version."""

_ABSOLUTE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|usr|var|private)/|[A-Za-z]:\\\\")
_VARYING = re.compile(r"\d{4}-\d\d-\d\d(?: \w{3}\b)?|\b[0-9a-f]{8}[0-9a-f-]*\b")
"""Days, since some are today's, and ids."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def read_texts(notebook: Any) -> list[str]:
    """Return the printed output and the value of each cell, without what differs from run to run."""
    texts: list[str] = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", ())
        text = "".join(output.get("text") or output.data.get("text/plain", "") for output in outputs)
        texts.append(_VARYING.sub("*", text))
    return texts


def read_pictures(notebook: Any) -> list[bytes]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [base64.b64decode(output.data["image/png"]) for output in outputs if "image/png" in output.get("data", ())]


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider, no settings, no memory."""
    for name in ("LANGGRAPH_STRICT_MSGPACK", "MEMGRAPH_CONFIG", "MEMGRAPH_STORAGE_PATH", "MEMGRAPH_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))
    (tmp_path / "data").mkdir()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_prints_what_is_stored(path: Path, tmp_path: Path) -> None:
    """It gives no warning, and leaves nothing in the user's data folder."""
    notebook = read(path)
    resources = {"metadata": {"path": tmp_path}}
    client = NotebookClient(notebook, timeout=CELL_TIMEOUT_SECONDS, kernel_name="python3", resources=resources)

    client.execute()

    assert read_texts(notebook) == read_texts(read(path))
    assert len(read_pictures(notebook)) == len(read_pictures(read(path)))
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_with_the_outputs_of_one_whole_run(path: Path) -> None:
    """A reader sees them without running anything: `make notebook-outputs` saves them."""
    notebook = read(path)

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]

    outputs = [output for cell in cells for output in cell.outputs]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"] == []
    assert any(text for text in read_texts(notebook))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_has_small_pictures_and_nothing_of_its_machine(path: Path) -> None:
    """Outputs would contain paths and times of the run that saved them."""
    notebook = read(path)

    pictures = read_pictures(notebook)

    assert pictures
    assert max(len(picture) for picture in pictures) <= MAX_PICTURE_BYTES
    assert [cell for cell in notebook.cells if cell.metadata] == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    assert _ABSOLUTE_PATH.search(path.read_text(encoding="utf-8")) is None
