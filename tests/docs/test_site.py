"""The documentation: it builds strictly, needs no network, and documents every public name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import memgraph

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. The build is strict: a warning, such as a broken link or anchor, fails it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_public_name_is_on_the_reference_page(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text(encoding="utf-8")

    headings = set(re.findall(r'<h3 id="memgraph\.(\w+)"', page))

    assert headings == set(memgraph.__all__)


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    """The site can be read without a network, and no other host learns who reads it."""
    loaded = re.compile(
        r"""<(?:script|img|iframe|source)[^>]*\bsrc=["'](?:https?:)?//|<link[^>]*\bhref=["'](?:https?:)?//"""
    )

    assert [page.name for page in site.rglob("*.html") if loaded.search(page.read_text(encoding="utf-8"))] == []
