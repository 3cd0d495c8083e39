"""The notebooks run in a clean environment without a network, and are stored without outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

EXPECTED_OUTPUT = {
    "an_agent_that_remembers": "A mushroom risotto",
    "one_update_step_by_step": "learned at revision 1",
    "recall_and_the_budget": "image/png",
    "reviewing_an_update": "Name is Ada.  (manual)",
}
"""Part of the output of each notebook."""

CELL_TIMEOUT_SECONDS = 120

_ABSOLUTE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|usr|var|private)/|[A-Za-z]:\\\\")


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider, no settings, no memory."""
    for name in ("LANGGRAPH_STRICT_MSGPACK", "MEMGRAPH_CONFIG", "MEMGRAPH_STORAGE_PATH", "MEMGRAPH_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))
    (tmp_path / "data").mkdir()


def test_every_notebook_has_an_expected_output() -> None:
    """A new notebook needs an entry."""
    assert [path.stem for path in NOTEBOOKS] == sorted(EXPECTED_OUTPUT)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_without_warnings(path: Path, tmp_path: Path) -> None:
    """It also leaves nothing in the user's data folder."""
    notebook = read(path)
    resources = {"metadata": {"path": tmp_path}}
    client = NotebookClient(notebook, timeout=CELL_TIMEOUT_SECONDS, kernel_name="python3", resources=resources)

    client.execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any(EXPECTED_OUTPUT[path.stem] in str(output) for output in outputs)
    assert not [output for output in outputs if output.get("name") == "stderr" and "Warning" in output.text]
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(path: Path) -> None:
    """Outputs would contain paths and times of the last run."""
    notebook = read(path)

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [cell for cell in cells if cell.outputs or cell.execution_count is not None or cell.metadata] == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert _ABSOLUTE_PATH.search(path.read_text(encoding="utf-8")) is None
