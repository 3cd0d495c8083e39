"""LangGraph's CLI builds images of this repository and of a new project: Docker can parse what it writes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
INSTRUCTIONS = {"FROM", "RUN", "ENV", "ADD", "COPY", "WORKDIR", "ARG", "EXPOSE", "CMD", "ENTRYPOINT", "LABEL"}


def run(folder: Path, *command: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(params=["repository", "new project"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a langgraph.json."""
    if request.param == "repository":
        return ROOT
    run(tmp_path, "memgraph", "new", "my-agent")
    return tmp_path / "my-agent"


def parse_variables(dockerfile: str) -> dict[str, Any]:
    """Return the JSON of the variables. As in a shell, a text in single quotes ends at the next one."""
    variables: dict[str, Any] = {}
    for line in re.sub(r"\\\n", "", dockerfile).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        instruction, arguments = line.split(maxsplit=1)
        assert instruction in INSTRUCTIONS, line
        if instruction == "ENV":
            words = shlex.split(arguments)
            variables |= {name: json.loads(value) for name, value in (word.split("=", 1) for word in words)}
    return variables


def test_the_dockerfile_of_the_langgraph_cli_has_the_graphs(project: Path, tmp_path: Path) -> None:
    """`langgraph build`, `up` and `dockerfile` write their descriptions into single quotes, unescaped."""
    pytest.importorskip("langgraph_cli", reason="langgraph-cli is not installed")
    declared = json.loads((project / "langgraph.json").read_text())["graphs"]

    run(project, "langgraph_cli", "dockerfile", str(tmp_path / "Dockerfile"))

    graphs = parse_variables((tmp_path / "Dockerfile").read_text())["LANGSERVE_GRAPHS"]
    assert set(graphs) == set(declared)
    assert [graph["description"] for graph in graphs.values() if "description" in graph] == [
        graph["description"] for graph in declared.values() if "description" in graph
    ]
