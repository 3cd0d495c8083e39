"""Documents: their sources, scanning these for files without reading them, and reading the text of a file."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from memgraph.fields import FieldSpecMixin

TEXT_TYPES = (".md", ".markdown", ".rst", ".txt")
MAX_BYTES = 20_000_000
"""Maximum size of a file; a larger one is skipped, since it is more likely data than a document."""

_SNIFFED_BYTES = 8_192


def _none_as_default(value: object) -> object:
    """Read `file_types:` without a value, which is None in YAML, as the default."""
    return TEXT_TYPES if value is None else value


class FileSource(FieldSpecMixin, BaseModel):
    """A folder of documents, or a single document."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: Annotated[str, Field(min_length=1)]
    """The folder or file; relative to the folder of the configuration."""
    file_types: Annotated[tuple[str, ...], BeforeValidator(_none_as_default)] = TEXT_TYPES
    """Suffixes of the files to read; a file that `path` names is read with any suffix."""
    recursive: bool = True
    """Whether to read subfolders."""
    encoding: str = "utf-8"
    """Encoding of the files, by its Python name."""
    exclude: tuple[str, ...] = ()
    """Patterns of files and folders to skip, such as `drafts/*` or `*.tmp.md`. They are matched against the path below
    the folder, and against its last component."""

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, encoding: str) -> str:
        try:
            return codecs.lookup(encoding).name
        except LookupError:
            raise ValueError(f"no encoding is called {encoding[:40]!r}; utf-8 is usual") from None


@dataclass(frozen=True, slots=True)
class FileStat:
    """A file as listed in its folder."""

    path: Path
    name: str
    """Path below the source, with `/`."""
    size: int
    modified: int
    """Nanoseconds since 1970."""


class SkippedFile(BaseModel):
    """A file or folder that could not be read, and the reason."""

    model_config = ConfigDict(frozen=True)

    path: str
    why: str


@dataclass(slots=True)
class ScanResult:
    """The files found in a source."""

    files: list[FileStat] = field(default_factory=list[FileStat])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    unread: list[Path] = field(default_factory=list[Path])
    """Folders that could not be listed; the indexed files in them are kept."""

    def covers(self, path: Path) -> bool:
        """Return whether a file at *path* would have been found."""
        return not any(path.is_relative_to(folder) for folder in self.unread)


def scan(source: FileSource, root: Path) -> ScanResult:
    """Find the files of *source*, whose path is *root*, sorted by name.

    Hidden files and folders are skipped, and so are links that lead out of *root*: otherwise a writer of the folder
    could have any file of this machine read. A folder or file that is reachable by several links is found once, so
    that cyclic links end.

    Raises:
        FileNotFoundError: If *root* does not exist.
    """
    result = ScanResult()
    is_file = stat.S_ISREG(root.stat().st_mode)
    suffixes = ("",) if is_file else tuple(suffix.lower() for suffix in source.file_types)
    entries = [(root, root.name)] if is_file else _walk(root, source, result)
    visited = set[tuple[int, int]]()
    for path, name in entries:
        if path.is_symlink() and not is_file and not _is_inside(path, root):
            result.skipped.append(SkippedFile(path=str(path), why="it leads to a file outside the source"))
            continue
        if name.lower().endswith(suffixes) and (file := _stat_file(path, name, result, visited)):
            result.files.append(file)
    return result


def _walk(root: Path, source: FileSource, result: ScanResult) -> Iterator[tuple[Path, str]]:
    """Yield every file below *root* with its name."""
    pending, visited = [root], set[tuple[int, int]]()
    while pending:
        folder = pending.pop()
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            result.unread.append(folder)
            result.skipped.append(SkippedFile(path=str(folder), why=error.strerror or str(error)))
            continue
        subfolders = list[Path]()
        for entry in entries:
            name = Path(entry.path).relative_to(root).as_posix()
            if entry.name.startswith(".") or _is_excluded(name, source.exclude):
                continue
            if _is_folder(entry):
                if entry.is_symlink() and not _is_inside(Path(entry.path), root):
                    result.skipped.append(SkippedFile(path=entry.path, why="it leads to a folder outside the source"))
                    continue
                subfolders.append(Path(entry.path))
            else:
                yield Path(entry.path), name
        pending += reversed(subfolders if source.recursive else [])


def _stat_file(path: Path, name: str, result: ScanResult, visited: set[tuple[int, int]]) -> FileStat | None:
    try:
        status = path.stat()
    except OSError as error:  # a dangling link, or deleted since it was listed
        result.skipped.append(SkippedFile(path=str(path), why=error.strerror or str(error)))
        return None
    if not stat.S_ISREG(status.st_mode):
        result.skipped.append(SkippedFile(path=str(path), why="it is not a regular file"))
        return None
    if (status.st_dev, status.st_ino) in visited:
        return None
    visited.add((status.st_dev, status.st_ino))
    return FileStat(path, name, status.st_size, status.st_mtime_ns)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether *entry* is a folder; not if it cannot be read, which is reported when the file is."""
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_inside(path: Path, root: Path) -> bool:
    """Whether *path* leads to something below *root*. A cyclic link does: realpath stops at it, resolve would raise."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _is_excluded(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) or fnmatch(name.rsplit("/", 1)[-1], pattern) for pattern in patterns)


# -- reading --------------------------------------------------------------------------------------


class UnreadableFileError(Exception):
    """A file is not a readable text; the message has the reason."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """The text of a file."""

    text: str
    digest: str
    """The sha256 of its bytes."""


def read_document(path: Path, encoding: str) -> SourceDocument:
    """Read a text file.

    Raises:
        UnreadableFileError: If it is too large, is not a text, or is not in *encoding*.
        OSError: If it cannot be read now.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableFileError(f"it has more than {MAX_BYTES:,} bytes")
    return SourceDocument(_decode(data, encoding), hashlib.sha256(data).hexdigest())


def _decode(data: bytes, encoding: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in data[:_SNIFFED_BYTES] and "16" not in encoding and "32" not in encoding:
        raise UnreadableFileError("it is not a text: it contains zero bytes")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"it is not in {encoding}: byte {error.start:,} ({error.reason})") from error
    return text.removeprefix("\ufeff")
