"""Which files there are in a folder, found without reading any of them."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memgraph.fields import FieldSpecMixin

TEXT_TYPES = (".md", ".markdown", ".rst", ".txt")


class FileSource(FieldSpecMixin, BaseModel):
    """A folder of documents, or a single one."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: Annotated[str, Field(min_length=1)]
    """The folder or file; relative to the folder of the configuration."""
    file_types: tuple[str, ...] = TEXT_TYPES
    """Endings of the files that are read; a file that `path` names is read whatever its ending."""
    recursive: bool = True
    """Whether folders in the folder are read too."""
    encoding: str = "utf-8"
    """Of the files, by its Python name."""
    exclude: tuple[str, ...] = ()
    """Patterns such as `drafts/*` or `*.tmp.md` of what is left out. They are compared with a path below the folder,
    and with its last name."""

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, encoding: str) -> str:
        try:
            return codecs.lookup(encoding).name
        except LookupError:
            raise ValueError(f"no encoding is called {encoding[:40]!r}; utf-8 is usual") from None


@dataclass(frozen=True, slots=True)
class FileStat:
    """A file as the folder tells of it."""

    path: Path
    name: str
    """Its path below the source, with `/`."""
    size: int
    modified: int
    """Nanoseconds since 1970."""


class SkippedFile(BaseModel):
    """A file or folder that could not be read, and why."""

    model_config = ConfigDict(frozen=True)

    path: str
    why: str


@dataclass(slots=True)
class ScanResult:
    """What was found in a source."""

    files: list[FileStat] = field(default_factory=list[FileStat])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    unread: list[Path] = field(default_factory=list[Path])
    """Folders that could not be listed: what is known of them still holds."""

    def covers(self, path: Path) -> bool:
        """Whether a file at *path* would have been seen."""
        return not any(path.is_relative_to(folder) for folder in self.unread)


def scan(source: FileSource, root: Path) -> ScanResult:
    """Look for the files of *source*, whose path is *root*, in order of their names.

    Hidden files and folders are left out. A folder, or a file, that links lead to more than once is
    seen once, so that no loop goes on for ever.

    Raises:
        FileNotFoundError: If there is nothing at *root*.
    """
    found = ScanResult()
    is_file = stat.S_ISREG(root.stat().st_mode)
    wanted = ("",) if is_file else tuple(ending.lower() for ending in source.file_types)
    entries = [(root, root.name)] if is_file else _listed(root, source, found)
    known = set[tuple[int, int]]()
    for path, name in entries:
        if name.lower().endswith(wanted) and (seen := _seen(path, name, found, known)):
            found.files.append(seen)
    return found


def _listed(root: Path, source: FileSource, found: ScanResult) -> Iterator[tuple[Path, str]]:
    """Every file below *root* with its name."""
    waiting, known = [root], set[tuple[int, int]]()
    while waiting:
        folder = waiting.pop()
        try:
            about = folder.stat()
            if (about.st_dev, about.st_ino) in known:
                continue
            known.add((about.st_dev, about.st_ino))
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            found.unread.append(folder)
            found.skipped.append(SkippedFile(path=str(folder), why=error.strerror or str(error)))
            continue
        inside = list[Path]()
        for entry in entries:
            name = Path(entry.path).relative_to(root).as_posix()
            if entry.name.startswith(".") or _excluded(name, source.exclude):
                continue
            if entry.is_dir():
                inside.append(Path(entry.path))
            else:
                yield Path(entry.path), name
        waiting += reversed(inside if source.recursive else [])


def _seen(path: Path, name: str, found: ScanResult, known: set[tuple[int, int]]) -> FileStat | None:
    try:
        about = path.stat()
    except OSError as error:  # a link to nowhere, or gone since it was listed
        found.skipped.append(SkippedFile(path=str(path), why=error.strerror or str(error)))
        return None
    if not stat.S_ISREG(about.st_mode):
        found.skipped.append(SkippedFile(path=str(path), why="it is no regular file"))
        return None
    if (about.st_dev, about.st_ino) in known:
        return None
    known.add((about.st_dev, about.st_ino))
    return FileStat(path, name, about.st_size, about.st_mtime_ns)


def _excluded(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) or fnmatch(name.rsplit("/", 1)[-1], pattern) for pattern in patterns)
