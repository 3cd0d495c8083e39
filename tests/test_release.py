"""What a release promises: the supported Pythons, the licences of what it installs, and the check of its wheel."""

from __future__ import annotations

import sys
import tomllib
from email.message import Message
from importlib import import_module
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def licences_page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs/hooks"), *sys.path])
    return import_module("licences_page")


@pytest.fixture
def release_check(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "deploy"), *sys.path])
    return import_module("release_check")


# -- licences --


def test_core_installs_nothing_under_strong_copyleft(licences_page: Any) -> None:
    """Whoever ships memgraph with a closed product would have to publish the product."""
    licences = licences_page.read_licences()

    assert [name for name, licence in licences.items() if licences_page.is_strong_copyleft(licence)] == []
    assert [name for name, licence in licences.items() if not licence] == []


def test_licences_are_those_of_the_core_and_of_what_it_needs(licences_page: Any) -> None:
    """SciPy comes with scikit-learn, pyparsing with grandalf; FastAPI and pytest are in extras and groups."""
    names = set(licences_page.read_licences())

    assert {"langgraph", "scikit-learn", "scipy", "pyparsing"} <= names
    assert names & {PROJECT["name"], "fastapi", "pytest", "psycopg"} == set()


@pytest.mark.parametrize(
    ("licence", "strong"),
    [
        ("MIT", False),
        ("GPL-3.0-or-later", True),
        ("AGPL-3.0-only", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("GNU Affero General Public License v3", True),
        ("LGPL-3.0-or-later", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("GPLv2 | EPLv1", False),
        ("MIT OR GPL-2.0-only", False),
        ("MIT AND GPL-2.0-only", True),
        ("(MIT OR GPL-2.0-only) AND GPL-3.0-only", True),
        ("GPL-2.0-only OR AGPL-3.0-only", True),
    ],
)
def test_strong_copyleft_is_recognised_unless_another_licence_can_be_chosen(
    licences_page: Any, licence: str, *, strong: bool
) -> None:
    assert licences_page.is_strong_copyleft(licence) is strong


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License-Expression": "MIT", "Classifier": "License :: OSI Approved :: BSD License"}, "MIT"),
        ({"License": "Apache 2.0"}, "Apache 2.0"),
        ({"License": "Copyright\nall of it", "Classifier": "License :: OSI Approved :: BSD License"}, "BSD License"),
        ({"License": "MIT License\n\nPermission is"}, "MIT License"),
        ({"Classifier": "Programming Language :: Python"}, ""),
    ],
    ids=["expression", "line", "classifier", "text", "none"],
)
def test_licence_is_read_from_where_a_package_declares_it(
    licences_page: Any, fields: dict[str, str], licence: str
) -> None:
    metadata = Message()
    for name, value in fields.items():
        metadata[name] = value

    assert licences_page.find_licence(metadata) == licence


# -- the check of the wheel --


def test_supported_pythons_are_those_of_the_classifiers(release_check: Any) -> None:
    """The oldest one is what pip requires."""
    versions = list(release_check.find_pythons())

    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in versions


def test_python_that_does_not_start_is_skipped(
    release_check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python3.12"
    program.write_text("#!/bin/sh\nexit 127\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert release_check.find_python("3.12") is None
    assert release_check.find_python("3.13") is None


def test_all_python_blocks_of_the_readme_are_run(release_check: Any) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    blocks = release_check.python_blocks(readme)

    assert len(blocks) == readme.count("```python") > 1
    assert all(compile(block, "README.md", "exec") for block in blocks)


def test_programs_of_the_check_see_no_setting_key_or_repository(
    release_check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MEMGRAPH_STORAGE_PATH", "OPENAI_API_KEY", "PYTHONPATH"):
        monkeypatch.setenv(name, "ours")

    environment = release_check.user_environment(tmp_path / "bin", tmp_path)

    assert "ours" not in environment.values()
    assert environment["HOME"] == str(tmp_path)
    assert environment["PATH"].startswith(str(tmp_path / "bin"))


def test_size_of_a_package_is_that_of_its_files(release_check: Any, tmp_path: Path) -> None:
    """A file that was removed since counts nothing."""
    metadata = tmp_path / "tea-1.dist-info"
    metadata.mkdir()
    (tmp_path / "tea.py").write_bytes(b"x" * 1000)
    (metadata / "RECORD").write_text("tea.py,,\nremoved.py,,\n")

    assert release_check.measure(PathDistribution(metadata)) == 1000
