"""README.md and docs/: names exist, figures are measured, links lead somewhere.

tests/docs/test_code_blocks.py runs their blocks.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from memgraph.llm.models import CHAT_MODELS
from memgraph.storage import STORAGES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
PAGES = {"README.md": README, **DOCS}
EXTENDING, OPERATIONS, MODELS = (DOCS[f"docs/how-to/{name}.md"] for name in ("extending", "operations", "models"))
RESULTS = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
OWN_LINKS = re.findall(rf"\]\({re.escape(REPOSITORY)}/(?:raw|blob)/main/([^)#]+)", README)


# -- README --


def test_readme_is_read_in_two_minutes() -> None:
    assert len(README.splitlines()) <= 130
    assert len(README.split()) <= 900


def test_readme_names_the_commands_of_a_clone() -> None:
    """What `make` and CI run."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", README))

    assert {"demo", "page", "test"} <= named <= targets


def test_links_work_on_a_package_page() -> None:
    """There, a relative link or image leads nowhere."""
    links = re.findall(r"\]\(([^)]+)\)", README)

    assert [link for link in links if not link.startswith("https://")] == []
    assert len(OWN_LINKS) > 15


@pytest.mark.parametrize("path", sorted(set(OWN_LINKS)))
def test_own_links_lead_to_files(path: str) -> None:
    assert (ROOT / path).is_file()


def test_drawing_is_that_of_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/hooks/draw_graph.py` draws it; it fails if an edge of the graph has no place."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs/hooks"), *sys.path])
    drawing = import_module("draw_graph")

    assert drawing.FILE.read_text(encoding="utf-8") == drawing.draw()


# -- names --


@pytest.mark.parametrize(
    ("page", "path"),
    sorted(
        {
            (page, path)
            for page, text in PAGES.items()
            for path in re.findall(r"(?<![\w/.-])((?:memgraph|tests|graphs|deploy|benchmarks)/[\w/.*-]+)", text)
            if "://" not in path
        }
    ),
)
def test_named_files_exist(page: str, path: str) -> None:
    """A reader follows these paths."""
    assert list(ROOT.glob(path.rstrip("/."))), page


@pytest.mark.parametrize(("name", "path"), re.findall(r"`([A-Z_]+)` in `(memgraph/[\w/.]+)`", EXTENDING))
def test_tables_to_extend_are_in_the_named_files(name: str, path: str) -> None:
    """The page "Extending" names a variable and its file."""
    assert re.search(rf"^{name}\b.* = ", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_all_storages_and_models_are_documented() -> None:
    """An undocumented one is not found."""
    assert [scheme for scheme in STORAGES if f"`{scheme}:" not in OPERATIONS] == []
    assert [name for name in CHAT_MODELS if f"`{name}" not in MODELS] == []


# -- figures --


def test_all_figures_are_measured() -> None:
    """Every row of the benchmark tables is a row of RESULTS.md."""
    measured = set(RESULTS.splitlines())
    rows = [line for line in DOCS["docs/explanation/benchmarks.md"].splitlines() if line.startswith("| ")]

    assert len(rows) > 50
    assert [row for row in rows if row not in measured] == []


@pytest.mark.parametrize("page", ["README.md", "docs/explanation/comparison.md"])
def test_compared_figures_are_measured(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure beside another project's is that of RESULTS.md, and the cells of what was not measured are empty."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    script = import_module("readme")
    names = [script.row_name(line) for line in PAGES[page].splitlines()]

    assert sum(name in script.COMPARED for name in names) >= 5
    assert script.update_comparisons(PAGES[page], RESULTS) == PAGES[page]
