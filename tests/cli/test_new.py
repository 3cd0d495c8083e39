"""`memgraph new NAME` writes a project that works at once."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import Auth

from memgraph.storage.langgraph_auth import ACTIONS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tests_of_a_new_project_pass(memgraph: Any, folder: Path) -> None:
    """At once, without a key and a network."""
    assert memgraph("new", "my-agent").code == 0
    keys = {name for name in os.environ if name.startswith(("MEMGRAPH_", "OPENAI_"))}
    env = {name: value for name, value in os.environ.items() if name not in keys}

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder / "my-agent",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 passed" in run.stdout, run.stdout + run.stderr


def test_the_files_name_the_project_and_graphs_that_exist(memgraph: Any, folder: Path) -> None:
    memgraph("new", "my-agent")

    graphs = json.loads((folder / "my-agent" / "langgraph.json").read_text())["graphs"]
    assert 'name = "my-agent"' in (folder / "my-agent" / "pyproject.toml").read_text()
    assert "$" not in (folder / "my-agent" / "README.md").read_text()
    assert (folder / "my-agent" / ".env.example").exists()
    assert {name: value for name, value in graphs.items() if isinstance(value, str)} == {
        name: f"memgraph.graphs.{name}:graph" for name in ("memory_update", "memory_recall", "memory_upkeep")
    }


def test_the_authentication_of_a_new_project_knows_its_users_and_protects_memories(
    memgraph: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the setting of the template as its only user."""
    memgraph("new", "my-agent")
    monkeypatch.chdir(folder / "my-agent")
    settings = Path("memgraph.yaml")
    settings.write_text(settings.read_text().replace("# api_tokens:", "api_tokens:"))
    auth = runpy.run_path("auth.py")["auth"]

    user = asyncio.run(auth._authenticate_handler("Bearer a-long-random-token"))

    assert user == "ada"
    assert {action for resource, action in auth._handlers if resource == "store"} == set(ACTIONS)
    for header in (None, "Bearer ", "Bearer x"):
        with pytest.raises(Auth.exceptions.HTTPException):
            asyncio.run(auth._authenticate_handler(header))


@pytest.mark.parametrize("name", ["", "../up", "a/b", "-x", "my agent", ".hidden", "xxx\n", "langgraph-memgraph"])
def test_a_name_that_no_project_can_have_is_refused(memgraph: Any, folder: Path, name: str) -> None:
    assert memgraph("new", "--", name).code == 2
    assert list(folder.iterdir()) == []


def test_the_graphs_of_the_package_can_be_loaded(memgraph: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a server loads them."""
    memgraph("new", "my-agent")
    monkeypatch.chdir(folder / "my-agent")

    graphs = json.loads(Path("langgraph.json").read_text())["graphs"].values()
    for module, _, attribute in (path.partition(":") for path in graphs if isinstance(path, str)):
        assert hasattr(getattr(importlib.import_module(module), attribute), "ainvoke")


def test_a_link_is_left_as_it_is(memgraph: Any, folder: Path) -> None:
    (folder / "mine").symlink_to(folder / "nowhere")

    assert memgraph("new", "mine").code == 2
    assert (folder / "mine").is_symlink()


def test_an_empty_folder_becomes_the_project(memgraph: Any, folder: Path) -> None:
    (folder / "mine").mkdir()

    assert memgraph("new", "mine").code == 0
    assert (folder / "mine" / "agent.py").exists()


def test_a_folder_with_files_is_left_as_it_is(memgraph: Any, folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("mine")

    found = memgraph("new", "mine")

    assert found.code == 2
    assert "exists already" in found.err
    assert [path.name for path in (folder / "mine").iterdir()] == ["notes.txt"]


def test_a_failure_leaves_nothing_behind(memgraph: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a full disk."""

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("memgraph.cli.new.shutil.move", fail)

    assert memgraph("new", "mine").code != 0
    assert list(folder.iterdir()) == []
