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
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

VULNERABILITIES = [
    ("filelock", "3.20.1", "CVE-2025-68146"),
    ("filelock", "3.20.3", "CVE-2026-22701"),
    ("h11", "0.16.0", "CVE-2025-43859"),
    ("jinja2", "3.1.5", "CVE-2024-56326"),
    ("jinja2", "3.1.6", "CVE-2025-27516"),
    ("jupyterlab", "4.4.8", "CVE-2025-59842"),
    ("langchain-core", "1.2.5", "CVE-2025-68664"),
    ("langchain-core", "1.2.11", "CVE-2026-26013"),
    ("langchain-core", "1.2.22", "CVE-2026-34070"),
    ("langchain-openai", "1.1.14", "CVE-2026-41488"),
    ("langgraph", "1.0.10", "CVE-2026-28277"),
    ("mcp", "1.23.0", "CVE-2025-66416"),
    ("python-multipart", "0.0.18", "CVE-2024-53981"),
    ("python-multipart", "0.0.22", "CVE-2026-24486"),
    ("python-multipart", "0.0.26", "CVE-2026-40347"),
    ("python-multipart", "0.0.27", "CVE-2026-42561"),
    ("python-multipart", "0.0.30", "CVE-2026-53539"),
    ("pyyaml", "5.4", "CVE-2020-14343"),
    ("scikit-learn", "1.5.0", "CVE-2024-5206"),
    ("starlette", "0.47.2", "CVE-2025-54121"),
    ("starlette", "0.49.1", "CVE-2025-62727"),
    ("starlette", "1.0.1", "CVE-2026-48710"),
    ("starlette", "1.1.0", "CVE-2026-48818"),
    ("starlette", "1.3.1", "CVE-2026-54283"),
]
"""The package, the first version that is not affected, and the advisory."""


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
    """SciPy comes with scikit-learn; grandalf, FastAPI and pytest are in extras and groups."""
    names = set(licences_page.read_licences())

    assert {"langgraph", "scikit-learn", "scipy"} <= names
    assert names & {PROJECT["name"], "grandalf", "fastapi", "pytest", "psycopg"} == set()


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


# -- lower bounds --


def _requirements() -> list[Requirement]:
    """Return what the core and the extras ask for."""
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(line) for lines in (PROJECT["dependencies"], *extras) for line in lines]


@pytest.mark.parametrize(("package", "fixed", "advisory"), VULNERABILITIES)
def test_lower_bounds_exclude_versions_with_a_known_vulnerability(package: str, fixed: str, advisory: str) -> None:
    """An environment that is resolved to the oldest versions allowed has none of these holes."""
    bounds = [
        Version(part.version)
        for requirement in _requirements()
        if canonicalize_name(requirement.name) == package
        for part in requirement.specifier
        if part.operator == ">="
    ]

    assert bounds, f"{package} has no lower bound, so {advisory} is admitted"
    assert min(bounds) >= Version(fixed), advisory


def test_constraints_are_within_the_bounds() -> None:
    """A clean machine installs by both."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {
        canonicalize_name(name): Version(version)
        for name, _, version in (line.partition("==") for line in lines if "==" in line)
    }

    outside = [
        str(requirement)
        for requirement in _requirements()
        if (version := pinned.get(canonicalize_name(requirement.name))) and version not in requirement.specifier
    ]

    assert outside == []


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
