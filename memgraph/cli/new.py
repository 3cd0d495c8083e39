"""memgraph new: a project with an agent that remembers."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from string import Template

from memgraph import __version__
from memgraph.cli.command import CommandContext
from memgraph.cli.output import UsageError

SUFFIX = ".template"
RENAMED = {"env": ".env.example", "gitignore": ".gitignore"}
"""Files that have another name in the package, which leaves out those that begin with a dot."""
RESERVED = frozenset({"memgraph", "langgraph-memgraph"})
"""Names of this package, which a project would hide, or depend on as on itself."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*+(?:[-_.][A-Za-z0-9]++)*+")


def new(ctx: CommandContext, name: str) -> object:
    """Write a project with an agent that remembers, for LangGraph Server and pytest.

    It needs no key and no network. Nothing is written if the folder exists and is not empty.

        memgraph new my-agent

    Args:
        name: The name of the project, and of its folder.
    """
    if not _NAME.fullmatch(name) or name.lower() in RESERVED:
        raise UsageError(f"{name!r} is not a name for a project: use letters, digits and hyphens, as in my-agent")
    folder = Path(name)
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(f"{folder} exists already: choose another name, or remove it")
    written = _write_project(folder, name)
    ctx.output.line(f"{folder}: {', '.join(written)}")
    ctx.output.line(f"Next: cd {folder}, and read README.md.")
    return {"folder": str(folder), "files": written}


def _write_project(folder: Path, name: str) -> list[str]:
    """Write all files next to *folder* and move them there in one step; return their names."""
    values = {"name": name, "version": __version__}
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=f".{name}-") as parent:
        made = Path(parent, "project")
        made.mkdir()
        for template in files("memgraph").joinpath("templates", "project").iterdir():
            base = template.name.removesuffix(SUFFIX)
            text = Template(template.read_text("utf-8")).safe_substitute(values)
            made.joinpath(RENAMED.get(base, base)).write_text(text, "utf-8")
        if folder.exists():
            folder.rmdir()
        shutil.move(made, folder)
    return sorted(path.name for path in folder.iterdir())
