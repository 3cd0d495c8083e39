"""Atomic and durable file writes under a lock file. Every error of the operating system is a StorageError."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from memgraph.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Generator
    from io import FileIO
    from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
POLL_SECONDS = 0.005
"""Interval between attempts to take a lock that another writer holds."""
PROBE_BYTES = 64 * 1024
"""Written to find out whether a disk is full: more than most documents have."""


@contextmanager
def wrap_os_errors(path: Path) -> Generator[None]:
    """Raise errors of the operating system as StorageErrors that name the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror or error}") from error


def read_file(path: Path) -> bytes | None:
    """Return the bytes of a file; None if it does not exist."""
    with wrap_os_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def make_folder(folder: Path) -> None:
    """Create *folder* and its missing parents, private to this user and durable."""
    with wrap_os_errors(folder):
        if folder.is_dir():
            return
        make_folder(folder.parent)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        _sync_folder(folder.parent)


def check_writable(folder: Path) -> None:
    """Write to a file without a name in *folder*, or in its nearest parent that exists, and remove it.

    Raises:
        StorageError: If nothing can be written there, since it is read-only, full or not a folder.
    """
    existing = folder
    while not os.path.lexists(existing):
        existing = existing.parent
    try:
        with TemporaryFile(dir=existing) as file:
            file.write(bytes(PROBE_BYTES))
    except OSError as error:
        place = f"{folder}" if existing == folder else f"{folder} cannot be created: {existing}"
        raise StorageError(f"{place}: {error.strerror or error}") from error


def create_private(path: Path) -> None:
    """Create an empty file that only this user may read, unless the file exists."""
    with wrap_os_errors(path), suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))


@contextmanager
def locked(path: Path, timeout: float) -> Generator[None]:
    """Lock out other writers of *path*, in this process and in others. Creates the folder of *path*.

    Raises:
        StorageError: If another writer holds the lock for *timeout* seconds.
    """
    with wrap_os_errors(path):
        make_folder(path.parent)
        lock = FileLock(path.with_name(f"{path.name}.lock"), timeout, PRIVATE_FILE, poll_interval=POLL_SECONDS)
        try:
            lock.acquire()
        except Timeout:
            raise StorageError(f"{lock.lock_file} was held by another writer for {timeout:g} s") from None
        try:
            yield
        finally:
            lock.release()


def append(path: Path, data: bytes, *, end: int, durable: bool = True, sync_folder: bool = True) -> None:
    """Write *data* after the first *end* bytes of a file, which is created if it is missing.

    What followed those bytes is removed. If the write fails, the file ends there. Unless it is *durable*, a power cut
    may undo it, but the end of the process does not. Hold the lock of *path*. Without *sync_folder*, a new file is
    durable only after the next write that replaces one of the folder.
    """
    with wrap_os_errors(path):
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE), "r+b", buffering=0) as file:
            file.truncate(end)
            file.seek(end)
            try:
                write_all(file, data)
                if durable:
                    os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    file.truncate(end)
                raise
        if durable and sync_folder:  # the file may be new, or be created by an append that was not durable
            _sync_folder(path.parent)


def sync(path: Path) -> None:
    """Make a file durable to which `append` wrote without being *durable*; nothing is done if it is missing."""
    with wrap_os_errors(path), suppress(FileNotFoundError), path.open("r+b") as file:
        os.fsync(file.fileno())
        _sync_folder(path.parent)


def write_all(file: FileIO, data: bytes) -> None:
    """Write *data* to an unbuffered file, of which a single write may take only a part."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def remove_file(path: Path) -> None:
    """Remove a file durably, and what a killed process left of a write. Hold the lock of *path*."""
    with wrap_os_errors(path):
        temporary = _temporary(path)
        if path.exists() or temporary.exists():
            path.unlink(missing_ok=True)
            temporary.unlink(missing_ok=True)
            _sync_folder(path.parent)


def file_version(path: Path) -> tuple[int, ...]:
    """Return what changes with the content of a file: its identity, size and time; empty if it does not exist."""
    with wrap_os_errors(path):
        try:
            found = path.stat()
        except FileNotFoundError:
            return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def replace(path: Path, data: bytes) -> None:
    """Replace the file at *path* by *data*, atomically and durably. Hold the lock of *path*."""
    with wrap_os_errors(path), _staged(path, data) as temporary:
        temporary.replace(path)
        _sync_folder(path.parent)


def compare_and_replace(path: Path, data: bytes, *, expected: bytes | None, copy: Path) -> bool:
    """Replace the files at *path* and *copy* by *data*, unless *path* no longer holds *expected*.

    Only *path* is durable. If just its *copy* cannot be replaced, or the process is killed before that, the write still
    counts: `unfinished_copy` has the bytes of the copy until the next write.

    Returns:
        Whether *path* held *expected*. If not, nothing was written.
    """
    with wrap_os_errors(path):
        with _staged(copy, data, durable=False) as staged_copy, _staged(path, data) as staged:
            if read_file(path) != expected:
                staged.unlink()
                staged_copy.unlink()
                return False
            staged.replace(path)
        finish_copy(copy)
        _sync_folder(path.parent)
    return True


def unfinished_copy(copy: Path) -> bytes | None:
    """Return what a `compare_and_replace` that did not end would have made of *copy*; None if there is none."""
    return read_file(_temporary(copy))


def finish_copy(copy: Path) -> None:
    """Replace *copy* by what `unfinished_copy` returns, if that is possible. Hold the lock."""
    with suppress(OSError):
        _temporary(copy).replace(copy)


@contextmanager
def _staged(path: Path, data: bytes, *, durable: bool = True) -> Generator[Path]:
    """Write *data* to a temporary file next to *path*, for a rename; remove it if an error prevents that.

    Its name is fixed, so that the next write replaces what a killed process left: hold the lock of *path*. It is
    removed and created again, so that a link under that name is not written through.
    """
    temporary = _temporary(path)
    try:
        temporary.unlink(missing_ok=True)
        with open(temporary, "wb", opener=_open_private) as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        yield temporary
    except Exception:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> Path:
    return path.with_name(f"{path.name}.tmp")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL, PRIVATE_FILE)


def _sync_folder(folder: Path) -> None:
    """Make renames in *folder* durable. Windows has no call for it and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
