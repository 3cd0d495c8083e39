"""The notebooks run, from a clean kernel and with no network, and hold nothing of whoever wrote them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

PROMISES = {
    "an_agent_that_remembers": "A mushroom risotto",
    "one_update_step_by_step": "learned at revision 1",
    "recall_and_the_budget": "image/png",
    "reviewing_an_update": "Name is Ada.  (manual)",
}
"""What a reader of each is to see."""

_ABSOLUTE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|usr|var|private)/|[A-Za-z]:\\\\")


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing is set up: no provider, no settings, no memory."""
    for name in ("LANGGRAPH_STRICT_MSGPACK", "MEMGRAPH_CONFIG", "MEMGRAPH_STORAGE_PATH", "MEMGRAPH_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))
    (tmp_path / "data").mkdir()


def test_each_is_known() -> None:
    """A new one has to say what it shows."""
    assert [path.stem for path in NOTEBOOKS] == sorted(PROMISES)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    """Without a warning, and leaving nothing among the user's data."""
    notebook = read(path)
    client = NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": tmp_path}})

    client.execute()

    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any(PROMISES[path.stem] in str(output) for output in shown)
    assert not [output for output in shown if output.get("name") == "stderr" and "Warning" in output.text]
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    """They would hold the paths, and the times, of whoever ran it last."""
    notebook = read(path)

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [cell for cell in cells if cell.outputs or cell.execution_count is not None or cell.metadata] == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert _ABSOLUTE.search(path.read_text(encoding="utf-8")) is None
