"""Run notebooks, and save their outputs without what differs from run to run: `make notebook-outputs`.

python notebooks/save_outputs.py [NOTEBOOK ...]

Without a name, all but the notebook that needs a chat model: name that one, with OPENAI_BASE_URL and
MEMGRAPH_MODEL_NAME in the environment.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
REAL_MODEL = FOLDER / "a_small_real_model.ipynb"
CELL_TIMEOUT_SECONDS = 600


def execute(path: Path) -> Any:
    """Run a notebook in an empty folder; return it with its outputs and no times, versions or widths of the run."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=CELL_TIMEOUT_SECONDS, kernel_name="python3", resources=resources, record_timing=False
        ).execute()
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def main(paths: list[Path]) -> None:
    for path in paths:
        notebook = execute(path)
        path.write_text(nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sorted({*FOLDER.glob("*.ipynb")} - {REAL_MODEL}))
