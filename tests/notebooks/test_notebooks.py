"""The notebooks are stored with outputs, and print the same today, in a clean environment without a network.

One of them needs a chat model: a server on loopback stands in for it, and what depends on its answer is not compared.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from streaming_server import StreamingServer, answer, serving

from memgraph.testing import update_answer

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
REAL_MODEL = FOLDER / "a_small_real_model.ipynb"
"""The notebook whose stored outputs are a real model's."""
MODEL_OUTPUT = "model-output"
"""The tag of its cells whose output depends on the model."""

CELL_TIMEOUT_SECONDS = 120
MAX_PICTURE_BYTES = 60_000
"""Pictures are in the repository, in each version."""

_ABSOLUTE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|usr|var|private)/|[A-Za-z]:\\\\")
_VARYING = re.compile(r"\d{4}-\d\d-\d\d(?: \w{3}\b)?|\b[0-9a-f]{8}[0-9a-f-]*\b")
"""Days, since some are today's, and ids."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def execute(path: Path, folder: Path) -> Any:
    """Run a notebook in *folder*."""
    notebook = read(path)
    resources = {"metadata": {"path": folder}}
    NotebookClient(notebook, timeout=CELL_TIMEOUT_SECONDS, kernel_name="python3", resources=resources).execute()
    return notebook


def is_model_output(cell: Any) -> bool:
    return MODEL_OUTPUT in cell.metadata.get("tags", ())


def read_texts(notebook: Any) -> list[str]:
    """Return the printed output and the value of each cell, without what differs from run to run or by the model."""
    texts: list[str] = []
    for cell in notebook.cells:
        outputs = () if is_model_output(cell) else cell.get("outputs", ())
        text = "".join(output.get("text") or output.data.get("text/plain", "") for output in outputs)
        texts.append(_VARYING.sub("*", text))
    return texts


def read_pictures(notebook: Any) -> list[bytes]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [base64.b64decode(output.data["image/png"]) for output in outputs if "image/png" in output.get("data", ())]


ANSWER = update_answer(
    {"content": "Is vegetarian.", "quote": "I'm vegetarian", "category": "preference"},
    {"content": "Owns a food processor.", "quote": "You own a food processor"},
)
"""Two facts that the notebook's conversation seems to have; the second is what the assistant said."""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[StreamingServer]:
    """The chat model of the environment. It streams ANSWER in two pieces."""
    with serving(answer(ANSWER[:20], ANSWER[20:])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("MEMGRAPH_MODEL_NAME", "openai:scripted")
        yield server


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider, no settings, no memory."""
    settings = ("MEMGRAPH_CONFIG", "MEMGRAPH_STORAGE_PATH", "MEMGRAPH_MODEL_NAME")
    for name in ("LANGGRAPH_STRICT_MSGPACK", "OPENAI_API_KEY", "OPENAI_BASE_URL", *settings):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))
    (tmp_path / "data").mkdir()


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path != REAL_MODEL], ids=lambda path: path.stem)
def test_notebook_prints_what_is_stored(path: Path, tmp_path: Path) -> None:
    """It gives no warning, and leaves nothing in the user's data folder."""
    notebook = execute(path, tmp_path)

    assert read_texts(notebook) == read_texts(read(path))
    assert len(read_pictures(notebook)) == len(read_pictures(read(path)))
    assert list((tmp_path / "data").iterdir()) == []


def test_notebook_of_a_real_model_prints_what_is_stored_beside_its_answer(
    provider: StreamingServer, tmp_path: Path
) -> None:
    """Its one call is streamed, with a JSON schema; the cells that show the answer show this one."""
    notebook = execute(REAL_MODEL, tmp_path)

    request = provider.requests[0]  # the probe of the model follows
    shown = "".join(output.text for cell in notebook.cells if is_model_output(cell) for output in cell.outputs)
    assert request["stream"] is True
    assert request["response_format"]["type"] == "json_schema"
    assert "1 refused, 1 stored" in shown
    assert read_texts(notebook) == read_texts(read(REAL_MODEL))
    assert len(read_pictures(notebook)) == len(read_pictures(read(REAL_MODEL)))
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
    model_output = {"tags": [MODEL_OUTPUT]} if path == REAL_MODEL else {}
    assert [cell for cell in notebook.cells if cell.metadata not in ({}, model_output)] == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    assert _ABSOLUTE_PATH.search(path.read_text(encoding="utf-8")) is None
