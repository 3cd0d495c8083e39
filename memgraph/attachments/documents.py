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
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memgraph.fields import NONE_IS_DEFAULT, FieldSpecMixin

TEXT_TYPES = (".md", ".markdown", ".rst", ".txt")
MAX_BYTES = 20_000_000
"""Maximum size of a file; a larger one is skipped, since it is more likely data than a document."""

_SNIFFED_BYTES = 8_192


class FileSource(FieldSpecMixin, BaseModel):
    """A folder of documents, or a single document."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: Annotated[str, Field(min_length=1)]
    """The folder or file; relative to the folder of the configuration."""
    file_types: Annotated[tuple[str, ...], NONE_IS_DEFAULT] = TEXT_TYPES
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


class SourceFile(NamedTuple):
    """A file of a source, as its folder lists it, and as the index has it."""

    path: str
    source: str
    """The source's path."""
    name: str
    """Path below the source, with `/`."""
    size: int
    modified: int
    """Nanoseconds since 1970."""
    way: str = ""
    """How it is read and split."""
    digest: str = ""
    """Sha256 of its bytes; empty until it is read."""
    problem: str = ""
    """Why it cannot be read; empty if it was read."""


class SkippedFile(BaseModel):
    """A file or folder that could not be read, and the reason."""

    model_config = ConfigDict(frozen=True)

    path: str
    why: str


def skipped_by(path: Path | str, error: Exception) -> SkippedFile:
    """Return *path* with *error* as the reason why it could not be read."""
    return SkippedFile(path=str(path), why=getattr(error, "strerror", None) or str(error))


@dataclass(slots=True)
class ScanResult:
    """The files found in a source."""

    files: list[SourceFile] = field(default_factory=list[SourceFile])
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
    result, visited = ScanResult(), set[tuple[int, int]]()
    if stat.S_ISREG(root.stat().st_mode):
        paths, suffixes = iter([root]), ("",)
    else:
        paths, suffixes = _walk(root, source, result), tuple(suffix.lower() for suffix in source.file_types)
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:  # a dangling link, or deleted since it was listed
            result.skipped.append(skipped_by(path, error))
            continue
        name = root.name if path == root else path.relative_to(root).as_posix()
        if not name.lower().endswith(suffixes) or (status.st_dev, status.st_ino) in visited:
            continue
        if stat.S_ISREG(status.st_mode):
            visited.add((status.st_dev, status.st_ino))
            result.files.append(SourceFile(str(path), str(root), name, status.st_size, status.st_mtime_ns))
        else:
            result.skipped.append(SkippedFile(path=str(path), why="it is not a regular file"))
    return result


def _walk(root: Path, source: FileSource, result: ScanResult) -> Iterator[Path]:
    """Yield every file below *root*, each folder once."""
    visited = set[tuple[int, int]]()

    def report(error: OSError) -> None:
        result.unread.append(Path(error.filename))
        result.skipped.append(skipped_by(error.filename, error))

    def is_read(path: Path, kind: str) -> bool:
        name = path.relative_to(root).as_posix()
        patterns = ((each, pattern) for pattern in source.exclude for each in (name, path.name))
        if path.name.startswith(".") or any(fnmatch(*each) for each in patterns):
            return False
        # a cyclic link leads inside: realpath stops at it, resolve would raise
        is_outside = path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
        if is_outside:
            result.skipped.append(SkippedFile(path=str(path), why=f"it leads to a {kind} outside the source"))
        return not is_outside

    for folder, subfolders, files in os.walk(root, onerror=report, followlinks=True):
        status = os.stat(folder)  # noqa: PTH116
        is_new = (status.st_dev, status.st_ino) not in visited
        visited.add((status.st_dev, status.st_ino))
        yield from (path for name in sorted(files) if is_new and is_read(path := Path(folder, name), "file"))
        is_deeper = is_new and source.recursive
        subfolders[:] = [name for name in sorted(subfolders) if is_deeper and is_read(Path(folder, name), "folder")]


# -- reading --------------------------------------------------------------------------------------


class UnreadableFileError(Exception):
    """A file is not a readable text; the message has the reason."""


def read_document(path: Path, encoding: str) -> tuple[str, str]:
    """Read a text file, and return its text and the sha256 of its bytes.

    Raises:
        UnreadableFileError: If it is too large, is not a text, or is not in *encoding*.
        OSError: If it cannot be read now.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableFileError(f"it has more than {MAX_BYTES:,} bytes")
    return _decode(data, encoding), hashlib.sha256(data).hexdigest()


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
