"""The documentation: it builds strictly, needs no network, and has every public name, setting, command and route."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path

import griffe
import pytest
import typer
from pydantic import BaseModel

import memgraph
from memgraph import Settings, create_app
from memgraph.cli.app import app

ROOT = Path(__file__).parents[2]
REFERENCE = re.findall(
    r"^::: (\S+)", (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8"), re.MULTILINE
)
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video)\b[^>]*\ssrc=[\"']?([^\"'\s>]+)|<link\b[^>]*\shref=[\"']?([^\"'\s>]+)"
)
LINKED = re.compile(r"<a\b[^>]*\shref=[\"']?([^\"'\s>]+)")
ANCHOR = re.compile(r"\sid=[\"']?([^\"'\s>]+)")
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
NO_NOTICE = {"NO_MKDOCS_2_WARNING": "1"}  # of the theme about another version
EXTERNAL = re.compile(r"(?:[a-z]+:)?//|mailto:|data:")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. The build is strict: a warning, such as a broken link or a failed download, fails it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | NO_NETWORK | NO_NOTICE
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[Path, str]:
    """The HTML of every page, by its file."""
    return {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def package() -> griffe.Object | griffe.Alias:
    """The source of the package, which has the docstrings below fields."""
    return griffe.load("memgraph", search_paths=[ROOT])


def _headings(page: str) -> set[str]:
    """The code in the headings of the third level."""
    return {unescape(code) for code in re.findall(r"<h3[^>]*><code>(.*?)</code>", page)}


def test_every_public_name_is_explained_on_the_reference_page(site: Path, pages: Mapping[Path, str]) -> None:
    """Its heading is there, and the first sentence of its docstring."""
    page = pages[site / "reference" / "python.html"]
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())
    headings = set(re.findall(r'<h3 id="memgraph\.(\w+)"', page))

    summaries = {
        name: re.sub(r"[`*]", "", (inspect.getdoc(getattr(memgraph, name)) or "?").split("\n\n")[0])
        for name in memgraph.__all__
    }

    assert headings == set(memgraph.__all__)
    assert [name for name, summary in summaries.items() if " ".join(summary.split()) not in text] == []


@pytest.mark.parametrize("name", REFERENCE)
def test_every_member_of_a_documented_name_has_a_docstring(name: str, package: griffe.Object | griffe.Alias) -> None:
    """The reference page leaves out a method or a field without one."""
    module, _, attribute = name.rpartition(".")
    documented = getattr(importlib.import_module(module), attribute)
    members = vars(documented) if inspect.isclass(documented) else {}
    methods = {key for key, value in members.items() if callable(value) or isinstance(value, property | classmethod)}
    fields = documented.model_fields if inspect.isclass(documented) and issubclass(documented, BaseModel) else {}
    described = package[name.removeprefix("memgraph.")].all_members if fields else {}

    assert [
        key for key in sorted(methods) if not key.startswith("_") and not inspect.getdoc(getattr(documented, key))
    ] == []
    own = {key: field for key, field in fields.items() if key in described}  # others are LangChain's
    assert [key for key, field in own.items() if not (field.description or described[key].docstring)] == []


def test_every_setting_is_on_its_page(site: Path, pages: Mapping[Path, str]) -> None:
    assert _headings(pages[site / "reference" / "settings.html"]) == set(Settings.model_fields)


def test_every_command_is_on_its_page(site: Path, pages: Mapping[Path, str]) -> None:
    headings = _headings(pages[site / "reference" / "cli.html"])

    assert {re.split(r" \[?[A-Z]", heading)[0] for heading in headings} == set(_commands())


def test_every_route_is_on_its_page(site: Path, pages: Mapping[Path, str]) -> None:
    headings = _headings(pages[site / "reference" / "http.html"])

    routes = {
        f"{method.upper()} {path}"
        for path, operations in create_app(Settings()).openapi()["paths"].items()
        for method in operations
    }

    assert {heading for heading in headings if " " in heading} == routes


def test_every_dependency_is_on_the_page_of_licences(site: Path, pages: Mapping[Path, str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = set(re.findall(r"<td>([\w.-]+)</td>", pages[site / "reference" / "licences.html"]))

    needed = {re.split(r"[^\w-]", requirement)[0] for requirement in project["dependencies"]}

    assert {name.lower().replace("_", "-") for name in listed} >= needed


def test_no_page_loads_anything_from_another_host(site: Path, pages: Mapping[Path, str]) -> None:
    """The site can be read without a network, and no other host learns who reads it."""
    loaded = {url for page in pages.values() for found in LOADED.findall(page) for url in found if url}
    styles = {
        url
        for path in site.rglob("*.css")
        for url in re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", path.read_text())
    }

    assert {url for url in loaded | styles if re.match(r"(?:https?:)?//", url)} == set()


def test_no_page_needs_what_the_theme_would_load_later(pages: Mapping[Path, str]) -> None:
    """Its script loads Mermaid for diagrams, and the stars of a repository, from other hosts."""
    assert [
        path.name for path, page in pages.items() if re.search(r'class="mermaid"|data-md-component="?source', page)
    ] == []


def test_every_internal_link_resolves(site: Path, pages: Mapping[Path, str]) -> None:
    """Also those that are made from docstrings, which the strict build does not check."""
    anchors = {path: set(ANCHOR.findall(page)) for path, page in pages.items()}

    assert [*_broken_links(site, pages, anchors)] == []


def _broken_links(site: Path, pages: Mapping[Path, str], anchors: Mapping[Path, set[str]]) -> Iterator[str]:
    for path, page in pages.items():
        for link in {*LINKED.findall(page), *(url for found in LOADED.findall(page) for url in found if url)}:
            target, _, anchor = unescape(link).partition("#")
            if EXTERNAL.match(link) or path.name == "404.html":  # the server shows 404.html below any path
                continue
            file = (path.parent / target).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (anchor and file in anchors and anchor not in anchors[file] | {"__top"}):
                yield f"{path.relative_to(site)}: {link}"


def _commands() -> Iterator[str]:
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        yield from (
            (f"memgraph {name} {inner}" for inner in command.commands)
            if hasattr(command, "commands")
            else [f"memgraph {name}"]
        )


def test_pages_name_only_commands_that_exist() -> None:
    """In code, such as `memgraph show --user ada`."""
    known = {command.split()[1] for command in _commands()}
    named = {
        (path.name, name)
        for path in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"(?:`|^(?:\$ )?)memgraph ([a-z]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert {(page, name) for page, name in named if name not in known} == set()
